//! Ids of calls: how clients change them, and which are drawn at random.
//!
//! An id that was drawn at random with 64 bits or more names its answer by itself. Only its form decides whether an
//! id counts as random, without a store, so that the same request always has the same keys. The list belongs to the
//! version of the normal form.

use super::ticket;

/// The part of an id that clients leave alone: they replace characters that other APIs refuse, mark repetitions, and
/// cut the end off.
pub(super) fn normal_id(id: &str) -> String {
    let plain: String = id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .take(LENGTH)
        .collect();
    match plain.rsplit_once("_dup") {
        Some((head, number)) if number.bytes().all(|b| b.is_ascii_digit()) => head.to_owned(),
        _ => plain,
    }
}

/// The number of characters that remain if a client cuts ids.
const LENGTH: usize = 40;

/// Prefixes before the random part of an id. Sources: recorded answers of the APIs, and the code of the open servers.
const PREFIXES: [&str; 8] = [
    "call_",          // OpenAI, xAI, Qwen, DeepSeek (`call_00_...`), SGLang
    "toolu_bdrk_01",  // Anthropic's models at Amazon
    "toolu_vrtx_01",  // and at Google
    "toolu_01",       // Anthropic
    "toolu_",         // servers that speak its wire
    "tooluse_",       // Amazon Bedrock
    "chatcmpl-tool-", // vLLM
    "fc_",            // Groq, and items of the Responses API
];

/// Whether an id in its normal form was drawn at random, so that no other answer has it.
pub(super) fn is_listed(id: &str) -> bool {
    if ticket::is_ticket(id) || is_uuid(id) {
        return true;
    }
    let rest = PREFIXES.iter().find_map(|prefix| id.strip_prefix(prefix));
    // The place of a call in its answer may come before the random part: `call_00_`.
    let placed = rest.and_then(|rest| rest.split_once('_'));
    let is_place =
        |place: &str| (1..=2).contains(&place.len()) && place.bytes().all(|b| b.is_ascii_digit());
    let rest = match placed {
        Some((place, random)) if is_place(place) => Some(random),
        _ => rest,
    };
    // llama.cpp has no prefix.
    rest.map_or(id.len() == 32 && is_random(id), |rest| is_uuid(rest) || is_random(rest))
}

/// Whether a run of letters and digits holds 64 bits. Names that are made of words do not look like that: they have few
/// digits, and short ones count only with several.
fn is_random(run: &str) -> bool {
    let count = |is: fn(&u8) -> bool| run.bytes().filter(is).count();
    let digits = count(u8::is_ascii_digit);
    let (lower, upper) = (count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase));
    let letters = lower + upper;
    if digits + letters + count(|b| matches!(b, b'-' | b'_')) < run.len() || letters == 0 {
        return false;
    }
    let is_hex =
        upper == 0 && run.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let is_mixed = lower > 0 && upper > 0;
    // Tenths of a bit in each letter or digit.
    let density = if is_hex {
        40
    } else if is_mixed {
        59
    } else {
        51
    };
    let has_digits = digits >= 2 || (is_mixed && run.len() >= 20);
    has_digits && (digits + letters) * density >= 640
}

fn is_uuid(id: &str) -> bool {
    // The end of a UUID may be cut.
    let groups: Vec<&str> = id.split('-').collect();
    let is_hex = |group: &&str| group.bytes().all(|b| b.is_ascii_hexdigit());
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    groups.iter().all(is_hex)
        && matches!(lengths.as_slice(), [8, 4, 4, 4, last] if (4..=12).contains(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_compared_as_clients_leave_them() {
        for (native, kept) in [
            ("functions.list_dir:0", "functions_list_dir_0"),
            ("call_1", "call_1_dup2"),
            (&"x".repeat(64), &"x".repeat(40)),
        ] {
            assert_eq!(normal_id(native), normal_id(kept));
        }
        assert_ne!(normal_id("call_1"), normal_id("call_2"));
        assert_eq!(normal_id("call_dupe"), "call_dupe");
    }

    #[test]
    fn what_is_drawn_at_random_is_listed() {
        for id in [
            "call_abcDEF123ghiJKL456mnoPQR",
            "call_00_Xy7zQwErTy12UiOpAsDf3g",
            "call_0_6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
            "call_3f2a9c7b1d5e4f60",
            "call_vKxQZrTyPmNbWqLsDfGhJkXc",
            "toolu_01A09q90qw90lq917835lq9h",
            "toolu_bdrk_01Q2w3E4r5T6y7U8i9O0pAsD",
            "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q",
            "tooluse_aB-cD_1eF2gH3iJ4kL5mN6",
            "chatcmpl-tool-0f1e2d3c4b5a69788796a5b4c3d2e1f0",
            "fc_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69",
            "6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
            "kZJMlvQmRJ6eAyJE5GIl7QkZJMlvQmRJ",
            "tk_0123456789012345678901",
        ] {
            assert!(is_listed(&normal_id(id)), "{id}");
        }
    }

    #[test]
    fn what_repeats_or_is_short_is_not() {
        for id in [
            "",
            "0",
            "call_0",
            "call_12345678",
            "call_1234567890123456789",
            "read:0",
            "functions.read:12",
            "list_dir_0",
            "call_a1B2c3D4",
            "A1b2C3d4E",
            "call_00_1",
            "call_get_weather_in_berlin",
            "call_readFile1",
            "mine_call_abcDEF123ghiJKL456mnoPQR",
            "call_function_x",
            "list_files_recursively_in_folder1",
        ] {
            assert!(!is_listed(&normal_id(id)), "{id}");
        }
    }
}

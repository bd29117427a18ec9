//! How large the parts of a request may be.
//!
//! Memory and time go by the number of values more than by their bytes: a million parts of 25 bytes each cost a gigabyte.
//! Real requests are far from these caps.

use thinkthrough_core::json::{Doc, JsonErrorKind, Kind, Val};

/// Values in all. Keys of objects are values, too.
pub(crate) const VALUES: usize = 2_000_000;
/// Members of one object.
const MEMBERS: usize = 50_000;
/// Blocks of one message.
const BLOCKS: usize = 20_000;
/// Blocks of all messages.
const ALL_BLOCKS: usize = 250_000;
/// The lists of a request, and how many entries each may have.
const LISTS: [(&str, usize); 4] =
    [("tools", 1_024), ("messages", 100_000), ("input", 100_000), ("contents", 100_000)];

/// A request as JSON, with no more values than one may have; else why it is not taken.
pub(crate) fn parse(body: &[u8]) -> Result<Doc<'_>, String> {
    Doc::parse_within(body, VALUES).map_err(|error| match error.kind {
        JsonErrorKind::TooMany(most) => format!("the body has more than {most} values; send fewer"),
        _ => format!("the body is not JSON: {error}"),
    })
}

/// What there is too much of.
pub(crate) fn too_many(doc: &Doc<'_>) -> Option<String> {
    let root = doc.root();
    let over = |what: &str, most: usize| format!("{what} than {most}; send fewer");
    for (list, most) in LISTS {
        let Some(values) = root.some(list).filter(|list| list.is_array()) else { continue };
        if values.items().nth(most).is_some() {
            return Some(format!("`{list}` has more than {most} entries; send fewer"));
        }
        if list == "tools" {
            continue;
        }
        let mut all = 0_usize;
        for message in values.items() {
            let blocks = blocks(message);
            all += blocks;
            if blocks > BLOCKS {
                return Some(over(&format!("a message of `{list}` has more blocks"), BLOCKS));
            }
        }
        if all > ALL_BLOCKS {
            return Some(over(&format!("the messages of `{list}` have more blocks"), ALL_BLOCKS));
        }
    }
    let is_wide = doc.longest(Kind::Object) > MEMBERS;
    is_wide.then(|| over("an object of the body has more members", MEMBERS))
}

/// The blocks of a message, as each API calls them.
fn blocks(message: Val<'_>) -> usize {
    let lists = ["content", "parts"].into_iter().filter_map(|list| message.some(list));
    lists.map(|list| list.items().count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(body: &str) -> Option<String> {
        match parse(body.as_bytes()) {
            Ok(doc) => too_many(&doc),
            Err(refusal) => Some(refusal),
        }
    }

    fn many(item: &str, count: usize) -> String {
        vec![item; count].join(",")
    }

    #[test]
    fn t_31_lists_have_an_end() {
        for (list, most) in LISTS {
            for (count, is_taken) in [(most, true), (most + 1, false)] {
                let refusal = refusal(&format!("{{\"{list}\":[{}]}}", many("0", count)));
                assert_eq!(refusal.is_none(), is_taken, "{list} {count} {refusal:?}");
                assert!(refusal.is_none_or(|it| it.contains(&most.to_string())));
            }
        }
    }

    #[test]
    fn t_31_blocks_members_and_values_have_an_end() {
        let message = |blocks| format!("{{\"content\":[{}]}}", many("0", blocks));
        let messages = |count, blocks| many(&message(blocks), count);
        let members = |count: usize| {
            let all: Vec<String> = (0..count).map(|at| format!("\"{at}\":0")).collect();
            all.join(",")
        };
        for (body, cap) in [
            (format!("{{\"messages\":[{}]}}", message(BLOCKS)), None),
            (format!("{{\"input\":[{}]}}", message(BLOCKS + 1)), Some(BLOCKS)),
            (format!("{{\"contents\":[{{\"parts\":[{}]}}]}}", many("0", BLOCKS + 1)), Some(BLOCKS)),
            (format!("{{\"messages\":[{}]}}", messages(10, ALL_BLOCKS / 10)), Some(BLOCKS)),
            (format!("{{\"messages\":[{}]}}", messages(100, ALL_BLOCKS / 100)), None),
            (
                format!("{{\"messages\":[{},{}]}}", messages(100, ALL_BLOCKS / 100), message(1)),
                Some(ALL_BLOCKS),
            ),
            (format!("{{{}}}", members(MEMBERS)), None),
            (format!("{{{}}}", members(MEMBERS + 1)), Some(MEMBERS)),
            (format!("{{\"a\":[{{{}}}]}}", members(MEMBERS + 1)), Some(MEMBERS)),
            // The outermost object, the key and the list are values as well.
            (format!("{{\"a\":[{}]}}", many("0", VALUES - 3)), None),
            (format!("{{\"a\":[{}]}}", many("0", VALUES - 2)), Some(VALUES)),
        ] {
            let refusal = refusal(&body);
            let named = cap.map(|cap| cap.to_string());
            let is_right = match (&refusal, &named) {
                (Some(refusal), Some(cap)) => refusal.contains(cap.as_str()),
                (refusal, cap) => refusal.is_none() && cap.is_none(),
            };
            assert!(is_right, "{refusal:?} in place of {named:?}");
        }
    }
}

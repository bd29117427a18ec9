use std::time::{Duration, Instant};

use proptest::prelude::*;
use thinkthrough_core::tokens::{RunningCount, TokenCount};

use super::*;

/// Characters of every kind that the vocabulary's pattern tells apart, and those that its pieces join over.
fn tricky_text(lengths: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => proptest::sample::select(vec!['a', 'B', 's', 't', 'r', 'e', 'l', '中', 'é', 'ǅ', 'ʰ', 'ſ']),
        3 => proptest::sample::select(vec![' ', '\n', '\r', '\t', '\u{a0}', '\u{3000}']),
        2 => proptest::sample::select(vec!['\'', '!', '/', '.', '<', '\u{301}', '\u{200d}', '🦀', '_']),
        1 => proptest::sample::select(vec!['0', '7', '½', 'Ⅷ']),
        1 => any::<char>(),
    ];
    proptest::collection::vec(character, lengths).prop_map(String::from_iter)
}

fn grown<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let mut count = Growing::default();
    for part in parts {
        count.push(part).expect("the tokenizer works");
    }
    count.total().expect("the tokenizer works")
}

fn whole(text: &str) -> u64 {
    o200k().count(text).expect("the tokenizer works")
}

#[test]
fn counts_are_those_that_openai_publishes_for_the_vocabulary() {
    let published = [
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 8),
        ("tiktoken is great!", 6),
        ("", 0),
    ];
    for (text, tokens) in published {
        assert_eq!(o200k().count(text), Ok(tokens), "{text:?}");
    }
    assert_eq!(o200k().name(), "o200k_base");
}

#[test]
fn a_running_count_says_that_it_was_tokenized() {
    let mut count = RunningCount::new(Some(o200k()));
    assert_eq!(count.total(), TokenCount::tokenized(0));
    count.push("tiktoken is");
    count.push(" great!");
    assert_eq!(count.total(), TokenCount::tokenized(6));
    assert_eq!(count.take_failure(), None);
}

#[test]
fn every_prefix_of_a_text_has_its_own_count() {
    let text = "I don't  \n  \n know: 中A中's 12345 things!\n\n/// don'";
    let mut count = Growing::default();
    for (at, character) in text.char_indices() {
        count.push(character.encode_utf8(&mut [0; 4])).expect("the tokenizer works");
        let (prefix, _) = text.split_at(at + character.len_utf8());
        assert_eq!(count.total(), Ok(whole(prefix)), "{prefix:?}");
    }
}

#[test]
fn a_text_that_cannot_be_cut_is_a_failure_instead_of_much_memory() {
    let blanks = " ".repeat(LONGEST_PIECE);
    let letters = "a".repeat(2 * LONGEST_PIECE);
    for text in [blanks, letters] {
        assert!(o200k().count(&text).is_err());
    }
}

#[test]
fn a_long_text_is_counted_as_its_parts_are() {
    let (line, lines) = ("I don't know, 中文, 12345 things!\n", LONGEST_PIECE / 16);
    assert_eq!(o200k().count(&line.repeat(lines)), Ok(whole(line) * lines as u64));
}

#[test]
fn a_panic_of_the_library_is_a_failure() {
    let failure = guarded(|| -> u64 { panic!("dictionary of {} bytes", 0) });
    let expected =
        TokenizerFailure { tokenizer: "o200k_base".into(), reason: "dictionary of 0 bytes".into() };
    assert_eq!(failure, Err(expected));
}

/// Half a million small pushes, once of prose and once of one giant piece, would take hours if each looked at all.
#[test]
fn err_003_a_long_text_in_small_deltas_takes_linear_time() {
    for unit in ["word ", "aaaaa"] {
        let started = Instant::now();
        let text = unit.repeat(100_000);
        let pushes =
            text.as_bytes().chunks(1).map(|byte| std::str::from_utf8(byte).expect("ASCII"));
        assert_eq!(grown(pushes), whole(&text));
        assert!(started.elapsed() < Duration::from_secs(60), "{unit}: {:?}", started.elapsed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// What makes the incremental count exact: more text changes at most the last two pieces.
    #[test]
    fn more_text_changes_at_most_two_pieces(text in tricky_text(0..24)) {
        let pieces = |text| growing::pieces(text).collect::<Result<Vec<_>, _>>().expect("the pattern works");
        let all = pieces(&text);
        for (at, _) in text.char_indices() {
            let (prefix, _) = text.split_at(at);
            let before = pieces(prefix);
            let stable = before.len().saturating_sub(2);
            prop_assert_eq!(&before[..stable], &all[..stable], "{:?}", prefix);
        }
    }

    #[test]
    fn incremental_count_equals_the_count_of_the_whole(
        parts in proptest::collection::vec(tricky_text(0..400), 0..12),
    ) {
        prop_assert_eq!(grown(parts.iter().map(String::as_str)), whole(&parts.concat()));
    }

    #[test]
    fn incremental_count_equals_the_whole_one_character_at_a_time(text in tricky_text(0..1_500)) {
        let characters: Vec<String> = text.chars().map(String::from).collect();
        prop_assert_eq!(grown(characters.iter().map(String::as_str)), whole(&text));
    }
}

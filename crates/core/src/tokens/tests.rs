use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;

/// Counts words, remembers how many bytes it was asked to read, and breaks on texts that hold `\0`.
#[derive(Default)]
struct Words {
    read: AtomicU64,
}

struct Growing(String);

impl Tokenizer for Words {
    fn name(&self) -> &str {
        "words"
    }

    fn count(&self, text: &str) -> Result<u64, TokenizerFailure> {
        self.read.fetch_add(text.len() as u64, Ordering::Relaxed);
        words(text)
    }

    fn incremental(&self) -> Result<Box<dyn IncrementalCount + '_>, TokenizerFailure> {
        Ok(Box::new(Growing(String::new())))
    }
}

impl IncrementalCount for Growing {
    fn push(&mut self, text: &str) -> Result<(), TokenizerFailure> {
        self.0.push_str(text);
        words(text).map(|_| ())
    }

    fn total(&mut self) -> Result<u64, TokenizerFailure> {
        words(&self.0)
    }
}

fn words(text: &str) -> Result<u64, TokenizerFailure> {
    if text.contains('\0') {
        return Err(TokenizerFailure { tokenizer: "words".into(), reason: "a zero byte".into() });
    }
    Ok(text.split_whitespace().count() as u64)
}

fn piece(id: u64, text: &str) -> Piece<'_> {
    Piece { key: PieceKey::of_revision(id, 0), text, overhead: 0 }
}

#[test]
fn req_think_002_4_estimate_is_a_quarter_of_the_utf16_units_rounded_up() {
    let cases = [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("äöüß", 1), ("日本語で", 1)];
    for (text, tokens) in cases {
        assert_eq!(estimate_utf16_quarter(text), tokens, "{text:?}");
    }
    assert_eq!(estimate_utf16_quarter("🦀🦀"), 1, "an emoji is two units");
    assert_eq!(estimate_utf16_quarter("🦀🦀🦀"), 2);
}

#[test]
fn conservative_estimate_is_the_higher_candidate() {
    assert_eq!(estimate_conservative("abcdefgh"), 3, "a third of eight bytes beats a quarter");
    assert_eq!(estimate_conservative("日本語"), 3, "nine bytes, three units");
    assert_eq!(estimate_conservative(""), 0);
}

#[test]
fn opaque_payloads_cost_a_quarter_of_what_they_decode_to() {
    assert_eq!(estimate_opaque(""), 0);
    assert_eq!(estimate_opaque("QUJD"), 1);
    assert_eq!(estimate_opaque(&"A".repeat(1600)), 300);
}

#[test]
fn err_002_a_failing_tokenizer_falls_back_to_the_higher_estimate_with_one_failure() {
    let tokenizer = Words::default();
    let (count, failure) = count_or_estimate(Some(&tokenizer), "two words");
    assert_eq!((count, failure), (TokenCount::tokenized(2), None));

    let (count, failure) = count_or_estimate(Some(&tokenizer), "思考\0");
    assert_eq!(count, TokenCount::estimated(3), "seven bytes beat three units");
    let failure = failure.expect("the failure is reported");
    assert_eq!(
        failure.to_string(),
        "tokenizer `words` failed (a zero byte), token counts are estimated from the length of the text"
    );

    let (count, failure) = count_or_estimate(None, "two words");
    assert_eq!((count, failure), (TokenCount::estimated(3), None));
}

#[test]
fn err_002_a_conversation_warns_once_however_often_its_tokenizer_fails() {
    let tokenizer = Words::default();
    let mut count = EffectiveCount::new(Some(&tokenizer));
    let first = count.update(0, [piece(0, "fine text"), piece(1, "bad\0"), piece(2, "worse\0")]);
    assert_eq!(first.count, TokenCount::estimated(2 + 2 + 2));
    assert!(first.warning.is_some());
    let second = count.update(3, [piece(3, "again\0")]);
    assert_eq!(second.count, TokenCount::estimated(8));
    assert_eq!(second.warning, None);
    let healed = count.update(1, []);
    assert_eq!(healed.count, TokenCount::tokenized(2), "no estimated piece is left");
}

#[test]
fn err_002_a_growing_text_goes_on_as_an_estimate_of_the_whole() {
    let tokenizer = Words::default();
    let mut count = RunningCount::new(Some(&tokenizer));
    count.push("one two ");
    assert_eq!(count.total(), TokenCount::tokenized(2));
    count.push("bad\0");
    count.push(" more");
    assert_eq!(count.total(), TokenCount::estimated(estimate_conservative("one two bad\0 more")));
    let problem = count.take_failure().map(Problem::from).expect("the failure is reported");
    assert_eq!(problem.code, ProblemCode::Fallback);
    assert_eq!(count.take_failure(), None);
}

#[test]
fn sources_are_ordered_from_weak_to_strong_and_have_public_names() {
    assert!(TokenSource::Estimated < TokenSource::Tokenized);
    assert!(TokenSource::Tokenized < TokenSource::Reported);
    let names = [TokenSource::Reported, TokenSource::Tokenized, TokenSource::Estimated]
        .map(|source| source.to_string());
    assert_eq!(names, ["reported", "tokenized", "estimated"]);
    assert_eq!(TokenCount::reported(7).source, TokenSource::Reported);
}

#[test]
fn br_004_a_turn_reads_only_what_is_new_at_10_and_at_1000_messages() {
    let texts: Vec<String> = (0..1001).map(|n| format!("message number {n} with text")).collect();
    for history in [10, 1000] {
        let tokenizer = Words::default();
        let mut count = EffectiveCount::new(Some(&tokenizer));
        let all = texts.iter().zip(0..).map(|(text, id)| piece(id, text));
        let before = count.update(0, all.clone().take(history));
        assert_eq!(before.count, TokenCount::tokenized(5 * history as u64));

        tokenizer.read.store(0, Ordering::Relaxed);
        let new = all.clone().skip(history).take(1);
        let after = count.update(history, new);
        assert_eq!(after.count.tokens, before.count.tokens + 5);
        assert_eq!(after.read, 1);
        assert_eq!(tokenizer.read.load(Ordering::Relaxed), texts[history].len() as u64);

        let again = count.update(0, all.take(history + 1));
        assert_eq!((again.read, again.count), (0, after.count), "known keys are not read again");
    }
}

#[test]
fn br_004_a_changed_setting_reads_only_the_messages_it_touches_and_changing_back_reads_none() {
    let tokenizer = Words::default();
    let mut count = EffectiveCount::new(Some(&tokenizer));
    let with_thought =
        Piece { key: PieceKey::of_revision(1, 1), text: "a thought and an answer", overhead: 3 };
    let without = Piece { key: PieceKey::of_revision(1, 2), text: "an answer", overhead: 3 };
    let question = piece(0, "a question");
    let last = piece(2, "thanks");
    assert_eq!(count.update(0, [question, with_thought, last]).count.tokens, 2 + 8 + 1);
    let stripped = count.update(0, [question, without, last]);
    assert_eq!((stripped.count.tokens, stripped.read), (2 + 5 + 1, 1));
    let restored = count.update(0, [question, with_thought, last]);
    assert_eq!((restored.count.tokens, restored.read), (11, 0));
    assert_eq!(count.piece(1), Some(TokenCount::tokenized(8)));
    assert_eq!(count.piece(3), None);
    assert_eq!(count.len(), 3);
}

#[test]
fn text_keys_differ_where_texts_differ() {
    let texts = ["", "\0", "a", "b", "ab", "ba", "aaaaaaaa", "aaaaaaaab", "aaaaaaaa\0", "baaaaaaa"];
    for (n, one) in texts.iter().enumerate() {
        assert_eq!(PieceKey::of_text(one), PieceKey::of_text(one));
        for other in &texts[n + 1..] {
            assert_ne!(PieceKey::of_text(one), PieceKey::of_text(other), "{one:?} {other:?}");
        }
    }
}

proptest! {
    #[test]
    fn utf16_units_equal_those_of_the_standard_library(text in any::<String>()) {
        prop_assert_eq!(utf16_units(&text), text.encode_utf16().count() as u64);
    }

    #[test]
    fn incremental_estimate_equals_the_estimate_of_the_whole(parts in any::<Vec<String>>()) {
        let mut estimate = IncrementalEstimate::default();
        parts.iter().for_each(|part| estimate.push(part));
        prop_assert_eq!(estimate.total(), estimate_conservative(&parts.concat()));
    }

    /// After any edits, the sum is the sum of the present pieces.
    #[test]
    fn effective_count_equals_a_fresh_count(
        edits in proptest::collection::vec((0_usize..12, proptest::collection::vec("[ab \0]{0,9}", 0..6)), 1..20),
    ) {
        let tokenizer = Words::default();
        let mut count = EffectiveCount::new(Some(&tokenizer));
        let mut texts: Vec<String> = Vec::new();
        for (at, new) in edits {
            let unchanged = at.min(texts.len());
            texts.truncate(unchanged);
            texts.extend(new);
            let pieces = texts.iter().map(|text| Piece { key: PieceKey::of_text(text), text, overhead: 1 });
            let got = count.update(unchanged, pieces.clone().skip(unchanged)).count;
            prop_assert_eq!(got, EffectiveCount::new(Some(&tokenizer)).update(0, pieces).count);
        }
    }
}

//! The laws of the tag scanner, over random texts made of markers and pieces of them.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "everything here is a test")]

#[path = "laws/tags.rs"]
mod tags;

use proptest::prelude::*;

/// A failure shrinks to a few markers; it becomes a test with a name, not a line in a file of seeds.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(5_000) }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_split_gives_the_same_parts(bytes in prop::collection::vec(any::<u8>(), 4..80)) {
        tags::split_invariance(&bytes);
    }

    #[test]
    fn any_split_of_few_different_markers_gives_the_same_parts(
        head in prop::array::uniform4(any::<u8>()),
        body in prop::collection::vec(
            prop_oneof![128u8..140, 128u8..196, Just(b'a'), Just(b'`'), Just(b'\n'), Just(b'<'), Just(b'"')], 0..40),
    ) {
        tags::split_invariance(&[&head[..], &body[..]].concat());
    }
}

/// The `<REASONING>` rules once more, for a whole text without code, as simply as they can be said.
fn delimiter(text: &str) -> (String, Option<String>) {
    const OPEN: &str = "<REASONING>";
    const CLOSE: &str = "</REASONING>";
    let space = |c: char| c.is_whitespace() || c == '\u{feff}';
    let all_visible = || (text.to_owned(), None);
    let Some((before, mut rest)) = text.split_once(OPEN) else { return all_visible() };
    let (mut depth, mut thought) = (1, String::new());
    while depth > 0 {
        let Some((text, after)) = rest.split_once('>') else { return all_visible() };
        thought += text;
        thought.push('>');
        rest = after;
        if thought.ends_with(CLOSE) {
            depth -= 1;
        } else if thought.ends_with(OPEN) {
            depth += 1;
        }
    }
    let thought = thought.strip_suffix(CLOSE).unwrap_or_default();
    let thought = Some(thought.trim_matches(space)).filter(|thought| !thought.is_empty());
    let sides = [before.trim_end_matches(space), rest.trim_start_matches(space)];
    let both = sides.iter().all(|side| !side.is_empty());
    (sides.join(if both { "\n" } else { "" }), thought.map(str::to_owned))
}

/// A pair of tags once more: what stands between them is a thought, everything else is text.
fn pair(text: &str) -> Vec<(bool, String)> {
    let mut parts: Vec<(bool, String)> = Vec::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once("<a>").unwrap_or((rest, ""));
        let led = parts.first().is_some_and(|(thinking, _)| *thinking);
        let said = parts.iter().any(|(thinking, _)| !thinking);
        let seam = if led && said && !before.is_empty() { "\n" } else { "" };
        match parts.last_mut() {
            // An empty thought leaves two texts that are one.
            Some((false, text)) => text.push_str(&format!("{seam}{before}")),
            _ if before.is_empty() => {}
            _ => parts.push((false, format!("{seam}{before}"))),
        }
        if !rest.contains("<a>") {
            return parts;
        }
        let (thought, next) = after.split_once("</a>").unwrap_or((after, ""));
        if !thought.is_empty() {
            parts.push((true, thought.to_owned()));
        }
        rest = next;
    }
}

fn soup(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(words), 0..24).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_reasoning_delimiter_does_what_its_rules_say(
        text in soup(&["<REASONING>", "</REASONING>", "<REASON", ">", "<", " ", "\n", "\u{feff}", "x", "é"]),
    ) {
        use thinkthrough_core::tags::{Reasoning, SplitOptions, TagSpec, split};
        let options = SplitOptions::new(TagSpec::named("reasoning").unwrap());
        let halves = split(&text, &options);
        let Reasoning::One(thought) = halves.reasoning else { panic!("not staged") };
        let thought = thought.map(|thought| thought.text);
        prop_assert_eq!((halves.visible, thought), delimiter(&text));
    }

    #[test]
    fn a_pair_of_tags_takes_out_what_stands_between_them(
        text in soup(&["<a>", "</a>", "<a", "</", ">", " ", "\n", "x", "é"]),
    ) {
        use thinkthrough_core::tags::{End, Options, Part, Parts, TagScanner, TagSpec};
        let spec = TagSpec::custom("<a>", "</a>").unwrap();
        let mut scanner = TagScanner::new(&spec, Options::default());
        let mut parts = Parts::new(spec.joined());
        scanner.push(&text, &mut |piece| parts.push(piece));
        scanner.end(End::Clean, &mut |piece| parts.push(piece));
        let got: Vec<(bool, String)> = parts
            .finish()
            .into_iter()
            .map(|part| match part {
                Part::Text(text) => (false, text),
                Part::Thinking { thought, .. } => (true, thought),
            })
            .collect();
        prop_assert_eq!(got, pair(&text));
    }
}

/// The cases of `fixtures/tags`, whole and cut at every place.
mod cases {
    use serde_json::{Value, json};
    use thinkthrough_core::tags::{End, Options, Part, Parts, TagScanner, TagSpec};

    fn read(file: &str) -> Vec<Value> {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/tags");
        let text = std::fs::read_to_string(folder.join(file)).expect(file);
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    fn scan(spec: &TagSpec, pieces: &[&str]) -> Value {
        let mut scanner = TagScanner::new(spec, Options::default());
        let mut parts = Parts::new(spec.joined());
        for piece in pieces {
            scanner.push(piece, &mut |piece| parts.push(piece));
        }
        scanner.end(End::Clean, &mut |piece| parts.push(piece));
        let parts = parts.finish().into_iter().map(|part| match part {
            Part::Text(text) => json!({ "text": text }),
            Part::Thinking { thought, .. } => json!({ "thinking": thought }),
        });
        parts.collect()
    }

    fn check(file: &str) {
        let failed: Vec<String> = read(file).iter().filter_map(case).collect();
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }

    /// Says how a case fails.
    fn case(case: &Value) -> Option<String> {
        let spec = TagSpec::named(case["family"].as_str().unwrap()).unwrap();
        let text = case["text"].as_str().unwrap();
        let whole = scan(&spec, &[text]);
        if whole != case["parts"] {
            return Some(format!("{case}\n  gave {whole}"));
        }
        let cuts = text.char_indices().map(|(at, _)| text.split_at(at));
        let cut = cuts.into_iter().find(|(head, tail)| scan(&spec, &[head, tail]) != whole);
        let one: Vec<&str> = text.split_inclusive(|_| true).collect();
        let cut = cut.map(|(head, _)| head.len());
        (cut.is_some() || scan(&spec, &one) != whole).then(|| format!("{case}\n  cut at {cut:?}"))
    }

    #[test]
    fn tags_in_code_of_the_visible_text_are_text() {
        check("code.jsonl");
    }

    #[test]
    fn framing_goes_as_a_whole_and_kept_spans_stay_whole() {
        check("framing.jsonl");
    }
}

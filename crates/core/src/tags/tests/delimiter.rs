//! The `<REASONING>` convention: its rules, its examples, and what it leaves open.

use super::{check, feed, feed_all_ways, named, text, thought};
use crate::tags::{End, Ending, Options, Piece, SplitOptions, TagScanner, TagSpec, split};

fn options() -> SplitOptions {
    SplitOptions::new(named("reasoning"))
}

/// The split as JSON, whole; the scanner must agree in every split.
#[track_caller]
fn json(input: &str, expected: &str) {
    assert_eq!(split(input, &options()).to_json(), expected, "{input:?}");
    feed_all_ways(&named("reasoning"), Options::default(), input, End::Clean);
}

#[track_caller]
fn all_visible(input: &str) {
    let halves = split(input, &options());
    assert_eq!(halves.visible, input);
    assert!(!halves.to_json().contains("\"reasoning\":"), "{}", halves.to_json());
    check("reasoning", input, &[text(input)]);
}

#[track_caller]
fn staged(input: &str, expected: &str) {
    let halves = split(input, &SplitOptions { staged: true, ..options() });
    assert_eq!(halves.to_json(), expected, "{input:?}");
    let every = Options { every_block: true, ..Options::default() };
    feed_all_ways(&named("reasoning"), every, input, End::Clean);
}

#[track_caller]
fn compat(input: &str, expected: &str) {
    let halves = split(input, &SplitOptions { compat: true, ..options() });
    assert_eq!(halves.to_json(), expected, "{input:?}");
}

#[test]
fn delimiter_rule_1_only_the_first_top_level_block_is_reasoning() {
    json(
        "<REASONING>a</REASONING>b<REASONING>c</REASONING>d",
        r#"{"visible":"b<REASONING>c</REASONING>d","reasoning":{"text":"a","tokensEst":1}}"#,
    );
}

#[test]
fn delimiter_rule_1_nested_tags_are_plain_text_and_matched_by_depth() {
    json(
        "<REASONING>a<REASONING>b</REASONING>c</REASONING>d",
        r#"{"visible":"d","reasoning":{"text":"a<REASONING>b</REASONING>c","tokensEst":7}}"#,
    );
}

#[test]
fn delimiter_staged_rule_1_gives_every_top_level_block() {
    staged(
        "<REASONING>a</REASONING>\nb\n<REASONING> c </REASONING>\nd",
        concat!(
            r#"{"visible":"b\nd","reasoning":[{"text":"a","tokensEst":1},"#,
            r#"{"text":"c","tokensEst":1}]}"#
        ),
    );
    staged("no tags", r#"{"visible":"no tags","reasoning":[]}"#);
    staged(
        "<REASONING>a</REASONING>b <REASONING>open",
        r#"{"visible":"b <REASONING>open","reasoning":[{"text":"a","tokensEst":1}]}"#,
    );
}

#[test]
fn delimiter_rule_2_a_missing_tag_leaves_everything_visible() {
    all_visible("<REASONING>\nI started thinking but message truncated");
    all_visible("before  \n<REASONING> \n more");
    all_visible("a thought</REASONING>\nthe answer");
    all_visible("</REASONING>");
    all_visible("<REASONING>");
    all_visible("<REASONING>a<REASONING>b</REASONING>c");
}

#[test]
fn delimiter_rule_2_holds_for_a_cut_stream_too() {
    let input = "<REASONING>\nI started thinking but message truncated";
    let parts = feed_all_ways(&named("reasoning"), Options::default(), input, End::Cut);
    assert_eq!(parts, [text(input)]);
}

#[test]
fn delimiter_rule_2_nothing_is_said_before_the_closing_tag_came() {
    let mut scanner = TagScanner::new(&named("reasoning"), Options::default());
    let mut said = Vec::new();
    let mut take = |piece: Piece<'_>| said.push(format!("{piece:?}"));
    scanner.push("<REASONING>one two three</REASONIN", &mut take);
    scanner.push("G>answer", &mut take);
    assert_eq!(scanner.end(End::Clean, &mut take), Ending::Settled);
    let expected =
        ["ThinkingStart", "Thinking(\"one two three\")", "ThinkingEnd", "Text(\"answer\")"];
    assert_eq!(said, expected);
}

#[test]
fn delimiter_rule_2_a_stray_closing_tag_before_a_good_pair_stays_text() {
    json(
        "a</REASONING>b<REASONING>c</REASONING>d",
        r#"{"visible":"a</REASONING>b\nd","reasoning":{"text":"c","tokensEst":1}}"#,
    );
}

#[test]
fn delimiter_rule_3_inline_tags_are_tolerated() {
    json(
        "The sum <REASONING>1 + 1</REASONING> is 2.",
        r#"{"visible":"The sum\nis 2.","reasoning":{"text":"1 + 1","tokensEst":2}}"#,
    );
}

#[test]
fn delimiter_rule_4_white_space_inside_the_tags_is_trimmed() {
    json(
        "<REASONING> \t\r\n\u{a0}two\n\n lines \n</REASONING>x",
        r#"{"visible":"x","reasoning":{"text":"two\n\n lines","tokensEst":3}}"#,
    );
}

#[test]
fn delimiter_rule_4_visible_text_loses_only_white_space_that_touched_the_tags() {
    json(
        "  one\n two \n\n<REASONING>t</REASONING>\n\n  three  four\n\n",
        r#"{"visible":"  one\n two\nthree  four\n\n","reasoning":{"text":"t","tokensEst":1}}"#,
    );
    json(
        "\n <REASONING>t</REASONING> x",
        r#"{"visible":"x","reasoning":{"text":"t","tokensEst":1}}"#,
    );
    json(
        "x <REASONING>t</REASONING>\n",
        r#"{"visible":"x","reasoning":{"text":"t","tokensEst":1}}"#,
    );
}

#[test]
fn delimiter_rule_4_an_empty_block_leaves_no_reasoning() {
    json("<REASONING></REASONING>Hi", r#"{"visible":"Hi"}"#);
    json("a <REASONING> \n </REASONING> b", r#"{"visible":"a\nb"}"#);
}

#[test]
fn delimiter_rule_5_tokens_are_a_quarter_of_the_utf16_units_rounded_up() {
    for (inside, tokens) in
        [("abcd", 1), ("abcde", 2), ("日本語日本", 2), ("🧠🧠", 1), ("🧠🧠x", 2)]
    {
        json(
            &format!("<REASONING>{inside}</REASONING>"),
            &format!(r#"{{"visible":"","reasoning":{{"text":"{inside}","tokensEst":{tokens}}}}}"#),
        );
    }
}

#[test]
fn delimiter_example_1_message_with_reasoning() {
    json(
        "<REASONING>\nStep 1: Fetch account balance...\nStep 2: Compare deltas...\n</REASONING>\n\
         Final balance increased by 12 SOL.",
        concat!(
            r#"{"visible":"Final balance increased by 12 SOL.","reasoning":{"#,
            r#""text":"Step 1: Fetch account balance...\nStep 2: Compare deltas...","tokensEst":15}}"#
        ),
    );
}

#[test]
fn delimiter_example_2_missing_closing_tag() {
    json(
        "<REASONING>\nI started thinking but message truncated\n",
        r#"{"visible":"<REASONING>\nI started thinking but message truncated\n"}"#,
    );
}

#[test]
fn delimiter_case_only_the_exact_upper_case_tag_without_attributes_counts() {
    all_visible("<reasoning>a</reasoning>");
    all_visible("<Reasoning>a</Reasoning>");
    all_visible("<REASONING level=\"1\">a</REASONING>");
    all_visible("&lt;REASONING&gt;a&lt;/REASONING&gt;");
}

#[test]
fn delimiter_code_tags_in_code_spans_and_fences_are_ignored() {
    all_visible("Write `<REASONING>` first, `</REASONING>` last.");
    all_visible("Write ``a ` <REASONING>x</REASONING>`` so.");
    all_visible("```\n<REASONING>x</REASONING>\n```\nDone.");
    all_visible("~~~md\n<REASONING>x</REASONING>\n~~~\nDone.");
    all_visible("   ````\n```\n<REASONING>x</REASONING>\n````\nDone.");
    all_visible("an unfinished fence\n```\n<REASONING>x</REASONING>");
    json(
        "<REASONING>end with `</REASONING>` and\n```\n</REASONING>\n```\nso</REASONING>ok",
        concat!(
            r#"{"visible":"ok","reasoning":{"text":"end with `</REASONING>` and\n```\n"#,
            r#"</REASONING>\n```\nso","tokensEst":13}}"#
        ),
    );
}

#[test]
fn a_stray_backtick_hides_no_tag() {
    json(
        "It`s <REASONING>here</REASONING> and\nthat`s it",
        r#"{"visible":"It`s\nand\nthat`s it","reasoning":{"text":"here","tokensEst":1}}"#,
    );
    json(
        "<REASONING>don`t</REASONING>x\n`",
        r#"{"visible":"x\n`","reasoning":{"text":"don`t","tokensEst":2}}"#,
    );
}

#[test]
fn a_fence_that_never_closes_inside_the_block_does_not_swallow_the_answer() {
    json(
        "<REASONING>so:\n```rust\nlet x = 1;\n</REASONING>\nThe answer.",
        concat!(
            r#"{"visible":"The answer.","reasoning":{"text":"so:\n```rust\nlet x = 1;","#,
            r#""tokensEst":6}}"#
        ),
    );
    json(
        "<REASONING>code\n```</REASONING>answer with\n```\ncode\n```",
        concat!(
            r#"{"visible":"answer with\n```\ncode\n```","#,
            r#""reasoning":{"text":"code\n```","tokensEst":2}}"#
        ),
    );
}

#[test]
fn quotation_marks_are_no_code() {
    json(
        "\"<REASONING>\"a</REASONING>b",
        r#"{"visible":"\"\nb","reasoning":{"text":"\"a","tokensEst":1}}"#,
    );
}

#[test]
fn delimiter_redacted_spans_never_come_out() {
    json(
        "<REASONING>key <REDACTED>s3cr3t</REDACTED> ok</REASONING>for <REDACTED>a\nb</REDACTED>.",
        concat!(
            r#"{"visible":"for [redacted].","#,
            r#""reasoning":{"text":"key [redacted] ok","tokensEst":5}}"#
        ),
    );
    json("see <REDACTED>cut sec", r#"{"visible":"see [redacted]"}"#);
    json("`<REDACTED>s</REDACTED>`", r#"{"visible":"`[redacted]`"}"#);
}

#[test]
fn starts_open_and_thinking_off() {
    use crate::tags::Start;
    let open = SplitOptions { start: Start::Thought, ..options() };
    let both = r#"{"visible":"b","reasoning":{"text":"a","tokensEst":1}}"#;
    assert_eq!(split("a\n</REASONING>\nb", &open).to_json(), both);
    assert_eq!(split("<REASONING>a\n</REASONING>\nb", &open).to_json(), both);
    assert_eq!(split("a only", &open).to_json(), r#"{"visible":"a only"}"#);
    let off = SplitOptions { thinking_off: true, ..options() };
    let input = "<REASONING>a</REASONING>b";
    assert_eq!(split(input, &off).visible, input);
}

#[test]
fn delimiter_compat_does_as_the_shipped_parser_does() {
    // The first closing tag wins.
    compat(
        "<REASONING>a<REASONING>b</REASONING>c</REASONING>d",
        r#"{"visible":"c</REASONING>d","reasoning":{"text":"a<REASONING>b","tokensEst":4}}"#,
    );
    // Both sides are trimmed and joined with a blank line.
    compat(
        " x \n<REASONING> a </REASONING>\n y ",
        r#"{"visible":"x\n\ny","reasoning":{"text":"a","tokensEst":1}}"#,
    );
    compat(
        "<REASONING>\u{feff}a\u{85}</REASONING>",
        "{\"visible\":\"\",\"reasoning\":{\"text\":\"a\u{85}\",\"tokensEst\":1}}",
    );
    // An empty block is an empty thought.
    compat("<REASONING></REASONING>", r#"{"visible":"","reasoning":{"text":"","tokensEst":0}}"#);
    // A closing tag before the opening one makes the whole text visible, as a missing tag does, without trimming.
    compat(
        "</REASONING><REASONING>a</REASONING> ",
        r#"{"visible":"</REASONING><REASONING>a</REASONING> "}"#,
    );
    compat(" <REASONING>a ", r#"{"visible":" <REASONING>a "}"#);
    // Code means nothing to it.
    compat(
        "`<REASONING>`x`</REASONING>`",
        r#"{"visible":"`\n\n`","reasoning":{"text":"`x`","tokensEst":1}}"#,
    );
}

#[test]
fn delimiter_output_json_is_escaped() {
    json(
        "<REASONING>\"\\\u{1}\u{2028}y</REASONING>\t\"x\"",
        "{\"visible\":\"\\\"x\\\"\",\"reasoning\":{\"text\":\"\\\"\\\\\\u0001\u{2028}y\",\"tokensEst\":2}}",
    );
}

#[test]
fn a_thought_comes_out_whole_where_a_second_block_follows() {
    let spec = TagSpec::named("reasoning").unwrap();
    let parts =
        feed(&spec, Options::default(), ["<REASONING>a</REASONING><REASONING>b"], End::Clean);
    assert_eq!(parts, [thought("a"), text("<REASONING>b")]);
}

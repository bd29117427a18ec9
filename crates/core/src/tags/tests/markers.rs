//! Tags as they come in the wild: broken by chunks, quoted, repeated, unclosed, huge.

use super::{check, feed, feed_all_ways, named, text, thought};
use crate::tags::{End, Ending, Options, Parts, Piece, Start, TagScanner, TagSpec};

#[test]
fn a_tag_that_is_only_spoken_of_is_text() {
    for input in [
        "Models write `<think>` first.",
        "Models write \"<think>\" first, or '<think>', and \"</think>\" last.",
        "```\n<think>a</think>\n```\nis how.",
        "Use `` `<think>` `` and\n~~~\n<think>\n~~~\n",
        "&lt;think&gt;a&lt;/think&gt;",
        "a < think > b",
    ] {
        check("think", input, &[text(input)]);
        check("inline-split", input, &[text(input)]);
    }
    // Inside a thought quotation marks say nothing.
    check("qwen3", "\"a\"</think>\"b\"", &[thought("\"a\""), text("\"b\"")]);
    check(
        "think",
        "<think>I end here</think>Done: `</think>`.",
        &[thought("I end here"), text("Done: `</think>`.")],
    );
}

#[test]
fn a_tag_in_the_arguments_of_a_tool_call_is_text() {
    let call = "<tool_call>\n{\"arguments\": {\"text\": \"a <think>b</think> c\"}}\n</tool_call>";
    check("qwen3", &format!("x</think>{call}"), &[thought("x"), text(call)]);
    check("hy_v3", &format!("{call}<think>x</think>y"), &[text(call), thought("x"), text("y")]);
    let call = "<|start|>assistant to=get<|message|>{\"a\": \"<|channel>\"}<|eom|>";
    check("muse", call, &[text(call)]);
}

#[test]
fn code_inside_a_thought_never_hides_its_end() {
    for inside in ["`", "don`t `x", "```python\nprint('hi')\n```", "```python\nunfinished", "a `b`"]
    {
        let input = format!("<think>{inside}</think>Here: `code`");
        for family in ["think", "qwen3", "minimax_m2", "inline-split"] {
            check(family, &input, &[thought(inside), text("Here: `code`")]);
        }
    }
    // Without its opening tag, a thought may end right behind code too.
    let input = "```python\nprint('hi')\n```</think>Here.";
    check("hy_v3", input, &[thought("```python\nprint('hi')\n```"), text("Here.")]);
    check("hy_v3", "```\nunfinished</think>b", &[thought("```\nunfinished"), text("b")]);
    check("think", "```\n<think>a</think>", &[text("```\n<think>a</think>")]);
}

#[test]
fn a_run_of_backticks_without_end_closes_no_fence_wherever_it_is_cut() {
    for len in [62, 63, 64, 65, 66, 127, 128, 129, 200] {
        let input = format!("```\n{}<think>a</think>\n```\n", "`".repeat(len));
        let code = input.split_at(input.find('<').unwrap()).0;
        let expected = match len {
            // Up to the longest run that is read as one, a tag behind it makes it the fence's end.
            ..=64 => vec![text(code), thought("a"), text("\n```\n")],
            _ => vec![text(&input)],
        };
        check("think", &input, &expected);
    }
}

#[test]
fn a_stray_backtick_does_not_hide_a_later_tag() {
    check(
        "think",
        "It`s so.\n<think>a</think>`b`",
        &[text("It`s so.\n"), thought("a"), text("`b`")],
    );
    check("think", "It`s <think>a</think>b", &[text("It`s "), thought("a"), text("b")]);
}

#[test]
fn white_space_and_a_byte_order_mark_before_the_first_thought_go() {
    check("think", "\u{feff}<think>a</think>b", &[thought("a"), text("b")]);
    check("think", "\r\n <think>a</think>\nb", &[thought("a"), text("\nb")]);
    check("mistral", "\n[THINK]a[/THINK]b", &[thought("a"), text("b")]);
    check("think", " \n", &[text(" \n")]);
    check("think", " x<think>a</think>", &[text(" x"), thought("a")]);
}

#[test]
fn case_is_exact_but_for_the_common_variants() {
    check("thought", "<Thought>a</Thought>b", &[thought("a"), text("b")]);
    check("mistral", "[think]a[/think]", &[text("[think]a[/think]")]);
}

#[test]
fn tags_with_the_same_beginning_are_told_apart() {
    let custom = TagSpec::custom("<a", "<a/>").unwrap();
    let parts = feed_all_ways(&custom, Options::default(), "x<ab<a/>y<", End::Clean);
    assert_eq!(parts, [text("x"), thought("b"), text("y<")]);
    let same = TagSpec::custom("%%", "%%").unwrap();
    let parts = feed_all_ways(&same, Options::default(), "a%%b%%c%", End::Clean);
    assert_eq!(parts, [text("a"), thought("b"), text("c%")]);
    let ticks = TagSpec::custom("```thinking\n", "```").unwrap();
    let parts = feed_all_ways(&ticks, Options::default(), "```thinking\na```b", End::Clean);
    assert_eq!(parts, [thought("a"), text("b")]);
    check("qwen3", "a</think</think>b</think", &[thought("a</think"), text("b</think")]);
}

#[test]
fn only_what_may_be_a_tag_is_held_back() {
    let mut scanner =
        TagScanner::new(&named("qwen3"), Options { start: Start::Text, ..Options::default() });
    let mut said = String::new();
    for (piece, expected) in [("a<", "a"), ("b", "a<b"), ("</thin", "a<b"), ("k", "a<b")] {
        scanner.push(piece, &mut |piece| {
            if let Piece::Text(more) = piece {
                said.push_str(more);
            }
        });
        assert_eq!(said, expected);
    }
}

#[test]
fn text_and_thought_in_one_piece_come_as_separate_blocks() {
    let mut scanner = TagScanner::new(&named("deepseekr1"), Options::default());
    let mut said = Vec::new();
    scanner.push("end</think>start", &mut |piece| said.push(format!("{piece:?}")));
    let expected = ["ThinkingStart", "Thinking(\"end\")", "ThinkingEnd", "Text(\"start\")"];
    assert_eq!(said, expected);
}

#[test]
fn the_end_says_whether_a_thought_was_open() {
    let ending = |input: &str, end| {
        let mut scanner = TagScanner::new(&named("qwen3"), Options::default());
        scanner.push(input, &mut |_| {});
        scanner.end(end, &mut |_| {})
    };
    assert_eq!(ending("<think>a", End::Clean), Ending::Unclosed);
    assert_eq!(ending("<think>a", End::Cut), Ending::Unclosed);
    assert_eq!(ending("<think>a</think>b", End::Cut), Ending::Settled);
}

#[test]
fn state_depends_on_the_text_and_not_on_how_it_came() {
    let texts = [
        "a `b <think>c` d <think>e `</think>` f\n```\n</think>g</think>h \"<think>\" i",
        "      <REASONING>a\n   ```x\n</REASONING>\n```\n</REASONING>  b<REASONING>",
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b",
    ];
    for family in TagSpec::names() {
        for input in texts {
            let mut steps = TagScanner::new(&named(family), Options::default());
            for (at, char) in input.char_indices() {
                steps.push(char.encode_utf8(&mut [0; 4]), &mut |_| {});
                let mut whole = TagScanner::new(&named(family), Options::default());
                whole.push(input.get(..at + char.len_utf8()).unwrap(), &mut |_| {});
                assert_eq!(steps, whole, "{family} after {at} of {input:?}");
            }
        }
    }
}

#[test]
fn five_megabytes_in_single_characters_take_linear_time() {
    const LEN: usize = 5_000_000;
    for (family, unit) in [
        ("qwen3", "a thought. "),
        ("reasoning", "<REASONIN`x"),
        ("gemma4", "< `a "),
        ("think", "` <think>"),
    ] {
        let spec = named(family);
        let mut scanner = TagScanner::new(&spec, Options::default());
        let mut parts = Parts::new(spec.joined());
        for char in unit.chars().cycle().take(LEN) {
            scanner.push(char.encode_utf8(&mut [0; 4]), &mut |piece| parts.push(piece));
        }
        scanner.end(End::Clean, &mut |piece| parts.push(piece));
        let whole: String = unit.chars().cycle().take(LEN).collect();
        assert_eq!(parts.finish(), feed(&spec, Options::default(), [whole.as_str()], End::Clean));
    }
}

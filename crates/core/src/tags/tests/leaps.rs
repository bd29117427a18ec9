//! Long texts: a scanner with much text at once leaps over parts that a scanner with little text reads byte by byte,
//! and both must have the same result.

use super::{End, Options, Parts, Random, TagScanner, TagSpec, named};
use crate::tags::Start;

/// Texts that stop the search by first bytes, without being a marker.
const NOISE: &[&str] = &[
    "<p>One <b>two</b></p>\n",
    "<li>a</li>",
    "<table><thead><th>1</th>",
    "call `push`, then `end`",
    "a `` ` `` b",
    "if a < b && c > d {",
    "I think> that",
    "```rust\nlet a = `x`;\n```\n",
    "~~~\n<p>\n~~~\n",
    "inline ```x``` or\n",
    "    ```\n",
    "  ```",
    "`",
    "~",
    "</",
    "<|",
    "[x]",
    "◁",
    "\n",
    "\n\n",
    " plain words that go on for a while, ",
];

/// Markers of the families below, whole, and cut in half.
const WORDS: &[&str] = &[
    "<think>",
    "</think>",
    "</THINK>",
    "`<think>`",
    "\"</think>\"",
    "<REASONING>",
    "</REASONING>",
    "\n</think>\n<answer>\n",
    "\n</answer>",
    "<tool_calls>",
    "</tool_calls>",
    "<|channel|>analysis<|message|>",
    "<|channel|>final<|message|>",
    "<|start|>assistant",
    "<|end|>",
    "[THINK]",
    "[/THINK]",
    "◁think▷",
    "◁/think▷",
    "\n##",
    "\n!\n",
    "```<think>",
    "\n```\n",
    "\n~~~\n",
    "`",
];

fn specs() -> Vec<TagSpec> {
    let mut specs: Vec<TagSpec> =
        ["think", "reasoning", "hunyuan", "harmony", "mistral", "kimi_vl", "qwen3"]
            .map(named)
            .into();
    // Markers without a word, with a line feed anywhere, and longer than any key.
    let long = "!".repeat(40);
    for (open, close) in [("\n##", "\n!\n"), ("\n", "##"), ("<p>", "</p>"), ("<th", &long)] {
        specs.push(TagSpec::custom(open, close).unwrap());
    }
    specs
}

/// A text of few different pieces, with a marker now and then.
fn long_text(random: &mut Random) -> String {
    let noise: Vec<&str> =
        (0..=random.below(6)).map(|_| NOISE[random.below(NOISE.len())]).collect();
    let words: Vec<&str> =
        (0..=random.below(4)).map(|_| WORDS[random.below(WORDS.len())]).collect();
    let rare = [3, 30, 300][random.below(3)];
    let len = [300, 2_000, 9_000][random.below(3)];
    let mut text = String::new();
    while text.len() < len {
        match random.below(rare) {
            0 => text.push_str(words[random.below(words.len())]),
            1 => text.extend(words[random.below(words.len())].chars().take(3)),
            2 => text.push_str(&["`", "~", "<"][random.below(3)].repeat(random.below(140))),
            _ => text.push_str(noise[random.below(noise.len())]),
        }
    }
    text
}

/// Gives one scanner pieces and the other characters; compares what they said and keep wherever a piece ends.
fn check(spec: &TagSpec, options: Options, text: &str, longest: usize, random: &mut Random) {
    let (mut much, mut little) = (TagScanner::new(spec, options), TagScanner::new(spec, options));
    let (mut said, mut expected) = (Parts::new(spec.joined()), Parts::new(spec.joined()));
    let mut rest = text;
    while !rest.is_empty() {
        let mut cut = rest.len().min(1 + random.below(longest));
        while !rest.is_char_boundary(cut) {
            cut += 1;
        }
        let (piece, after) = rest.split_at(cut);
        much.push(piece, &mut |piece| said.push(piece));
        for char in piece.split_inclusive(|_| true) {
            little.push(char, &mut |piece| expected.push(piece));
        }
        assert!(
            said == expected && much == little,
            "{} {options:?} differs before {:?} of {text:?}:\n{much:?}\n{little:?}",
            spec.name(),
            after.get(..20.min(after.len())),
        );
        rest = after;
    }
    much.end(End::Clean, &mut |piece| said.push(piece));
    little.end(End::Clean, &mut |piece| expected.push(piece));
    assert_eq!(said, expected, "{} {options:?} {text:?}", spec.name());
}

#[test]
fn what_is_leapt_over_is_what_would_have_been_read() {
    let mut random = Random(0x6c65_6170);
    let specs = specs();
    for round in 0..400 {
        let text = long_text(&mut random);
        let start = [Start::Family, Start::Thought, Start::Text][round % 3];
        let options = Options { start, every_block: round % 2 == 0, ..Options::default() };
        let longest = [200, 2_000, 20_000][random.below(3)];
        check(&specs[round % specs.len()], options, &text, longest, &mut random);
    }
}

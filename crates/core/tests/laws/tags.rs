//! Laws of the tag scanner over any bytes.

use thinkthrough_core::tags::{End, Ending, Options, Part, Parts, Start, TagScanner, TagSpec};

/// Any split of any text gives the same parts, for any family, and nothing is invented.
///
/// The first bytes choose the family, the options and where to split; the rest is the text. Bytes that pick a marker
/// (see [`text`]) make it likely that something happens at all.
pub(crate) fn split_invariance(bytes: &[u8]) {
    let Some((&[family, options, seed, ..], rest)) = bytes.split_at_checked(4) else { return };
    let names: Vec<&str> = TagSpec::names().collect();
    let named =
        names.get(usize::from(family) % (names.len() + 1)).copied().and_then(TagSpec::named);
    let Some(spec) = named.or_else(|| TagSpec::custom("<|", "|>").ok()) else { return };
    let start = match options % 3 {
        0 => Start::Family,
        1 => Start::Thought,
        _ => Start::Text,
    };
    let thinking_off = options & 0x30 == 0x30;
    let options = Options { start, thinking_off, every_block: options & 0x40 != 0 };
    let end = if seed & 1 == 0 { End::Clean } else { End::Cut };
    let text = text(rest);

    let whole = scan(&spec, options, [text.as_str()], end);
    let chars: Vec<&str> = text.split_inclusive(|_| true).collect();
    assert_eq!(scan(&spec, options, chars.iter().copied(), end), whole, "one by one: {text:?}");
    let mut step = usize::from(seed) + 1;
    let (mut pieces, mut rest) = (Vec::new(), chars.as_slice());
    while !rest.is_empty() {
        step = step * 5 % 61 + 1;
        let (piece, after) = rest.split_at_checked(step % 23).unwrap_or((rest, &[]));
        pieces.push(piece.concat());
        rest = after;
    }
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let split = scan(&spec, options, pieces.iter().copied(), end);
    assert_eq!(split, whole, "{} {options:?} {pieces:?}", spec.name());
    nothing_is_invented(&spec, &text, &whole.0);
}

fn scan<'a>(
    spec: &TagSpec,
    options: Options,
    pieces: impl IntoIterator<Item = &'a str>,
    end: End,
) -> (Vec<Part>, Ending) {
    let mut scanner = TagScanner::new(spec, options);
    let mut parts = Parts::new(spec.joined());
    for piece in pieces {
        scanner.push(piece, &mut |piece| parts.push(piece));
    }
    let ending = scanner.end(end, &mut |piece| parts.push(piece));
    (parts.finish(), ending)
}

/// All parts in a row are in the text in this order, but for what a family puts in by rule.
fn nothing_is_invented(spec: &TagSpec, text: &str, parts: &[Part]) {
    if spec.joined() {
        return;
    }
    let all: String = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Thinking { thought, .. } => {
                assert!(!thought.is_empty(), "an empty thought: {text:?}");
                thought.as_str()
            }
        })
        .collect();
    let all = match spec.name() {
        "minimax_m2_append" => all.strip_prefix("<think>").unwrap_or(&all),
        _ => &all,
    };
    let mut rest = text.chars();
    for char in all.chars() {
        // A line feed may be the seam where a thought was.
        assert!(char == '\n' || rest.any(|other| other == char), "{text:?} gave {parts:?}");
    }
}

/// Text from bytes: some stand for markers of all families, the others for themselves.
fn text(bytes: &[u8]) -> String {
    const WORDS: &[&str] = &[
        "<think>",
        "</think>",
        "<REASONING>",
        "</REASONING>",
        "`",
        "```",
        "\n",
        "\n```\n",
        "~~~\n",
        " ",
        "<thought>",
        "</thought>",
        "<thinking>",
        "</thinking>",
        "<|channel>",
        "<channel|>",
        "thought\n",
        "[THINK]",
        "[/THINK]",
        "◁think▷",
        "◁/think▷",
        "<|channel|>analysis",
        "<|channel|>final",
        "<|channel|>commentary to=",
        "<|message|>",
        "<|end|>",
        "<|start|>assistant",
        "<|call|>",
        "analysis",
        "assistantfinal",
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
        "<|START_ACTION|>",
        "<tool_call>",
        "</tool_call>",
        "<answer>\n",
        "\n</answer>",
        "<|open|>",
        "<|close|>",
        "think<|sep|>",
        "response<|sep|>",
        "<|inner_prefix|>",
        "<|inner_suffix|>",
        "<|tools_prefix|>",
        "<|tools_suffix|>",
        "<|message_model|>",
        "<|content_thinking|>",
        "<|content_text|>",
        "<|end_message|>",
        " to=self<|message|>",
        "<|eom|>",
        "<mm:think>",
        "</mm:think>",
        "<seed:think>",
        "</seed:think>",
        "<ifm|think>",
        "</ifm|think>",
        "<ifm|tool_calls>",
        "Here is my thought process:",
        "Here's my response:",
        "<|begin_of_thought|>",
        "<|end_of_thought|>",
        "\u{feff}",
        "\"",
        "'",
        "é🧠",
        "X",
    ];
    let mut raw = Vec::new();
    for &byte in bytes {
        match usize::from(byte).checked_sub(128).and_then(|at| WORDS.get(at)) {
            Some(word) => raw.extend_from_slice(word.as_bytes()),
            None => raw.push(byte),
        }
    }
    String::from_utf8_lossy(&raw).into_owned()
}

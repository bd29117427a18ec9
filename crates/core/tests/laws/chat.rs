//! Laws of the chat decoder over any bytes.

use std::collections::BTreeMap;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::Block;
use thinkthrough_core::event::{Event, Fold, Sink, Tee};
use thinkthrough_core::frame::{Frame, Framer, Framing};
use thinkthrough_core::wire::chat_completions::ChatCompletions;
use thinkthrough_core::wire::{Decode, Dialect, Wire};

/// Bytes as decisions.
struct Decisions<'a>(std::slice::Iter<'a, u8>);

impl Decisions<'_> {
    fn is_left(&self) -> bool {
        self.0.len() > 0
    }

    fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |byte| usize::from(*byte) % n)
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        let at = self.below(of.len());
        of.get(at).copied().unwrap_or_default()
    }
}

/// What stays the same from one message to the next, most of the time.
#[derive(Clone, Default)]
struct Style {
    delta: usize,
    around: usize,
    idle: usize,
    end: usize,
    other: usize,
    number: usize,
}

const TEXTS: [&str; 16] = [
    " a",
    "b",
    "",
    "\\n",
    "long enough to be longer than anything before it",
    "\\u00e9",
    "é",
    "\\\"",
    " ",
    "\\ud83d\\ude00",
    "\\ud800",
    "abc",
    "ab",
    "\\\\",
    "</think>",
    "\\/",
];

/// The delta of a message with the text `text`.
fn delta(kind: usize, text: &str, other: &str) -> String {
    match kind {
        0 => format!(r#"{{"content":null,"reasoning_content":"{text}"}}"#),
        1 => format!(r#"{{"role":"assistant","content":"{text}","reasoning":""}}"#),
        2 => format!(r#"{{"reasoning":"{text}","reasoning_content":"{text}"}}"#),
        3 => format!(r#"{{"reasoning":"{text}","reasoning_content":"{other}"}}"#),
        4 => format!(
            r#"{{"content":"","reasoning":"{text}","reasoning_details":[{{"type":"reasoning.text","text":"{text}","format":"f","index":0}}]}}"#
        ),
        5 => format!(
            r#"{{"reasoning_details":[{{"type":"reasoning.summary","summary":"{text}","index":0}}]}}"#
        ),
        6 => format!(
            r#"{{"reasoning_details":[{{"type":"reasoning.encrypted","data":"{text}","index":0,"id":"r"}}]}}"#
        ),
        7 => format!(
            r#"{{"reasoning_details":[{{"type":"reasoning.text","signature":"{text}","index":0}}]}}"#
        ),
        8 => format!(
            r#"{{"content":[{{"type":"thinking","thinking":[{{"type":"text","text":"{text}"}}]}}]}}"#
        ),
        9 => format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#),
        10 => format!(r#"{{"content":[{{"type":"thinking","thinking":"{text}","closed":true}}]}}"#),
        11 => format!(r#"{{"reasoning_content":"{other}","content":"{text}"}}"#),
        12 => format!(
            r#"{{"tool_calls":[{{"index":0,"id":"c","function":{{"name":"f","arguments":"{text}"}}}}]}}"#
        ),
        13 => format!(r#"{{"content":"{text}","content":"{other}"}}"#),
        14 => format!(
            r#"{{"token":7,"pad":"{other}","content":"{text}","refusal":null,"tool_calls":[]}}"#
        ),
        15 => format!(
            r#"{{"thinking_blocks":[{{"type":"thinking","thinking":"{text}"}}],"reasoning_content":"{text}"}}"#
        ),
        16 => format!(r#"{{"content":"{text}","refusal":"{other}"}}"#),
        17 => format!(
            r#"{{"content":"{text}","extra_content":{{"google":{{"thought_signature":"{other}"}}}}}}"#
        ),
        18 => format!(r#"{{"reasoning_details":[{{"type":"reasoning.other","deed":"{text}"}}]}}"#),
        19 => format!(r#"{{"reasoning_content":"{text}","reasoning_content":"{other}"}}"#),
        20 => format!(
            r#"{{"reasoning":"{text}","reasoning_details":[{{"type":"reasoning.text","text":"{text}","index":0,"id":"{other}"}}]}}"#
        ),
        21 => format!(r#"{{"pad":"{text}","content":"{text}","n":12}}"#),
        22 => format!(
            r#"{{"content":[{{"type":"text","text":"{text}"}},{{"type":"text","text":"{other}"}}]}}"#
        ),
        _ => "{}".to_owned(),
    }
}

fn message(style: &Style, choices: &mut Decisions<'_>) -> String {
    let text = choices.one(&TEXTS);
    let other = TEXTS.get(style.other).copied().unwrap_or_default();
    let delta = delta(style.delta, text, other);
    let numbers = ["17", "18", "0", "1.5", "9e9", "-1", "017"];
    let number = numbers.get(style.number).copied().unwrap_or_else(|| choices.one(&numbers));
    let idle = match style.idle {
        0 => format!(r#""created":{number},"pad":"{other}","#),
        1 => format!(r#""object":"{}","#, choices.one(&["chunk", "error"])),
        2 => format!(r#""id":"{}","model":"m","#, choices.one(&["i", "i", "", "j"])),
        3 => format!(r#""usage":{},"#, choices.one(&["null", "{\"prompt_tokens\":3}", "{}"])),
        4 => format!(r#""error":{},"#, choices.one(&["null", "null", "{\"message\":\"no\"}"])),
        5 => format!(r#""type":"{}","#, choices.one(&["chunk", "chunk", "error"])),
        6 => format!(r#""pad":"{}","#, choices.one(&TEXTS)),
        7 => format!(r#""type":"{other}","time":{{"x":{number}}},"#),
        _ => String::new(),
    };
    let reason = match style.end {
        0..6 => "null",
        6 => "\"\"",
        7 => "\"stop\"",
        _ => "\"tool_calls\"",
    };
    match style.around {
        0..5 => format!(
            r#"{{{idle}"choices":[{{"index":0,"delta":{delta},"finish_reason":{reason}}}]}}"#
        ),
        5 => format!(r#"{{"choices":[{{"delta":{delta},"index":0}}],{idle}"n":{number}}}"#),
        6 => format!(
            r#"{{{idle}"choices":[{{"index":1,"delta":{delta},"finish_reason":{reason}}}]}}"#
        ),
        7 => format!(r#"{{{idle}"choices":[{{"index":0,"message":{delta}}}]}}"#),
        8 => format!(r#"{{{idle}"choices":[{{"delta":{delta},"delta":{{}}}}]}}"#),
        9 => format!(r#"{{"choices":[{{"delta":{delta}}},{{"index":1,"delta":{delta}}}]}}"#),
        10 => format!(r#"{{"choices":[{{"delta":{delta},"logprobs":{number},"seed":{number}}}]}}"#),
        11 => format!(r#"{{"choices":[{{"delta":{delta}}}],"choices":[{{"delta":{{}}}}]}}"#),
        12 => format!(r#"{{"choices":[{{"delta":{delta},"index":{number}}}]}}"#),
        _ => format!(r#"{{{idle}"choices":[]}}"#),
    }
}

/// Messages of a stream in which neighbours are alike more often than not, and some are broken.
fn messages(bytes: &[u8]) -> Vec<String> {
    let mut choices = Decisions(bytes.iter());
    let mut style = Style::default();
    let mut messages = Vec::new();
    while choices.is_left() {
        match choices.below(24) {
            0 => style.delta = choices.below(24),
            1 => style.around = choices.below(14),
            2 => style.idle = choices.below(9),
            3 => style.end = choices.below(9),
            4 => style.other = choices.below(TEXTS.len()),
            6 => style.number = choices.below(9),
            5 => {
                let mut broken: Vec<char> = message(&style, &mut choices).chars().collect();
                let at = choices.below(255) % broken.len();
                let with = choices.one(&["\"", "\\", "}", "0", "\u{1}", "x"]);
                broken.splice(at..=at, with.chars());
                messages.push(broken.into_iter().collect());
            }
            7 => messages.push(choices.one(&["", "[DONE]", "nonsense", "{}", "7"]).to_owned()),
            _ => messages.push(message(&style, &mut choices)),
        }
    }
    messages
}

/// What a decoder says, written down.
#[derive(Default)]
struct Log(Vec<String>);

impl Sink for Log {
    fn event(&mut self, event: Event<'_>) {
        self.0.push(format!("{event:?}"));
    }
}

fn log(mut decoder: Box<dyn Decode>, messages: &[String]) -> Log {
    let mut log = Log::default();
    for message in messages {
        decoder.message(None, message, &mut log);
    }
    decoder.end(&mut log);
    log
}

/// A decoder that knows messages again says exactly what one says that reads each in full.
pub(crate) fn the_short_way_says_what_the_long_way_says(bytes: &[u8]) {
    are_read_alike(&messages(bytes));
}

/// The same for these messages.
pub(crate) fn are_read_alike(messages: &[String]) {
    let dialect = Dialect::default();
    let short = log(ChatCompletions.decoder(&dialect), messages);
    let long = log(ChatCompletions.plain_decoder(&dialect), messages);
    assert_eq!(short.0, long.0, "{messages:#?}");
}

/// Blocks are numbered without holes in the order of their first events, and nothing is said of a block before its
/// start.
pub(crate) fn blocks_are_numbered_as_they_appear(bytes: &[u8]) {
    let mut decoder = ChatCompletions.decoder(&Dialect::default());
    let mut next = [0; 2];
    let mut check = |event: Event<'_>| {
        let (choice, event) = match event {
            Event::Choice { index, event } => (index, *event),
            other => (0, other),
        };
        let Some(next) = next.get_mut(choice) else { return };
        match event {
            Event::ThinkingStart { block, .. }
            | Event::TextStart { block }
            | Event::ToolCallStart { block, .. }
            | Event::Whole { block, .. } => {
                assert_eq!(block, *next, "{event:?} after {next} blocks");
                *next += 1;
            }
            Event::ThinkingDelta { block, .. }
            | Event::TextDelta { block, .. }
            | Event::ToolCallDelta { block, .. } => assert!(block < *next, "{event:?}"),
            _ => {}
        }
    };
    for message in messages(bytes) {
        decoder.message(None, &message, &mut check);
    }
    decoder.end(&mut check);
}

/// What is written of an answer is read as the same answer, in readable thoughts, text and calls.
pub(crate) fn written_streams_say_the_same(bytes: &[u8]) {
    let mut decoder = ChatCompletions.decoder(&Dialect::default());
    let mut encoder = ChatCompletions.encoder();
    let mut out = Vec::new();
    let mut fold = Fold::new();
    {
        let mut into = |event: Event<'_>| encoder.event(event, &mut out);
        let mut both = Tee(&mut fold, &mut into);
        for message in messages(bytes) {
            decoder.message(None, &message, &mut both);
        }
        decoder.end(&mut both);
    }
    encoder.end(&mut out);
    let answer = fold.finish();
    let mut again = ChatCompletions.decoder(&Dialect::default());
    let mut fold = Fold::new();
    let mut framer = Framer::new(Framing::Sse);
    framer.push(&out, &mut |frame| {
        if let Frame::Event(event) = frame {
            again.message(event.event, event.data, &mut fold);
        }
    });
    again.end(&mut fold);
    let again = fold.finish();
    assert_eq!(again.text(), answer.text(), "{}", String::from_utf8_lossy(&out));
    let mixed = has_parts(&answer);
    let told = thoughts(&again, mixed);
    assert_eq!(told, thoughts(&answer, mixed), "{}", String::from_utf8_lossy(&out));
    assert_eq!(calls(&again), calls(&answer), "{}", String::from_utf8_lossy(&out));
    assert_eq!(again.refusal, answer.refusal);
    assert_eq!(again.is_complete(), answer.is_complete(), "{}", String::from_utf8_lossy(&out));
    if answer.is_complete() {
        assert_eq!(members(&again), members(&answer), "{}", String::from_utf8_lossy(&out));
    }
}

/// What stands beside the message.
fn members(answer: &Answer) -> BTreeMap<&str, &str> {
    answer.extra.fields.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

/// Whether thoughts are parts of the content, which are told in the usual field: what they say stands between what that
/// said itself, so that only each character counts.
fn has_parts(answer: &Answer) -> bool {
    let is_part =
        |block: &Block| matches!(block, Block::Thinking(it) if it.source_field == "thinking");
    answer.blocks.iter().any(is_part)
}

/// What was thought, by the field that it is told in: the order between fields is the reader's. Entries are left out:
/// whether their pieces repeat what came before is guessed from the pieces, and any bytes make pieces that look so. The
/// recordings' own entries are compared by the law `again`.
fn thoughts(answer: &Answer, mixed: bool) -> BTreeMap<&str, String> {
    let mut thoughts: BTreeMap<&str, String> = BTreeMap::new();
    for block in &answer.blocks {
        let Block::Thinking(thinking) = block else { continue };
        let field = match thinking.source_field.as_str() {
            "reasoning_details" | "thinking_blocks" => continue,
            "thinking" => "reasoning_content",
            field => field,
        };
        if !thinking.thought.is_empty() {
            thoughts.entry(field).or_default().push_str(&thinking.thought);
        }
    }
    if let Some(text) = thoughts.get_mut("reasoning_content").filter(|_| mixed) {
        let mut chars: Vec<char> = text.chars().collect();
        chars.sort_unstable();
        *text = chars.into_iter().collect();
    }
    thoughts
}

/// Ids, names and arguments of the calls, in order.
fn calls(answer: &Answer) -> Vec<(Option<&str>, &str, &str)> {
    let calls = answer.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => {
            Some((call.id.as_deref(), call.name.as_str(), call.parameters.as_text()))
        }
        _ => None,
    });
    calls.collect()
}

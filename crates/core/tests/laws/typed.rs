//! Laws of the wires with typed blocks over any order of their events.

use std::slice::Iter;

use thinkthrough_core::answer::Answer;
use thinkthrough_core::event::{Event, Fold, Sink};
use thinkthrough_core::frame::{Frame, Framer};
use thinkthrough_core::wire::converse::Converse;
use thinkthrough_core::wire::messages::Messages;
use thinkthrough_core::wire::{Dialect, Wire};

/// Bytes as decisions.
struct Decisions<'a>(Iter<'a, u8>);

impl Decisions<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |byte| usize::from(*byte) % n)
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }
}

const TEXTS: &[&str] =
    &["a", "", "\\n", " b", "é", "\\ud83d\\ude00", "\\\"", "{}", "{\\\"a\\\":1}", "long enough"];

/// A stream's answer, written as a stream again and read, is the same answer; a cut or failed one stays so.
pub(crate) fn written_streams_say_the_same(bytes: &[u8]) {
    let mut choices = Decisions(bytes.iter());
    let is_messages = choices.below(2) == 0;
    let mut events = vec![first(is_messages, &mut choices)];
    while choices.0.len() > 0 {
        let event =
            if is_messages { messages_event(&mut choices) } else { converse_event(&mut choices) };
        events.push(event);
    }
    let wire: &dyn Wire = if is_messages { &Messages } else { &Converse };
    events.extend(last(is_messages, events.len()));
    let (answer, written) = through(wire, &events);
    let again = read(wire, &written);
    let text = || String::from_utf8_lossy(&written).into_owned();
    assert_eq!(again.is_complete(), answer.is_complete(), "{events:#?}\n{}", text());
    if answer.is_complete() {
        assert_eq!(again.blocks, answer.blocks, "{events:#?}\n{}", text());
        assert_eq!(again.usage, answer.usage, "{events:#?}\n{}", text());
        assert_eq!(again.finish_reason, answer.finish_reason);
        assert_eq!(again.extra, answer.extra, "{events:#?}\n{}", text());
        assert_eq!((again.response_id, again.model), (answer.response_id, answer.model));
    }
}

fn first(is_messages: bool, choices: &mut Decisions<'_>) -> (String, String) {
    if !is_messages {
        return ("messageStart".into(), r#"{"role":"assistant"}"#.into());
    }
    let extra = choices.one(&["", r#","provider":"p""#, r#","container":null"#]);
    let usage = choices.one(&[
        r#"{"input_tokens":3,"output_tokens":1}"#,
        r#"{"input_tokens":0,"cache_read_input_tokens":7,"output_tokens":0}"#,
    ]);
    let message = format!(r#"{{"id":"i","model":"m","content":[],"usage":{usage}{extra}}}"#);
    ("message_start".into(), format!(r#"{{"type":"message_start","message":{message}}}"#))
}

/// The wire's own end, or for some lengths none.
fn last(is_messages: bool, events: usize) -> Vec<(String, String)> {
    let own = |name: &str, data: &str| (name.to_owned(), data.to_owned());
    match (is_messages, events % 7) {
        (_, 0) => Vec::new(),
        (true, 1) => {
            vec![own("error", r#"{"type":"error","error":{"type":"api_error","message":"no"}}"#)]
        }
        (true, _) => vec![
            own(
                "message_delta",
                r#"{"type":"message_delta","context_management":{"a":[]},"delta":{"stop_reason":"tool_use","container":{"id":"c"}},"usage":{"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}}}"#,
            ),
            own("message_stop", r#"{"type":"message_stop"}"#),
        ],
        (false, 1) => vec![own("throttlingException", r#"{"message":"slow"}"#)],
        (false, _) => vec![
            own(
                "messageStop",
                r#"{"stopReason":"end_turn","additionalModelResponseFields":{"x":1}}"#,
            ),
            own(
                "metadata",
                r#"{"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"metrics":{"latencyMs":1}}"#,
            ),
        ],
    }
}

fn messages_event(choices: &mut Decisions<'_>) -> (String, String) {
    let index = choices.below(3);
    let text = choices.one(TEXTS);
    let (name, body) = match choices.below(6) {
        0 | 1 => ("content_block_start", format!(r#""content_block":{}"#, match choices.below(8) {
            0 => format!(r#"{{"type":"text","text":"{text}"}}"#),
            1 => r#"{"type":"text","text":"","citations":[{"n":1}],"odd":1}"#.to_owned(),
            2 => format!(r#"{{"type":"thinking","thinking":"{text}","signature":""}}"#),
            3 => format!(r#"{{"type":"thinking","thinking":"","signature":"{text}","odd":[1]}}"#),
            4 => format!(r#"{{"type":"redacted_thinking","data":"{text}"}}"#),
            5 => r#"{"type":"tool_use","id":"t","name":"f","input":{},"caller":{"type":"direct"}}"#.to_owned(),
            6 => r#"{"type":"server_tool_use","id":"s","name":"f","input":{}}"#.to_owned(),
            _ => format!(r#"{{"type":"web_search_tool_result","tool_use_id":"s","content":["{text}"]}}"#),
        })),
        2..=4 => ("content_block_delta", format!(r#""delta":{}"#, match choices.below(6) {
            0 => format!(r#"{{"type":"text_delta","text":"{text}"}}"#),
            1 => format!(r#"{{"type":"thinking_delta","thinking":"{text}"}}"#),
            2 => format!(r#"{{"type":"signature_delta","signature":"{text}"}}"#),
            3 => format!(r#"{{"type":"input_json_delta","partial_json":"{text}"}}"#),
            4 => format!(r#"{{"type":"citations_delta","citation":{{"n":"{text}"}}}}"#),
            _ => format!(r#"{{"type":"odd_delta","odd":"{text}"}}"#),
        })),
        _ => ("content_block_stop", r#""type":"content_block_stop""#.to_owned()),
    };
    (name.to_owned(), format!(r#"{{"type":"{name}","index":{index},{body}}}"#))
}

fn converse_event(choices: &mut Decisions<'_>) -> (String, String) {
    let index = choices.below(3);
    let text = choices.one(TEXTS);
    let (name, body) = match choices.below(5) {
        0 => (
            "contentBlockStart",
            match choices.below(3) {
                0 => r#""start":{"toolUse":{"toolUseId":"t","name":"f"}}"#.to_owned(),
                1 => r#""start":{"toolUse":{"toolUseId":"t","name":"f","type":"server_tool_use"}}"#
                    .to_owned(),
                _ => r#""start":{"toolResult":{"toolUseId":"t","status":"success"}}"#.to_owned(),
            },
        ),
        1..=3 => (
            "contentBlockDelta",
            format!(
                r#""delta":{}"#,
                match choices.below(7) {
                    0 => format!(r#"{{"text":"{text}"}}"#),
                    1 => format!(r#"{{"reasoningContent":{{"text":"{text}"}}}}"#),
                    2 => format!(r#"{{"reasoningContent":{{"signature":"{text}"}}}}"#),
                    3 => r#"{"reasoningContent":{"redactedContent":"YQ=="}}"#.to_owned(),
                    4 => format!(r#"{{"toolUse":{{"input":"{text}"}}}}"#),
                    5 => format!(r#"{{"citation":{{"title":"{text}"}}}}"#),
                    _ => format!(r#"{{"toolResult":[{{"text":"{text}"}}]}}"#),
                }
            ),
        ),
        _ => ("contentBlockStop", r#""p":"a""#.to_owned()),
    };
    (name.to_owned(), format!(r#"{{"contentBlockIndex":{index},{body}}}"#))
}

/// The answer to a stream, and the stream that the encoder makes of its events.
fn through(wire: &dyn Wire, events: &[(String, String)]) -> (Answer, Vec<u8>) {
    let (mut fold, mut encoder, mut written) = (Fold::new(), wire.encoder(), Vec::new());
    let mut decoder = wire.decoder(&Dialect::default());
    let mut sink = |event: Event<'_>| {
        encoder.event(event, &mut written);
        fold.event(event);
    };
    for (name, data) in events {
        decoder.message(Some(name), data, &mut sink);
    }
    decoder.end(&mut sink);
    encoder.end(&mut written);
    (fold.finish(), written)
}

fn read(wire: &dyn Wire, bytes: &[u8]) -> Answer {
    let mut framer = Framer::new(wire.framing());
    let (mut fold, mut decoder) = (Fold::new(), wire.decoder(&Dialect::default()));
    let mut take = |frame: Frame<'_>| match frame {
        Frame::Event(event) => decoder.message(event.event, event.data, &mut fold),
        Frame::Comment | Frame::Problem(_) => panic!("{frame:?}"),
    };
    framer.push(bytes, &mut take);
    framer.end(&mut take);
    decoder.end(&mut fold);
    fold.finish()
}

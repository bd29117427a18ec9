//! Tests of this wire; recorded traffic is tested for all wires together.

mod encode;
mod request;
mod stream;

use super::Messages;
use crate::answer::Answer;
use crate::content::{Block, Thinking};
use crate::event::{Event, Fold};
use crate::frame::Frame;
use crate::frame::sse::SseDecoder;
use crate::json::Doc;
use crate::problem::ProblemCode;
use crate::wire::{Dialect, Wire};

/// A stream's answer from the data of its events.
fn stream(events: &[&str]) -> Answer {
    let mut fold = Fold::new();
    let mut decoder = Messages.decoder(&Dialect::default());
    for event in events {
        decoder.message(None, event, &mut fold);
    }
    decoder.end(&mut fold);
    fold.finish()
}

/// A whole response's answer.
fn whole(body: &str) -> Answer {
    let mut fold = Fold::new();
    let doc = Doc::parse_str(body).unwrap();
    Messages.read_response(doc.root(), &Dialect::default(), &mut fold);
    fold.finish()
}

/// The encoder's output for the events of `say`.
fn encode(say: impl FnOnce(&mut dyn FnMut(Event<'_>))) -> String {
    let mut encoder = Messages.encoder();
    let mut out = Vec::new();
    say(&mut |event| encoder.event(event, &mut out));
    encoder.end(&mut out);
    String::from_utf8(out).unwrap()
}

/// The answer in bytes of a stream.
fn decode(bytes: &str) -> Answer {
    let mut fold = Fold::new();
    let mut decoder = Messages.decoder(&Dialect::default());
    let mut framer = SseDecoder::default();
    let mut take = |frame: Frame<'_>| match frame {
        Frame::Event(event) => decoder.message(event.event, event.data, &mut fold),
        Frame::Comment | Frame::Problem(_) => panic!("{frame:?}"),
    };
    framer.push(bytes.as_bytes(), &mut take);
    framer.end(&mut take);
    decoder.end(&mut fold);
    fold.finish()
}

fn thoughts(answer: &Answer) -> Vec<&Thinking> {
    let blocks = answer.blocks.iter();
    blocks.filter_map(|block| if let Block::Thinking(t) = block { Some(t) } else { None }).collect()
}

fn codes(answer: &Answer) -> Vec<ProblemCode> {
    answer.problems.iter().map(|problem| problem.code).collect()
}

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"cache_read_input_tokens":4,"output_tokens":1,"service_tier":"standard"}}}"#;
const DELTA: &str = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

//! Laws of every wire in the registry; a new wire is under them without a line here.

use std::borrow::Cow;

use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, ToolCall};
use thinkthrough_core::event::Fold;
use thinkthrough_core::frame::{Frame, Framer};
use thinkthrough_core::wire::{self, Decode, Dialect, Wire};
use thinkthrough_json::{Doc, Val};

use super::documents::document;
use super::faces::Way;
use super::random::pieces;

pub(crate) const STREAM_WORDS: &[&[u8]] = &[
    b"data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"a\"}}]}\n\n",
    b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n",
    b"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\n",
    b"data: [DONE]\n\n",
    b"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
    b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"x\"}}\n\n",
    b"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"s\"}}\n\n",
    b"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    b"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    b"event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}}\n\n",
    b"event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"e\"}}\n\n",
    b"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"output\":[]}}\n\n",
    b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"t\",\"thought\":true,\"thoughtSignature\":\"s\"}]}}]}\n\n",
    b"{\"message\":{\"role\":\"assistant\",\"thinking\":\"t\"},\"done\":false}\n",
    b"{\"message\":{\"role\":\"assistant\",\"content\":\"c\"},\"done\":true,\"done_reason\":\"stop\"}\n",
    b"data: {", b"}\n\n", b"\n\n", b"\"index\":1", b"null", b"\"\"", b"0",
];

/// A decoder is a value: cut anywhere, its events and its state are those of the stream in one piece, and a copy goes
/// on as the original does.
pub(crate) fn streams_are_values(bytes: &[u8]) {
    let &[choice, seed, ref body @ ..] = bytes else { return };
    let Some(wire) = chosen(choice) else { return };
    let (whole, whole_decoder) = decoded(wire, [body]);
    let (split, split_decoder) = decoded(wire, pieces(body, seed));
    assert_eq!(split, whole, "{} in pieces", wire.id());
    assert!(whole_decoder.same(&*split_decoder), "{}: state in pieces", wire.id());
}

/// Any bytes, in any pieces, are the same to all that read answers.
pub(crate) fn faces_agree(bytes: &[u8]) {
    let &[from, to, seed, ref body @ ..] = bytes else { return };
    let (Some(from), Some(to)) = (chosen(from), chosen(to)) else { return };
    let cut = seed.is_multiple_of(8).then_some("connection reset");
    let way = Way { from, to, is_stream: seed % 4 != 1, cut };
    assert_eq!(way.told(&pieces(body, seed)), way.told(&[body]), "{way:?}, in pieces");
}

/// All events, owned, and the decoder before the end. It is replaced by its copy after every message.
fn decoded<'b>(
    wire: &dyn Wire,
    pieces: impl IntoIterator<Item = &'b [u8]>,
) -> (Vec<String>, Box<dyn Decode>) {
    let mut framer = Framer::with_limit(wire.framing(), 1 << 20);
    let mut decoder = wire.decoder(&Dialect::default());
    let mut events = Vec::new();
    let mut fold = Fold::new();
    let mut frame = |frame: Frame<'_>, decoder: &mut Box<dyn Decode>| {
        if let Frame::Event(event) = frame {
            decoder.message(
                event.event,
                event.data,
                &mut |event: thinkthrough_core::event::Event<'_>| {
                    events.push(format!("{event:?}"));
                    thinkthrough_core::event::Sink::event(&mut fold, event);
                },
            );
            let copy = decoder.boxed_clone();
            assert!(copy.same(&**decoder), "a copy equals its original");
            *decoder = copy;
        }
    };
    for piece in pieces {
        framer.push(piece, &mut |event| frame(event, &mut decoder));
    }
    framer.end(&mut |event| frame(event, &mut decoder));
    let state = decoder.boxed_clone();
    let is_complete = decoder.is_complete();
    decoder.end(&mut |event: thinkthrough_core::event::Event<'_>| {
        events.push(format!("{event:?}"));
        thinkthrough_core::event::Sink::event(&mut fold, event);
    });
    let answer = fold.finish();
    assert!(
        is_complete || !answer.is_complete(),
        "{}: cut, and looks complete: {answer:?}",
        wire.id()
    );
    events.push(format!("{answer:?}"));
    (events, state)
}

/// A whole body of any JSON gives an answer, and the answer survives being written and read on the same wire.
pub(crate) fn answers_survive(bytes: &[u8]) {
    let Some((choice, body)) = bytes.split_first() else { return };
    let Some(wire) = chosen(*choice) else { return };
    let body = given_or_spelled(body);
    let Ok(doc) = Doc::parse(body.as_bytes()) else { return };
    let answer = read(wire, doc.root());
    let mut once = rewritten_answer(wire, &answer);
    // Some wires demand ids of calls, and make them for those that came without.
    let mut was = answer.clone();
    let made = calls(&mut once).zip(calls(&mut was)).filter(|(_, was)| was.id.is_none());
    made.for_each(|(call, _)| call.id = None);
    assert_eq!(
        essence(&once),
        essence(&answer),
        "{}: {body} became {}",
        wire.id(),
        wire.write_response(&answer)
    );
    assert_eq!(rewritten_answer(wire, &once).blocks, once.blocks, "{}: a second time", wire.id());
}

/// What no wire may lose of an answer that it read itself: all that was thought and said, and the calls in order.
fn essence(answer: &Answer) -> (String, String, Vec<(Option<String>, String)>) {
    let (mut thought, mut text, mut calls) = (String::new(), String::new(), Vec::new());
    for block in &answer.blocks {
        match block {
            Block::Thinking(thinking) => thought.push_str(&thinking.thought),
            Block::Text(visible) => text.push_str(&visible.text),
            Block::ToolCall(call) => calls.push((call.id.clone(), call.name.clone())),
            _ => {}
        }
    }
    // Separate thoughts that go into one field are joined with one line feed.
    (thought.replace('\n', ""), text, calls)
}

fn calls(answer: &mut Answer) -> impl Iterator<Item = &mut ToolCall> {
    answer.blocks.iter_mut().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        _ => None,
    })
}

fn rewritten_answer(wire: &dyn Wire, answer: &Answer) -> Answer {
    let written = wire.write_response(answer);
    let doc = Doc::parse(written.as_bytes())
        .unwrap_or_else(|error| panic!("{}: {error}: {written}", wire.id()));
    read(wire, doc.root())
}

fn read(wire: &dyn Wire, body: Val<'_>) -> Answer {
    let mut fold = Fold::new();
    wire.read_response(body, &Dialect::default(), &mut fold);
    fold.finish()
}

/// A request that was read and written is JSON, is read again, and is written the same from then on.
pub(crate) fn requests_settle(bytes: &[u8]) {
    let Some((choice, body)) = bytes.split_first() else { return };
    let Some(wire) = chosen(*choice) else { return };
    let body = given_or_spelled(body);
    let Ok(doc) = Doc::parse(body.as_bytes()) else { return };
    let Ok(request) = wire.read_request(doc.root()) else { return };
    let once = rewritten(wire, &wire.write_request(&request, &Dialect::default()).body);
    let twice = rewritten(wire, &once);
    assert_eq!(twice, once, "{}", wire.id());
}

/// A body that is JSON as it is; any other bytes spell a document.
pub(crate) fn given_or_spelled(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if Doc::parse_str(text).is_ok() => Cow::Borrowed(text),
        _ => Cow::Owned(document(bytes)),
    }
}

fn rewritten(wire: &dyn Wire, body: &str) -> String {
    let doc = Doc::parse(body.as_bytes())
        .unwrap_or_else(|error| panic!("{}: {error}: {body}", wire.id()));
    let request = wire.read_request(doc.root());
    let request = request
        .unwrap_or_else(|error| panic!("{} wrote what it refuses: {error}: {body}", wire.id()));
    wire.write_request(&request, &Dialect::default()).body
}

fn chosen(choice: u8) -> Option<&'static dyn Wire> {
    let at = usize::from(choice).checked_rem(wire::ALL.len())?;
    wire::ALL.get(at).copied()
}

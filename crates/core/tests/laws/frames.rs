//! Laws of framing.

use thinkthrough_core::frame::event_stream::{
    EventStreamDecoder, HeaderValue, encode_event as encode_aws, encode_message,
};
use thinkthrough_core::frame::sse::{SseDecoder, encode_event};
use thinkthrough_core::frame::{Frame, Framer, Framing};

use super::random::pieces;

pub(crate) const SSE_WORDS: &[&[u8]] = &[
    b"data: ",
    b"data:",
    b"data",
    b"event: ",
    b"id: ",
    b"retry: 10",
    b": comment",
    b"\n",
    b"\n\n",
    b"\r",
    b"\r\n",
    b"\r\n\r\n",
    b"\xEF\xBB\xBF",
    b"[DONE]",
    b"{\"a\":1}",
    b"\0",
    b"\xE4\xB8",
    b"\xAD",
    b" ",
    b":",
    b"\xFF",
];

pub(crate) const EVENT_STREAM_WORDS: &[&[u8]] = &[
    b"\0\0\0\x10\0\0\0\0\x05\xC2\x48\xEB\x7D\x98\xC8\xFF",
    b":event-type",
    b":message-type",
    b"\x07\0\x05event",
    b"\0\0\0",
    b"{\"a\":1}",
];

/// Server-sent events do not depend on how their bytes were cut, and neither does the decoder's state.
pub(crate) fn sse_splits(bytes: &[u8]) {
    splits(Framing::Sse, bytes);
}

/// JSON lines do not depend on how their bytes were cut.
pub(crate) fn ndjson_splits(bytes: &[u8]) {
    splits(Framing::Ndjson, bytes);
}

/// AWS messages do not depend on how their bytes were cut. Random bytes are no messages, so they are also wrapped.
pub(crate) fn event_stream_splits(bytes: &[u8]) {
    splits(Framing::EventStream, bytes);
    let (options, body) = bytes.split_at(bytes.len().min(2));
    let mut wrapped = options.to_vec();
    for (number, part) in (0..).zip(body.chunks(40)) {
        let headers = [(":event-type", HeaderValue::Str("chunk")), ("n", HeaderValue::Int(number))];
        encode_message(&headers, part, &mut wrapped).expect("forty bytes fit");
        // Damage of a few bytes in some messages.
        if part.first().is_some_and(|first| *first < 32) {
            let at = wrapped.len() - 1 - part.len() / 2;
            wrapped[at] ^= 0x55;
        }
    }
    splits(Framing::EventStream, &wrapped);
}

fn splits(framing: Framing, bytes: &[u8]) {
    let &[limit, seed, ref body @ ..] = bytes else { return };
    let limit = match limit {
        0..32 => usize::from(limit),
        _ => 1 << 20,
    };
    let fresh = Framer::with_limit(framing, limit);
    let (whole, whole_state) = framed(&fresh, [body]);
    let (split, split_state) = framed(&fresh, pieces(body, seed));
    assert_eq!(split, whole, "{framing:?} in pieces, limit {limit}");
    assert_eq!(split_state, whole_state, "state in pieces");
    let (single, single_state) = framed(&fresh, body.chunks(1));
    assert_eq!(single, whole, "{framing:?} byte by byte, limit {limit}");
    assert_eq!(single_state, whole_state, "state byte by byte");
}

/// All frames, owned, and the decoder's state before the end.
fn framed<'b>(fresh: &Framer, pieces: impl IntoIterator<Item = &'b [u8]>) -> (Vec<String>, Framer) {
    let mut framer = fresh.clone();
    let mut frames = Vec::new();
    for piece in pieces {
        framer.push(piece, &mut |frame| frames.push(format!("{frame:?}")));
    }
    let state = framer.clone();
    framer.end(&mut |frame| frames.push(format!("{frame:?}")));
    assert_eq!(framer, *fresh, "after its end a decoder is ready for a new body");
    (frames, state)
}

/// Finished events are those of the standard, read here by its words: whole text, line by line.
pub(crate) fn sse_agrees_with_the_standard(bytes: &[u8]) {
    let mut events = Vec::new();
    let mut decoder = SseDecoder::default();
    let mut collect = |frame: Frame<'_>| {
        if let Frame::Event(event) = frame
            && !event.unterminated
        {
            let name = event.event.unwrap_or_default().to_owned();
            events.push((name, event.data.to_owned(), event.id.to_owned()));
        }
    };
    decoder.push(bytes, &mut collect);
    decoder.end(&mut collect);
    assert_eq!(events, by_the_standard(bytes));
}

fn by_the_standard(bytes: &[u8]) -> Vec<(String, String, String)> {
    let text =
        String::from_utf8_lossy(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)).into_owned();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (mut name, mut data, mut id) = (String::new(), String::new(), String::new());
    let mut events = Vec::new();
    // What follows the last line end is no line yet.
    let Some((lines, _)) = text.rsplit_once('\n') else { return events };
    for line in lines.split('\n') {
        if line.is_empty() {
            if let Some(data) = data.strip_suffix('\n') {
                events.push((name.clone(), data.to_owned(), id.clone()));
            }
            (name, data) = (String::new(), String::new());
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data.extend([value, "\n"]),
            "event" => value.clone_into(&mut name),
            "id" if !value.contains('\0') => value.clone_into(&mut id),
            _ => {}
        }
    }
    events
}

/// What is written as a server-sent event is read as it was, but for line ends of other kinds.
pub(crate) fn sse_written_is_read(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (name, data) = named(&text);
    let mut body = Vec::new();
    encode_event(Some(name), data, &mut body);
    let mut read = Vec::new();
    SseDecoder::default().push(&body, &mut |frame| match frame {
        Frame::Event(event) => {
            read.push((event.event.unwrap_or_default().to_owned(), event.data.to_owned()));
        }
        Frame::Comment | Frame::Problem(_) => panic!("{frame:?}"),
    });
    let name = name.replace(['\n', '\r'], "");
    // A space after the colon belongs to the field, and the writer puts one.
    let data = data.replace("\r\n", "\n").replace('\r', "\n");
    assert_eq!(read, [(name, data)]);
}

/// What is written as an AWS message is read as it was.
pub(crate) fn event_stream_written_is_read(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (name, json) = named(&text);
    let mut body = Vec::new();
    encode_aws(name, json, &mut body).expect("some kilobytes fit");
    let mut read = Vec::new();
    EventStreamDecoder::default().push(&body, &mut |frame| match frame {
        Frame::Event(event) => {
            read.push((event.event.unwrap_or_default().to_owned(), event.data.to_owned()));
        }
        Frame::Comment | Frame::Problem(_) => panic!("{frame:?}"),
    });
    assert_eq!(read, [(name.to_owned(), json.to_owned())]);
}

/// The start of a text as a name, and the rest.
fn named(text: &str) -> (&str, &str) {
    let at = text.char_indices().nth(text.len() / 16).map_or(0, |(at, _)| at);
    text.split_at(at)
}

//! Passes a stream on up to its last complete event.
//!
//! A reader can do nothing with half an event, so holding it back costs no time. And if the upstream breaks off in
//! the middle of an event, the gateway's own error event begins at an event boundary. The length of an event is
//! limited before it comes here, which also limits the bytes held back.

use bytes::{Bytes, BytesMut};
use thinkthrough_core::event::Event;
use thinkthrough_core::frame::Framing;
use thinkthrough_core::read::{Form, Reader};
use thinkthrough_core::wire::{Dialect, Wire};

/// Holds back an incomplete event.
#[derive(Debug)]
pub(crate) struct WholeEvents {
    framing: Framing,
    begun: BytesMut,
    /// The bytes of `begun` that were already searched, so that a long event is not searched again with each chunk.
    reporter: usize,
}

impl WholeEvents {
    pub(crate) fn new(framing: Framing) -> Self {
        WholeEvents { framing, begun: BytesMut::new(), reporter: 0 }
    }

    /// Adds bytes, and returns all complete events. It copies only if an event spans several chunks.
    pub(crate) fn take(&mut self, mut bytes: Bytes) -> Bytes {
        if self.begun.is_empty() {
            let whole = bytes.split_to(self.end(&bytes, 0));
            self.begun.extend_from_slice(&bytes);
            self.reporter = self.begun.len();
            return whole;
        }
        self.begun.extend_from_slice(&bytes);
        let whole = self.begun.split_to(self.end(&self.begun, self.reporter));
        self.reporter = self.begun.len();
        whole.freeze()
    }

    /// The number of bytes that may go on.
    fn end(&self, bytes: &[u8], reporter: usize) -> usize {
        self.boundary(bytes, reporter).unwrap_or_default()
    }

    /// The bytes after the last complete event, for a stream with a proper end.
    pub(crate) fn rest(&mut self) -> Bytes {
        self.begun.split().freeze()
    }

    /// The end of the last complete event. No event ends before `reporter`.
    fn boundary(&self, bytes: &[u8], reporter: usize) -> Option<usize> {
        match self.framing {
            Framing::Ndjson => bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1),
            Framing::Sse => {
                let ends = |at: &usize| {
                    let head = bytes.get(..*at).unwrap_or_default();
                    [&b"\n\n"[..], b"\n\r\n", b"\r\r"].iter().any(|end| head.ends_with(end))
                };
                (reporter..=bytes.len()).rev().find(ends)
            }
            // The gateway never relays an array.
            Framing::Array => Some(bytes.len()),
            // Its messages contain their own length, so that the reader recognises a broken one.
            Framing::EventStream => Some(bytes.len()),
        }
    }
}

/// The events before the wire's final message.
pub(crate) fn before_last(wire: &'static dyn Wire, bytes: &Bytes) -> Bytes {
    let mut reader = Reader::new(wire, &Dialect::PLAIN, Form::Stream);
    let is_line = wire.framing() == Framing::Ndjson;
    let (mut start, mut at) = (0, 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        reader.push(line, &mut |_: Event<'_>| {});
        if reader.is_over() {
            return bytes.slice(..start);
        }
        at += line.len();
        if is_line || line.trim_ascii().is_empty() {
            start = at;
        }
    }
    bytes.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b_5_the_last_message_goes_with_all_of_its_fields() {
        let wire = thinkthrough_core::wire::find("chat-completions").unwrap();
        for (stream, expected) in [
            ("data: {}\r\n\r\nevent: end\r\ndata: [DONE]\r\n\r\ndata: x\n\n", "data: {}\r\n\r\n"),
            (": c\n\ndata:[DONE]\n\n", ": c\n\n"),
            ("data: [DONE]\n\n", ""),
            ("data: {}\n\n", "data: {}\n\n"),
        ] {
            assert_eq!(before_last(wire, &Bytes::from_static(stream.as_bytes())), expected);
        }
    }

    #[test]
    fn nothing_but_whole_events_goes_on_and_nothing_is_lost() {
        let sse = "event: a\r\ndata: 1\r\n\r\ndata: 2\n\n: c\n\ndata: 3\r\rdata: 4";
        let lines = "{\"a\":1}\n{\"b\":2}\n{\"c\"";
        for (framing, text, rest) in
            [(Framing::Sse, sse, "data: 4"), (Framing::Ndjson, lines, "{\"c\"")]
        {
            for size in 1..text.len() {
                let (mut events, mut out) = (WholeEvents::new(framing), Vec::new());
                for chunk in text.as_bytes().chunks(size) {
                    out.extend_from_slice(&events.take(Bytes::copy_from_slice(chunk)));
                    assert!(text.as_bytes().starts_with(&out));
                }
                assert_eq!(out, text.strip_suffix(rest).unwrap().as_bytes(), "{size}");
                assert_eq!(events.rest(), rest);
            }
        }
    }
}

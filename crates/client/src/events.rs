//! Counts the lines and events of a stream as its bytes go by, so that an endless line or event is noticed before it
//! is stored.

use crate::config::AnswerCaps;
use crate::error::Excess;

/// How a stream is cut into events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Events {
    /// Server-sent events: lines, and an empty one ends an event.
    Lines,
    /// One line an event.
    Ndjson,
    /// Messages that say their own length in their first four bytes.
    Sized,
}

/// Counts lines, events and their bytes.
#[derive(Debug)]
pub(crate) struct Gauge {
    events: Events,
    caps: AnswerCaps,
    line: usize,
    event: usize,
    count: usize,
    /// The last byte ended a line and may be the first of two that do.
    is_after_return: bool,
    /// The length of a message, as far as it came.
    length: Vec<u8>,
    /// The bytes of the message that are still to come.
    left: usize,
    /// How many bytes of the last piece belong to finished events.
    over: usize,
    /// The body is no stream of messages that say their length.
    is_none: bool,
}

impl Gauge {
    pub(crate) fn new(events: Events, caps: AnswerCaps) -> Self {
        Gauge {
            events,
            caps,
            line: 0,
            event: 0,
            count: 0,
            is_after_return: false,
            length: Vec::new(),
            left: 0,
            over: 0,
            is_none: false,
        }
    }

    /// Counts the next bytes. Returns the exceeded limit as an error.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), (Excess, usize)> {
        self.over = 0;
        match self.events {
            Events::Lines | Events::Ndjson => self.lines(bytes),
            Events::Sized => self.messages(bytes),
        }
    }

    /// How many of the bytes that were taken last belong to events that are over, and within every limit.
    pub(crate) fn over(&self) -> usize {
        self.over
    }

    /// How many bytes of an event came whose end did not come yet.
    pub(crate) fn unfinished(&self) -> usize {
        match self.events {
            Events::Lines | Events::Ndjson => self.event,
            Events::Sized => self.event.saturating_sub(self.left),
        }
    }

    fn lines(&mut self, mut bytes: &[u8]) -> Result<(), (Excess, usize)> {
        let all = bytes.len();
        // An empty piece does not tell whether a line feed follows the carriage return.
        if !bytes.is_empty() && std::mem::take(&mut self.is_after_return) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        let ends = |byte: &u8| *byte == b'\n' || *byte == b'\r';
        while let Some(at) = bytes.iter().position(ends) {
            self.grow(at)?;
            let (line, rest) = bytes.split_at(at);
            let is_return = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            if is_return {
                self.is_after_return = bytes.is_empty();
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            let is_empty = self.line == 0 && line.is_empty();
            self.line = 0;
            if is_empty || self.events == Events::Ndjson {
                self.end()?;
                self.over = all - bytes.len();
            }
        }
        self.grow(bytes.len())
    }

    fn grow(&mut self, by: usize) -> Result<(), (Excess, usize)> {
        self.line += by;
        self.event += by;
        if self.line > self.caps.line {
            return Err((Excess::Line, self.caps.line));
        }
        self.within_event()
    }

    fn within_event(&self) -> Result<(), (Excess, usize)> {
        let limit = self.caps.event;
        if self.event > limit { Err((Excess::Event, limit)) } else { Ok(()) }
    }

    /// Ends an event. An empty event does not count.
    fn end(&mut self) -> Result<(), (Excess, usize)> {
        self.count += usize::from(self.event > 0);
        self.event = 0;
        let limit = self.caps.events;
        if self.count > limit { Err((Excess::Events, limit)) } else { Ok(()) }
    }

    fn messages(&mut self, mut bytes: &[u8]) -> Result<(), (Excess, usize)> {
        let all = bytes.len();
        while !bytes.is_empty() {
            if self.left == 0 {
                if self.length.is_empty() {
                    self.over = all - bytes.len();
                    // No message has 16 MiB, so this is a text or a page in place of messages. The reader of the body
                    // reports it.
                    self.is_none |= bytes.first().is_some_and(|first| *first != 0);
                }
                if self.is_none {
                    return Ok(());
                }
                let missing = 4 - self.length.len();
                let (length, rest) = bytes.split_at(missing.min(bytes.len()));
                self.length.extend_from_slice(length);
                bytes = rest;
                let Ok(length) = <[u8; 4]>::try_from(self.length.as_slice()) else { return Ok(()) };
                self.length.clear();
                self.event = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                self.within_event()?;
                // The reader of the body reports a message that is shorter than its own head.
                self.left = self.event.saturating_sub(length.len());
                self.end()?;
            }
            let (_, rest) = bytes.split_at(self.left.min(bytes.len()));
            self.left -= bytes.len() - rest.len();
            bytes = rest;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the exceeded limit of a stream, which must be the same for all cuts.
    fn excess(events: Events, caps: AnswerCaps, stream: &[u8]) -> Option<Excess> {
        let mut all = (1..=stream.len()).map(|size| {
            let mut gauge = Gauge::new(events, caps);
            let mut pieces = stream.chunks(size);
            pieces.find_map(|piece| gauge.take(piece).err()).map(|(what, _)| what)
        });
        let first = all.next().unwrap();
        assert!(all.all(|one| one == first), "{:?}", String::from_utf8_lossy(stream));
        first
    }

    fn caps(line: usize, event: usize, events: usize) -> AnswerCaps {
        AnswerCaps { line, event, events, ..AnswerCaps::default() }
    }

    #[test]
    fn t_23_lines_and_events_are_counted_however_they_are_cut_and_ended() {
        for end in ["\n", "\r", "\r\n"] {
            let stream = "data: 12345\ndata: 1\n\n\ndata: 2\n\n".replace('\n', end);
            for (caps, expected) in [
                (caps(11, 18, 2), None),
                (caps(10, 18, 2), Some(Excess::Line)),
                (caps(11, 17, 2), Some(Excess::Event)),
                (caps(11, 18, 1), Some(Excess::Events)),
            ] {
                assert_eq!(excess(Events::Lines, caps, stream.as_bytes()), expected, "{end:?}");
            }
        }
        let lines = b"{\"a\":1}\n{}\n\n";
        assert_eq!(excess(Events::Ndjson, caps(7, 7, 2), lines), None);
        assert_eq!(excess(Events::Ndjson, caps(6, 7, 2), lines), Some(Excess::Line));
        assert_eq!(excess(Events::Ndjson, caps(7, 7, 1), lines), Some(Excess::Events));
    }

    #[test]
    fn t_23_what_came_before_is_told_apart() {
        let stream = b"data: 1\n\ndata: 2\r\n\r\ndata: 3\n\n";
        let mut gauge = Gauge::new(Events::Lines, caps(99, 99, 2));
        assert_eq!(gauge.take(stream), Err((Excess::Events, 2)));
        assert_eq!(stream.get(..gauge.over()), Some(&b"data: 1\n\ndata: 2\r\n\r\n"[..]));
        let stream = [6_u32.to_be_bytes(), [1, 2, 0, 0], [0, 9, 1, 1]].concat();
        let mut gauge = Gauge::new(Events::Sized, caps(99, 8, 9));
        assert_eq!(gauge.take(&stream), Err((Excess::Event, 8)));
        assert_eq!(gauge.over(), 6);
    }

    #[test]
    fn t_23_a_piece_without_bytes_ends_no_event() {
        let mut gauge = Gauge::new(Events::Lines, caps(99, 99, 1));
        for piece in [&b"data: 1\r"[..], b"", b"\ndata: 2", b"\r", b"", b"", b"\n"] {
            assert_eq!((gauge.take(piece), gauge.over()), (Ok(()), 0));
        }
        assert_eq!((gauge.take(b"\r\n"), gauge.over()), (Ok(()), 2));
    }

    #[test]
    fn t_23_messages_say_their_own_length() {
        let message = [&9_u32.to_be_bytes()[..], b"12345"].concat();
        let stream = message.repeat(3);
        assert_eq!(excess(Events::Sized, caps(1, 9, 3), &stream), None);
        assert_eq!(excess(Events::Sized, caps(1, 8, 3), &stream), Some(Excess::Event));
        assert_eq!(excess(Events::Sized, caps(1, 9, 2), &stream), Some(Excess::Events));
        // A body that is no such stream, and a length that cannot be, make no trouble here.
        assert_eq!(excess(Events::Sized, caps(1, 9, 3), b"Hello, this is a page."), None);
        assert_eq!(excess(Events::Sized, caps(1, 9, 9), &[0; 12]), None);
    }
}

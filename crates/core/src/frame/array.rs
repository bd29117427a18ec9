//! A JSON array whose elements arrive one by one, the form of Google's streams without server-sent events.

use super::{Event, Frame, FrameProblem, recycle, text};

/// Reads the elements of one array from pushed bytes.
///
/// The decoder skips all bytes around the array. An element that the end of the body cuts off is dropped, because its
/// reader could not read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayDecoder {
    limit: usize,
    place: Place,
    /// The element that has begun.
    element: Vec<u8>,
    is_too_long: bool,
}

/// The place in the body at which the last push ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the array or behind it.
    Outside,
    /// Between elements.
    Between,
    /// In an element, at this depth of objects and arrays.
    Element { depth: usize },
    /// In a string of an element, right behind a backslash or not.
    Text { depth: usize, is_escaped: bool },
}

impl ArrayDecoder {
    /// A decoder at the start of a body whose elements may have `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { limit, place: Place::Outside, element: Vec::new(), is_too_long: false }
    }

    /// Reads the next bytes of the body and hands out every element that they complete.
    pub fn push(&mut self, bytes: &[u8], out: &mut dyn FnMut(Frame<'_>)) {
        for byte in bytes {
            self.byte(*byte, out);
        }
    }

    /// Ends the body, and starts afresh.
    pub fn end(&mut self) {
        *self = Self::with_limit(self.limit);
    }

    fn byte(&mut self, byte: u8, out: &mut dyn FnMut(Frame<'_>)) {
        match self.place {
            Place::Outside if byte == b'[' => self.place = Place::Between,
            Place::Outside => {}
            Place::Between => match byte {
                b']' => self.place = Place::Outside,
                b',' | b' ' | b'\t' | b'\r' | b'\n' => {}
                _ => {
                    self.place = Place::Element { depth: 0 };
                    self.element_byte(byte, 0, out);
                }
            },
            Place::Element { depth } => self.element_byte(byte, depth, out),
            Place::Text { depth, is_escaped } => {
                self.keep(byte, out);
                self.place = match byte {
                    b'"' if !is_escaped => Place::Element { depth },
                    _ => Place::Text { depth, is_escaped: byte == b'\\' && !is_escaped },
                };
            }
        }
    }

    /// A byte of an element that is outside its strings.
    fn element_byte(&mut self, byte: u8, depth: usize, out: &mut dyn FnMut(Frame<'_>)) {
        if depth == 0 && matches!(byte, b',' | b']') {
            self.hand_out(out);
            self.place = if byte == b',' { Place::Between } else { Place::Outside };
            return;
        }
        self.keep(byte, out);
        self.place = match byte {
            b'"' => Place::Text { depth, is_escaped: false },
            b'{' | b'[' => Place::Element { depth: depth + 1 },
            b'}' | b']' if depth <= 1 => {
                self.hand_out(out);
                Place::Between
            }
            b'}' | b']' => Place::Element { depth: depth - 1 },
            _ => Place::Element { depth },
        };
    }

    fn keep(&mut self, byte: u8, out: &mut dyn FnMut(Frame<'_>)) {
        if self.element.len() < self.limit {
            self.element.push(byte);
        } else if !std::mem::replace(&mut self.is_too_long, true) {
            out(Frame::Problem(FrameProblem::TooLong { limit: self.limit }));
        }
    }

    fn hand_out(&mut self, out: &mut dyn FnMut(Frame<'_>)) {
        let is_too_long = std::mem::take(&mut self.is_too_long);
        let (data, damaged) = text(&self.element, is_too_long);
        let data = data.trim_ascii();
        if !data.is_empty() {
            let event = Event { data, truncated: is_too_long, damaged, ..Event::default() };
            out(Frame::Event(event));
        }
        recycle(&mut self.element);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> Vec<String> {
        let (mut decoder, mut all) = (ArrayDecoder::with_limit(64), Vec::new());
        for piece in pieces {
            decoder.push(piece.as_bytes(), &mut |frame| match frame {
                Frame::Event(event) => all.push(event.data.to_owned()),
                Frame::Problem(problem) => all.push(problem.to_string()),
                Frame::Comment => {}
            });
        }
        all
    }

    #[test]
    fn elements_come_whole_however_the_body_is_cut() {
        let body = " [{\"a\": \"]},\\\"{\"},\r\n[1,[2]]\n, 7 ,\"x\" ] ";
        let expected = ["{\"a\": \"]},\\\"{\"}", "[1,[2]]", "7", "\"x\""];
        assert_eq!(read(&[body]), expected);
        for cut in 0..body.len() {
            let (head, tail) = body.split_at(cut);
            assert_eq!(read(&[head, tail]), expected, "{cut}");
        }
        assert_eq!(read(&["[]"]), [""; 0]);
        assert_eq!(read(&["[{\"a\":1},{\"b\""]), ["{\"a\":1}"]);
    }

    #[test]
    fn an_element_beyond_the_limit_is_said_once() {
        let all = read(&["[\"", &"x".repeat(100), "\",1]"]);
        assert_eq!(all.first().map(String::as_str), Some("an event is longer than 64 bytes"));
        assert_eq!(all.len(), 3, "{all:?}");
    }
}

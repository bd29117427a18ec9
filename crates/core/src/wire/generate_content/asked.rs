//! The other forms in which a caller may ask for its answer: an array in place of events, numbers in place of names.

use super::{GenerateContent, names};
use crate::answer::Answer;
use crate::content::Other;
use crate::event::{Event, Sink};
use crate::json::Val;
use crate::request::Request;
use crate::wire::headers::Headers;
use crate::wire::resource::Resources;
use crate::wire::{Decode, Dialect, Encode, ErrorBody, Framing, RequestError, Wire, Written};

/// The wire for callers of another form. Requests are the same.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// Streams are arrays of chunks.
    list: bool,
    /// Enumerations are numbers.
    numbers: bool,
}

/// The wire whose answers have this form.
#[must_use]
pub fn asked(list: bool, numbers: bool) -> &'static dyn Wire {
    match (list, numbers) {
        (false, false) => &GenerateContent,
        (false, true) => &Asked { list: false, numbers: true },
        (true, false) => &Asked { list: true, numbers: false },
        (true, true) => &Asked { list: true, numbers: true },
    }
}

impl Wire for Asked {
    fn id(&self) -> &'static str {
        GenerateContent.id()
    }

    fn framing(&self) -> Framing {
        if self.list { Framing::Array } else { Framing::Sse }
    }

    fn is_plain(&self) -> bool {
        false
    }

    fn joins_results(&self) -> bool {
        GenerateContent.joins_results()
    }

    fn path(&self, model: &str, stream: bool) -> String {
        GenerateContent.path(model, stream)
    }

    fn read_request(&self, body: Val<'_>) -> Result<Request, RequestError> {
        GenerateContent.read_request(body)
    }

    fn write_request(&self, request: &Request, dialect: &Dialect) -> Written {
        GenerateContent.write_request(request, dialect)
    }

    fn answer_members(&self) -> &'static [&'static str] {
        GenerateContent.answer_members()
    }

    fn is_answer(&self, body: Val<'_>) -> bool {
        GenerateContent.is_answer(body)
    }

    fn read_response(&self, body: Val<'_>, dialect: &Dialect, sink: &mut dyn Sink) {
        GenerateContent.read_response(body, dialect, sink);
    }

    fn decoder(&self, dialect: &Dialect) -> Box<dyn Decode> {
        GenerateContent.decoder(dialect)
    }

    fn write_response(&self, answer: &Answer) -> String {
        let whole = GenerateContent.write_response(answer);
        if self.numbers { names::numbered(&whole) } else { whole }
    }

    fn encoder(&self) -> Box<dyn Encode> {
        let inner = GenerateContent.encoder();
        Box::new(Encoder { asked: *self, inner, has_begun: false, events: Vec::new() })
    }

    fn is_thought(&self, other: &Other) -> bool {
        GenerateContent.is_thought(other)
    }

    fn write_error(&self, error: &ErrorBody) -> String {
        GenerateContent.write_error(error)
    }

    fn caps(&self) -> &'static [&'static str] {
        GenerateContent.caps()
    }

    fn resources(&self) -> Resources {
        GenerateContent.resources()
    }

    fn headers(&self) -> Headers {
        GenerateContent.headers()
    }
}

/// Brings the events of the usual encoder into the form that was asked for.
#[derive(Debug)]
struct Encoder {
    asked: Asked,
    inner: Box<dyn Encode>,
    has_begun: bool,
    /// Memory for events.
    events: Vec<u8>,
}

impl Encode for Encoder {
    fn go_on(&mut self, answer: &Answer, said: Option<u64>) {
        self.inner.go_on(answer, said);
    }

    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        self.inner.event(event, &mut self.events);
        self.write(out);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.inner.end(&mut self.events);
        self.write(out);
        if self.asked.list {
            out.extend_from_slice(if self.has_begun { b"\n]" } else { b"[]" });
        }
    }
}

impl Encoder {
    fn write(&mut self, out: &mut Vec<u8>) {
        let events = std::mem::take(&mut self.events);
        let events = String::from_utf8_lossy(&events);
        // The usual encoder writes each chunk on one line.
        for chunk in events.lines().filter_map(|line| line.strip_prefix("data: ")) {
            let numbered = self.asked.numbers.then(|| names::numbered(chunk));
            let chunk = numbered.as_deref().unwrap_or(chunk);
            match (self.asked.list, std::mem::replace(&mut self.has_begun, true)) {
                (true, false) => out.push(b'['),
                (true, true) => out.extend_from_slice(b",\n"),
                (false, _) => out.extend_from_slice(b"data: "),
            }
            out.extend_from_slice(chunk.as_bytes());
            if !self.asked.list {
                out.extend_from_slice(b"\n\n");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Pipeline, ToCaller};
    use crate::read::{Form, Reader};

    const CHUNKS: [&str; 2] = [
        r#"{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"index":0}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}]}"#,
    ];

    fn relayed(list: bool, numbers: bool) -> String {
        let reader = Reader::new(&GenerateContent, &Dialect::PLAIN, Form::Stream);
        let caller = ToCaller::written(asked(list, numbers), true, ());
        let (mut pipeline, mut out) = (Pipeline::with(reader, caller), Vec::new());
        for chunk in CHUNKS {
            let event = format!("data: {chunk}\n\n");
            pipeline.push(event.as_bytes(), &mut out, &mut |_: Event<'_>| {});
        }
        let _ended = pipeline.end(None, &mut out, &mut |_: Event<'_>| {});
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn b_2_a_caller_gets_a_stream_in_the_form_that_it_asked_for() {
        let [first, last] = CHUNKS;
        let number = last.replace("\"STOP\"", "1");
        assert_eq!(relayed(false, false), format!("data: {first}\n\ndata: {last}\n\n"));
        assert_eq!(relayed(false, true), format!("data: {first}\n\ndata: {number}\n\n"));
        assert_eq!(relayed(true, false), format!("[{first},\n{last}\n]"));
        assert_eq!(relayed(true, true), format!("[{first},\n{number}\n]"));
    }
}

//! The caller's side of an answer, also of an answer that broke off.

use super::{End, Ended, Output, Pipeline};
use crate::answer::Answer;
use crate::event::{Event, Fact};
use crate::frame::Framing;
use crate::problem::{Problem, ProblemCode};
use crate::read::{Form, Reader};
use crate::wire::{Dialect, Encode, ErrorBody, Wire, error};
use std::borrow::Cow;
use std::fmt;

/// Changes an answer on its way to its caller. The default methods change nothing.
pub trait Adjust: fmt::Debug {
    /// Reports that the response is a refusal. Its bytes and events stay unchanged.
    fn refused(&mut self) {}

    /// Appends the caller's form of relayed bytes. The default appends none, and the driver passes on the originals.
    fn bytes(&mut self, _bytes: &[u8], _out: &mut Vec<u8>) {}

    /// Appends the bytes that were held back until now.
    fn rest(&mut self, _out: &mut Vec<u8>) {}

    /// Passes on an event of a newly written answer, changed for the caller, or drops it.
    fn event(&mut self, event: Event<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        pass(event);
    }

    /// Changes the whole answer for the caller.
    fn answer<'a>(&mut self, answer: &'a Answer) -> Cow<'a, Answer> {
        Cow::Borrowed(answer)
    }
}

/// Changes nothing.
impl Adjust for () {}

/// Gives an answer to its caller: the upstream's own bytes, or a newly written answer.
///
/// An answer that broke off never looks complete. Its stream ends with one error of the wire, with the more precise
/// reason: the transport's, else the decoder's. If the answer is one value and the wire has a place for both, the error
/// is beside the content; else the value is the error alone.
#[derive(Debug)]
pub struct ToCaller<A> {
    wire: &'static dyn Wire,
    /// The caller asked for a stream, and the response is not a refusal.
    is_stream: bool,
    /// Writes the answer anew; `None` if it is relayed.
    encoder: Option<Box<dyn Encode>>,
    /// The stream has reported a failure.
    is_told: bool,
    /// The number of the upstream's last event, if it numbers its events.
    said: Option<u64>,
    adjust: A,
}

impl<A: Adjust> ToCaller<A> {
    /// Relays the upstream's own bytes. If `adjust` edits no bytes, the driver passes them on.
    #[must_use]
    pub fn relayed(wire: &'static dyn Wire, is_stream: bool, adjust: A) -> Self {
        ToCaller { wire, is_stream, encoder: None, is_told: false, said: None, adjust }
    }

    /// Writes the answer on the caller's wire.
    #[must_use]
    pub fn written(wire: &'static dyn Wire, is_stream: bool, adjust: A) -> Self {
        let encoder = Some(wire.encoder());
        ToCaller { wire, is_stream, encoder, is_told: false, said: None, adjust }
    }

    /// Whether the caller gets the upstream's own bytes.
    #[must_use]
    pub fn is_relayed(&self) -> bool {
        self.encoder.is_none()
    }

    /// Writes the answer anew from now on, because the upstream's bytes are not in the caller's form.
    pub(crate) fn write_anew(&mut self) {
        self.encoder.get_or_insert_with(|| self.wire.encoder());
    }

    /// The bytes of ended blocks that the encoder holds until the end of the stream.
    #[must_use]
    pub fn held(&self) -> usize {
        self.encoder.as_ref().map_or(0, |encoder| encoder.held())
    }

    /// The changes to the answer.
    #[must_use]
    pub fn adjust(&self) -> &A {
        &self.adjust
    }

    pub(crate) fn adjust_mut(&mut self) -> &mut A {
        &mut self.adjust
    }

    /// A proper answer as one value on the caller's wire.
    pub fn whole(&mut self, answer: &Answer) -> String {
        self.wire.write_response(&self.adjust.answer(answer))
    }

    fn value(&mut self, ended: &Ended) -> String {
        let Some(failure) = &ended.failure else { return self.whole(&ended.answer) };
        if ended.end == End::Failed && !ended.answer.blocks.is_empty() {
            let body = self.whole(&ended.answer);
            if fails(self.wire, &body) {
                return body;
            }
        }
        let refusal = Problem::new(ProblemCode::UpstreamError, failure.message.as_str());
        let problem = ended.answer.upstream_error().unwrap_or(&refusal);
        let status = Some(failure.status).filter(|_| ended.end == End::Refused);
        self.wire.write_error(&ErrorBody::of(problem, status))
    }
}

impl<A: Adjust> Output for ToCaller<A> {
    fn refused(&mut self) {
        self.is_stream = false;
        self.adjust.refused();
    }

    fn bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.is_relayed() {
            self.adjust.bytes(bytes, out);
        }
    }

    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        if let Event::Fact(Fact::Sequence(said)) = event {
            self.said = Some(said);
        }
        let Some(encoder) = self.encoder.as_mut().filter(|_| self.is_stream) else { return };
        let mut write = |event: Event<'_>| encoder.event(event, out);
        let Event::Problem(problem) = event else { return self.adjust.event(event, &mut write) };
        let was_told = self.is_told;
        self.is_told |= problem.breaks();
        match problem.code {
            ProblemCode::CapReached | ProblemCode::Truncated if was_told => {}
            ProblemCode::CapReached | ProblemCode::Truncated => {
                // Every wire gets an error, even if the missing end alone would show the break.
                let error = broken_off(&problem.message);
                self.adjust.event(Event::Problem(&error), &mut write);
            }
            ProblemCode::Fallback
            | ProblemCode::Malformed
            | ProblemCode::Unknown
            | ProblemCode::UpstreamError => self.adjust.event(event, &mut write),
        }
    }

    fn end(&mut self, ended: &Ended, out: &mut Vec<u8>) {
        match &mut self.encoder {
            Some(encoder) if self.is_stream => encoder.end(out),
            Some(_) => append(out, self.value(ended).into_bytes()),
            None if !self.is_stream => self.adjust.rest(out),
            None => {
                let is_cut = |problem: &&Problem| problem.code == ProblemCode::Truncated;
                let cut = ended.answer.problems.iter().rfind(is_cut);
                // Drops the incomplete last event of a broken stream. The end of a body ends its last line.
                let is_line = self.wire.framing() == Framing::Ndjson && cut.is_none();
                if ended.answer.is_complete() || is_line {
                    self.adjust.rest(out);
                }
                if let Some(cut) = cut.filter(|_| ended.failure.is_none()) {
                    out.extend_from_slice(&error_of(
                        self.wire,
                        (&ended.answer, self.said),
                        &cut.message,
                    ));
                }
            }
        }
    }
}

impl<A: Adjust> Pipeline<Option<ToCaller<A>>> {
    /// The error that ends a stream immediately, if there is no time for the rest of it.
    #[must_use]
    pub fn interrupted(&mut self, why: &str) -> Vec<u8> {
        let Pipeline { reader, fold, output, .. } = self;
        let Some(output) = output else { return Vec::new() };
        if let Some(encoder) = &mut output.encoder {
            let mut out = Vec::new();
            encoder.event(Event::Problem(&broken_off(why)), &mut out);
            encoder.end(&mut out);
            return out;
        }
        let mut said = None;
        reader.clone().end(&mut |event: Event<'_>| {
            if let Event::Fact(Fact::Sequence(number)) = event {
                said = Some(number);
            }
        });
        error_of(output.wire, (&fold.clone().finish(), said), why)
    }
}

/// The error of an answer that broke off. If the gateway cut the answer, the error has a code of its own, so that
/// clients do not blame the upstream.
fn broken_off(message: &str) -> Problem {
    let problem = Problem::new(ProblemCode::UpstreamError, message);
    let word = message.split_once(':').map(|(word, _)| word);
    match word.filter(|word| error::CUT_BY.contains(word)) {
        Some(word) => problem.at(word),
        None => problem,
    }
}

/// The wire's own event for an error in the middle of a stream.
#[must_use]
pub fn error_event(wire: &dyn Wire, message: &str) -> Vec<u8> {
    error_of(wire, (&Answer::default(), None), message)
}

/// The error of a stream that has begun. Clients expect it to have the id and the model of that answer, and the next
/// number, if events have numbers.
fn error_of(wire: &dyn Wire, begun: (&Answer, Option<u64>), message: &str) -> Vec<u8> {
    let (mut out, mut encoder) = (Vec::new(), wire.encoder());
    let (answer, said) = begun;
    encoder.go_on(answer, said);
    encoder.event(Event::Problem(&broken_off(message)), &mut out);
    encoder.end(&mut out);
    out
}

/// Whether a reader of this value sees that the answer failed.
fn fails(wire: &'static dyn Wire, body: &str) -> bool {
    let mut pipeline = Pipeline::new(Reader::new(wire, &Dialect::PLAIN, Form::Whole));
    let mut ignored = |_: Event<'_>| {};
    pipeline.push(body.as_bytes(), &mut Vec::new(), &mut ignored);
    pipeline.end(None, &mut Vec::new(), &mut ignored).end == End::Failed
}

/// Appends bytes. If `out` is empty, it takes over the buffer instead of a copy, because answers are long.
fn append(out: &mut Vec<u8>, mut bytes: Vec<u8>) {
    if out.is_empty() {
        *out = bytes;
    } else {
        out.append(&mut bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::find;

    #[test]
    fn a_stream_that_broke_off_ends_as_the_answer_that_it_began_as() {
        let answer = Answer {
            response_id: Some("resp_1".to_owned()),
            model: Some("m-1".to_owned()),
            ..Answer::default()
        };
        for (wire, names) in [
            ("responses", &["resp_1", "m-1", "response.failed", "it broke"][..]),
            ("chat-completions", &["it broke"]),
            ("messages", &["it broke"]),
        ] {
            let out = error_of(find(wire).unwrap(), (&answer, None), "it broke");
            let out = String::from_utf8(out).unwrap();
            assert!(names.iter().all(|name| out.contains(name)), "{wire}: {out}");
            assert!(!out.contains("response.created"), "{out}");
            let events = if wire == "responses" { 2 } else { 1 };
            assert_eq!(out.matches("data: ").count(), events, "{wire}: {out}");
        }
    }

    #[test]
    fn the_events_that_end_a_relayed_responses_stream_have_the_numbers_that_come_next() {
        let wire = find("responses").unwrap();
        let reader = || Reader::new(wire, &Dialect::PLAIN, Form::Stream);
        let response = r#"{"id":"resp_1","status":"in_progress","model":"m","output":[]}"#;
        let stream = format!(
            "data: {{\"type\":\"response.created\",\"sequence_number\":40,\"response\":{response}}}\n\n\
             data: {{\"type\":\"response.in_progress\",\"sequence_number\":41,\"response\":{response}}}\n\n"
        );
        for (stream, numbers) in [(&*stream, ["42", "43"]), ("", ["0", "1"])] {
            for cut in [None, Some("reasoning_budget_exceeded: it is spent")] {
                let output = Some(ToCaller::relayed(wire, true, ()));
                let mut pipeline = Pipeline::with(reader(), output);
                let mut out = Vec::new();
                pipeline.push(stream.as_bytes(), &mut out, &mut |_: Event<'_>| {});
                let interrupted = pipeline.interrupted("it is being stopped");
                let _ended = pipeline.end(cut, &mut out, &mut |_: Event<'_>| {});
                for out in [out, interrupted] {
                    let out = String::from_utf8(out).unwrap();
                    let said = out.split("\"sequence_number\":").skip(1);
                    let said: Vec<_> = said.filter_map(|rest| rest.split(',').next()).collect();
                    assert_eq!(said, numbers, "{out}");
                }
            }
        }
    }

    #[test]
    fn nothing_follows_the_error_of_a_stream_that_is_written_anew() {
        let start = r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}"#;
        let text =
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
        let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"so far"}}"#;
        let failed = r#"{"type":"error","error":{"type":"overloaded_error","message":"it broke"}}"#;
        for caller in crate::wire::ALL {
            for (events, cut) in [
                (&[start, text, delta, failed][..], None),
                (&[start, text, delta], Some("it broke")),
                (&[start, text, delta], None),
            ] {
                let reader = Reader::new(find("messages").unwrap(), &Dialect::PLAIN, Form::Stream);
                let mut pipeline = Pipeline::with(reader, ToCaller::written(*caller, true, ()));
                let mut out = Vec::new();
                for event in events {
                    let event = format!("data: {event}\n\n");
                    pipeline.push(event.as_bytes(), &mut out, &mut |_: Event<'_>| {});
                }
                let _ended = pipeline.end(cut, &mut out, &mut |_: Event<'_>| {});
                let out = String::from_utf8_lossy(&out);
                let told = if cut.is_some() || events.len() > 3 { "it broke" } else { "ended" };
                let rest = out.rsplit_once(told).map(|(_, rest)| rest);
                let rest = rest.unwrap_or_else(|| panic!("{}: {out}", caller.id()));
                assert!(rest.lines().count() < 3, "{}: {out}", caller.id());
                assert_eq!(rest.matches("data:").count(), 0, "{}: {out}", caller.id());
            }
        }
    }
}

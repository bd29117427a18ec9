//! Response streams.

use super::response::{Blocks, error, fields, finish, head};
use crate::event::{Event, Sink};
use crate::json::Doc;
use crate::problem::{Problem, ProblemCode};
use crate::wire::Decode;

/// Decodes one response stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decoder {
    blocks: Blocks,
    /// Some line was read.
    started: bool,
    /// The line with `done: true` was seen.
    complete: bool,
    /// The provider reported an error.
    failed: bool,
}

impl Decode for Decoder {
    fn message(&mut self, _name: Option<&str>, data: &str, sink: &mut dyn Sink) {
        let doc = match Doc::parse_str(data) {
            Ok(doc) => doc,
            // Proxies put the end mark of another wire behind the last line.
            Err(_) if data.trim() == "[DONE]" => return,
            Err(error) => {
                let message = format!("a line that is no JSON was skipped: {error}");
                return sink.event(Event::Problem(&Problem::new(ProblemCode::Malformed, message)));
            }
        };
        let line = doc.root();
        // Lines after the end do not belong to this answer.
        if self.complete {
            return;
        }
        if line.some("error").is_some() {
            self.failed = true;
            return sink.event(Event::Problem(&error(line)));
        }
        if !line.is_object() {
            let message = "a line that is no object was skipped";
            return sink.event(Event::Problem(&Problem::new(ProblemCode::Unknown, message)));
        }
        self.complete = line.bool("done") == Some(true);
        // Every line repeats the model and its own time; the first and the last one are enough.
        if !std::mem::replace(&mut self.started, true) || self.complete {
            head(line, sink);
        }
        self.blocks.take(line, sink);
        fields(line, sink);
        if self.complete {
            self.blocks.end(false, sink);
            finish(line, sink);
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        self.blocks.end(!self.complete, sink);
        if !self.complete && !self.failed {
            let message = "the stream ended before its line with `done: true`";
            sink.event(Event::Problem(&Problem::new(ProblemCode::Truncated, message)));
        }
    }

    fn is_complete(&self) -> bool {
        self.complete
    }

    crate::wire::decode_is_value!();
}

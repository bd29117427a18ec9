//! What a wire gives back to the simulator's frame: an answer in frames, or a refusal.

use serde_json::Value;

use crate::exchange::SimRequest;
use crate::log::LogEntry;
use crate::seal::Digest;

/// A request on its way through a wire.
pub(crate) struct Visit<'a> {
    /// Id of the simulator.
    pub(crate) id: &'static str,
    /// The name of the model that it claims to serve.
    pub(crate) model: &'static str,
    /// The request.
    pub(crate) request: &'a SimRequest,
    /// The path without the simulator's prefix and without query.
    pub(crate) route: &'a str,
    /// What is seen goes in here.
    pub(crate) log: &'a mut LogEntry,
}

impl Visit<'_> {
    /// The same visit with the request that a hosting platform makes of it.
    pub(crate) fn inside<'a>(&'a mut self, request: &'a SimRequest) -> Visit<'a> {
        let Visit { id, model, log, .. } = self;
        Visit { id, model, request, route: &request.path, log }
    }

    /// Digest of the credential: the account boundary.
    pub(crate) fn account(&self) -> u64 {
        Digest::new("account").text(self.request.credential().unwrap_or_default()).finish()
    }

    /// The hash from which the ids of the answer are made: equal requests get equal ids.
    pub(crate) fn seed(&self) -> Digest {
        Digest::new("answer").text(self.id).bytes(&self.request.body)
    }

    /// Digest of a model name, as payloads are bound to it.
    pub(crate) fn model_digest(model: &str) -> u64 {
        Digest::new("model").text(model).finish()
    }
}

/// An accepted request's answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) content_type: &'static str,
    /// Pieces of the body: events of a stream, or one whole body.
    pub(crate) frames: Vec<Vec<u8>>,
    /// The wire's own error event, for the fault that breaks a stream with one.
    pub(crate) error_event: Vec<u8>,
}

impl Answer {
    /// An answer that is one JSON body.
    pub(crate) fn whole(body: &Value) -> Self {
        Self {
            content_type: "application/json",
            frames: vec![body.to_string().into_bytes()],
            error_event: Vec::new(),
        }
    }

    /// A stream of server-sent events.
    pub(crate) fn events(frames: Vec<String>, error_event: String) -> Self {
        Self::stream("text/event-stream; charset=utf-8", frames, error_event)
    }

    /// A stream of text pieces of another content type.
    pub(crate) fn stream(
        content_type: &'static str,
        frames: Vec<String>,
        error_event: String,
    ) -> Self {
        let frames = frames.into_iter().map(String::into_bytes).collect();
        Self { content_type, frames, error_event: error_event.into_bytes() }
    }
}

/// A refused request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// The sentence that matters, for the log.
    pub(crate) text: String,
    /// The body; a bare string is sent as it is, without quotes.
    pub(crate) body: Value,
}

/// A `data:` event without a name.
pub(crate) fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// A named event.
pub(crate) fn event(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

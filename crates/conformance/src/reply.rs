//! The result of a wire: an answer in frames, or a refusal.

use serde_json::Value;

use crate::exchange::SimRequest;
use crate::log::LogEntry;
use crate::seal::Digest;

/// A request on its way through a wire.
pub(crate) struct Visit<'a> {
    /// Id of the simulator.
    pub(crate) id: &'static str,
    /// The name of the simulated model.
    pub(crate) model: &'static str,
    pub(crate) request: &'a SimRequest,
    /// The path without the simulator's prefix and the query.
    pub(crate) route: &'a str,
    /// The log of the request. Each step of the wire adds to it.
    pub(crate) log: &'a mut LogEntry,
}

impl Visit<'_> {
    /// The same visit with the request that a hosting platform makes of the caller's.
    pub(crate) fn inside<'a>(&'a mut self, request: &'a SimRequest) -> Visit<'a> {
        let Visit { id, model, log, .. } = self;
        Visit { id, model, request, route: &request.path, log }
    }

    /// Digest of the credential, which stands for the account.
    pub(crate) fn account(&self) -> u64 {
        Digest::new("account").text(self.request.credential().unwrap_or_default()).finish()
    }

    /// The seed of all ids in the answer. Equal requests get equal ids.
    pub(crate) fn seed(&self) -> Digest {
        Digest::new("answer").text(self.id).bytes(&self.request.body)
    }

    /// Digest of a model name, for the binding of payloads.
    pub(crate) fn model_digest(model: &str) -> u64 {
        Digest::new("model").text(model).finish()
    }
}

/// The answer to an accepted request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) content_type: &'static str,
    /// Pieces of the body: events of a stream, or one whole body.
    pub(crate) frames: Vec<Vec<u8>>,
    /// The error event of the wire, for a fault that ends a stream with an error.
    pub(crate) error_event: Vec<u8>,
}

impl Answer {
    /// An answer of one JSON body.
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

    /// A stream of text with another content type.
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
    /// The error text, for the log.
    pub(crate) text: String,
    /// The body. A plain string is sent without quotes.
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

//! One event, and its JSON.

use std::sync::Arc;
use thinkthrough_json::Writer;

/// The stream that an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Thoughts and texts of models.
    Thinking,
    /// Thresholds of budgets.
    Budget,
    /// The beginning and end of requests.
    Lifecycle,
}

impl Stream {
    pub(super) const ALL: [&'static str; 3] = ["thinking", "budget", "lifecycle"];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Stream::Thinking => "thinking",
            Stream::Budget => "budget",
            Stream::Lifecycle => "lifecycle",
        }
    }
}

/// The request of an event, with the properties by which listeners choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct About {
    pub(super) trace: String,
    pub(super) session: Option<String>,
    /// The session as it is shown.
    pub(super) shown_session: Option<String>,
    pub(super) run: Option<String>,
    /// The model's name from the caller, and its name at the provider.
    pub(super) asked: String,
    pub(super) model: String,
    pub(super) provider: String,
}

/// A new event. `data` writes its own fields after the trace id.
#[derive(Clone, Copy)]
pub(super) struct Happening<'a> {
    pub(super) stream: Stream,
    pub(super) kind: &'static str,
    pub(super) data: &'a dyn Fn(&mut Writer),
}

/// A stored event. Its id differs from one channel to the other.
pub(super) struct Event {
    pub(super) stream: Stream,
    pub(super) kind: &'static str,
    pub(super) about: Arc<About>,
    /// The JSON after the id.
    rest: String,
}

impl Event {
    pub(super) fn new(at: u64, about: &Arc<About>, happening: Happening<'_>) -> Self {
        let Happening { stream, kind, data } = happening;
        let mut out = Writer::new();
        out.object(|w| {
            w.field_u64("ts", at);
            w.field_str("stream", stream.as_str());
            w.field_str("type", kind);
            w.str_or_null("session", about.shown_session.as_deref());
            w.str_or_null("run", about.run.as_deref());
            w.key("data").object(|w| {
                w.field_str("trace", &about.trace);
                data(w);
            });
        });
        let whole = out.finish();
        let rest = whole.strip_prefix('{').unwrap_or(&whole).to_owned();
        Event { stream, kind, about: Arc::clone(about), rest }
    }

    /// Its approximate size in memory.
    pub(super) fn size(&self) -> usize {
        self.rest.len() + 128
    }

    /// The event under this id, which needs no escaping.
    pub(super) fn json(&self, id: &str) -> String {
        format!("{{\"id\":\"{id}\",{}", self.rest)
    }
}

/// The event for a listener that missed `count` events; `None` if their number is unknown.
pub(super) fn lost(id: &str, at: u64, count: Option<u64>) -> String {
    let mut out = Writer::new();
    out.object(|w| {
        w.field_str("id", id);
        w.field_u64("ts", at);
        w.field_str("stream", Stream::Lifecycle.as_str());
        w.field_str("type", "events_lost");
        w.str_or_null("session", None);
        w.str_or_null("run", None);
        w.key("data").object(|w| w.u64_or_null("count", count));
    });
    out.finish()
}

//! Answers that the gateway writes itself, and the header that reports its decisions.

use crate::attempt::sending::Made;
use crate::names::random_id;
use crate::observe::bus::Reporter;
use crate::observe::progress::Progress;
use crate::rejection::Rejection;
use crate::respond::flow::Flow;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use thinkthrough_core::decision::Counts;
use thinkthrough_core::wire::{ErrorBody, Wire};
use thinkthrough_json::{Raw, Writer};

/// The name of the header that reports the gateway's decisions.
pub(crate) const EXPLAINS: &str = "x-thinkthrough";

/// The content of the `x-thinkthrough` header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) made: Made,
    pub(crate) trace: String,
    /// Whether the answer goes out before its record is stored.
    pub(crate) is_unsaved: bool,
    /// The state of the trace, for a caller that asked.
    pub(crate) trace_state: Option<&'static str>,
}

impl Account {
    /// The account of a new request.
    pub(crate) fn open() -> Self {
        Account { trace: random_id(), ..Account::default() }
    }

    fn value(&self) -> Option<HeaderValue> {
        let Account { made, trace, is_unsaved, trace_state } = self;
        let Made { counts, without, learned, repaired, hops, untranslated, adapted } = made;
        let Counts { restored, missed, ambiguous, dropped } = counts;
        let mut value = format!(
            "restored={restored}; missed={missed}; ambiguous={ambiguous}; dropped={dropped}; trace={trace}"
        );
        for (name, count) in [("bypassed", without.bypassed), ("flattened", without.told)] {
            if count > 0 {
                value.push_str(&format!("; {name}={count}"));
            }
        }
        if without.is_off {
            value.push_str("; thinking=off");
        }
        for (name, repair) in [("learned", learned), ("repaired", repaired)] {
            if let Some(repair) = repair {
                value.push_str(&format!("; {name}={}", repair.as_str()));
            }
        }
        if !untranslated.is_empty() {
            value.push_str("; untranslated=");
            value.push_str(&untranslated.join(","));
        }
        if !adapted.is_empty() {
            value.push_str(&format!("; adapted={}", adapted.join(",")));
        }
        if *hops > 0 {
            value.push_str(&format!("; hops={hops}"));
        }
        if *is_unsaved {
            value.push_str("; unsaved=1");
        }
        if let Some(state) = trace_state {
            value.push_str(&format!("; trace_state={state}"));
        }
        HeaderValue::try_from(value).ok()
    }

    /// Adds the header to an answer, and reports it.
    pub(crate) fn explain(&self, answer: &mut Response<Flow>, reporter: &Reporter) {
        self.put_on(answer);
        let Made { counts, hops, .. } = self.made;
        reporter.tell(&Progress::Explained { id: &self.trace, counts, hops });
    }

    /// Adds the header to an answer, or replaces it.
    pub(crate) fn put_on(&self, answer: &mut Response<Flow>) {
        if let Some(value) = self.value() {
            answer.headers_mut().insert(EXPLAINS, value);
        }
    }
}

/// An answer with a JSON body.
pub(crate) fn json(status: u16, body: impl Into<Bytes>) -> Response<Flow> {
    typed(status, "application/json", body)
}

/// An answer with a body of this media type.
pub(crate) fn typed(status: u16, media: &'static str, body: impl Into<Bytes>) -> Response<Flow> {
    let mut answer = Response::new(Flow::whole(body.into()));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    answer
}

/// An error in the format of the caller's API. Without a wire, in OpenAI's format, which most clients read.
pub(crate) fn refusal(wire: Option<&dyn Wire>, rejection: &Rejection) -> Response<Flow> {
    let error = ErrorBody {
        status: rejection.status,
        code: rejection.code.to_owned(),
        message: rejection.message.clone(),
    };
    let body = match wire {
        Some(wire) => wire.write_error(&error),
        None => plain_error(&error),
    };
    let mut answer = json(rejection.status, body);
    let wait = rejection.retry_after.or((rejection.status == 503).then_some(1));
    if let Some(wait) = wait {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait));
    }
    answer
}

fn plain_error(error: &ErrorBody) -> String {
    let raw = Raw::build(|w: &mut Writer| {
        w.object(|w| {
            w.key("error").object(|w| {
                w.field_str("message", &error.message);
                w.field_str("type", &error.code);
                w.field_str("code", &error.code);
            });
        });
    });
    raw.as_str().to_owned()
}

/// The answer to a caller that is not admitted.
pub(crate) fn turned_away(
    reporter: &Reporter,
    wire: Option<&'static dyn Wire>,
    rejection: &Rejection,
) -> Response<Flow> {
    /// The seconds after which the store is tried again at the latest.
    const SOON: HeaderValue = HeaderValue::from_static("5");
    let mut answer = refusal(wire, rejection);
    match rejection.status {
        401 => {
            reporter.tell(&Progress::TurnedAway);
            let scheme = HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        }
        503 => drop(answer.headers_mut().insert(RETRY_AFTER, SOON)),
        _ => {}
    }
    answer
}

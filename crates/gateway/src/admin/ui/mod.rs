//! The viewer: a page, served from the binary itself, where a person sees what models think and thought.
//!
//! - [`files`] are the page's own files; nothing is loaded from elsewhere, and no script runs but these.
//! - [`api`] answers the page's questions: [`traces`] out of the store, [`overview`] out of memory. It changes nothing but
//!   on two orders, which carry a header that no form of another site can send.

mod api;
mod files;
mod overview;
mod traces;

use crate::rejection::{Rejection, rejection};
use crate::request::edge::inbound::Inbound;
use crate::respond::flow::Flow;
use crate::respond::patient::Pace;
use crate::respond::reply::refusal;
use crate::state::{Gateway, RequestState};
use http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Response};
use std::sync::Arc;

/// What a page of the viewer may do: run and load what is served here, and nothing else. Text never becomes a script or
/// markup, because no policy for that exists.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// What every answer says to the browser.
const GUARDS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

/// What a request to the viewer comes with.
pub(crate) struct Visit<'a> {
    pub(crate) gateway: &'a Arc<Gateway>,
    pub(crate) state: &'a Arc<RequestState>,
    pub(crate) pace: &'a Arc<Pace>,
    pub(crate) parts: Parts,
    pub(crate) body: Inbound,
    /// Where it arrived.
    pub(crate) port: u16,
}

/// Answers a request below `/ui`.
pub(crate) async fn answer(visit: Visit<'_>, path: &str) -> Response<Flow> {
    let method = visit.parts.method.clone();
    let mut answer = match path.strip_prefix("/api/") {
        Some(path) => api::answer(visit, path).await,
        None if method == Method::POST => refusal(None, &not_so()),
        None => files::answer(path, &visit.parts.headers),
    };
    for (name, value) in GUARDS {
        let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
        answer.headers_mut().insert(name, value);
    }
    let no_store = HeaderValue::from_static("no-store");
    answer.headers_mut().entry(CACHE_CONTROL).or_insert(no_store);
    answer
}

fn not_so() -> Rejection {
    rejection(405, "method_not_allowed", "the viewer's pages are read")
}

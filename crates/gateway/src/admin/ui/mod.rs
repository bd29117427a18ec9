//! The viewer: a page, served from the binary itself, that shows the thoughts of models, live and stored.
//!
//! - [`files`] are the page's own files. The page loads no other files and runs no other scripts.
//! - [`api`] answers the page's requests: [`traces`] from the store, [`overview`] from memory. Only two orders change
//!   anything; they carry a header that no form of another site can send.

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

/// The page may run and load only files of this server. Text never becomes a script or markup, because the page has
/// no trusted-types policy.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// Security headers of every answer.
const GUARDS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

/// One request to the viewer.
pub(crate) struct Visit<'a> {
    pub(crate) gateway: &'a Arc<Gateway>,
    pub(crate) state: &'a Arc<RequestState>,
    pub(crate) pace: &'a Arc<Pace>,
    pub(crate) parts: Parts,
    pub(crate) body: Inbound,
    /// The local port of the connection.
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

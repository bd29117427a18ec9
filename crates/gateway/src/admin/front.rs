//! `GET /`: a page that tells people what this server is and how clients reach it.

use crate::respond::flow::Flow;
use crate::respond::reply::typed;
use crate::state::RequestState;
use http::header::{ACCEPT, CACHE_CONTROL, HOST, HeaderName, HeaderValue, VARY};
use http::request::Parts;
use http::{HeaderMap, Response};
use std::net::SocketAddr;

const PAGE: &str = include_str!("front.html");

const TEXT: &str = "\
Thinkthrough is running. It is a gateway to reasoning models: it keeps their thoughts and gives them back where a client drops them.

OpenAI clients    {base}/v1
Anthropic clients {base}
Gemini clients    {base}
Ollama clients    {base}

`{connect}` on your machine sets up Claude Code; `codex`, `opencode`, `python` and `env` in its place do the same for other clients.
{viewer}";

/// The page needs its own style and no other resource.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

const GUARDS: [(HeaderName, &str); 5] = [
    (HeaderName::from_static("content-security-policy"), POLICY),
    (HeaderName::from_static("x-content-type-options"), "nosniff"),
    (HeaderName::from_static("referrer-policy"), "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (VARY, "accept"),
];

/// The page, or its facts as plain text for programs. Its content does not depend on the caller.
pub(crate) fn page(
    state: &RequestState,
    parts: &Parts,
    local: SocketAddr,
    has_viewer: bool,
) -> Response<Flow> {
    let scheme = if state.options.tls.is_some() { "https" } else { "http" };
    let base = format!("{scheme}://{}", host(parts, local));
    let has_viewer = has_viewer && state.options.viewer.is_some();
    let is_page = wants_page(&parts.headers);
    let (media, form) = match is_page {
        true => ("text/html; charset=utf-8", PAGE),
        false => ("text/plain; charset=utf-8", TEXT),
    };
    let viewer = match (has_viewer, is_page) {
        (false, _) => "",
        (true, true) => {
            "<h2>Viewer</h2>\n<p><a href=\"/ui/\">The viewer</a> shows the thoughts of requests; \
             <code>think ui</code> prints a link that signs you in.</p>\n"
        }
        (true, false) => {
            "The viewer is at {base}/ui/; `think ui` prints a link that signs you in.\n"
        }
    };
    let connect = match base.as_str() {
        USUAL => "think connect claude-code",
        _ => "think connect claude-code --gateway {base}",
    };
    let text = form.replace("{viewer}", viewer).replace("{connect}", connect);
    let mut answer = typed(200, media, text.replace("{base}", &base));
    for (name, value) in GUARDS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// The address of a gateway with the default configuration.
const USUAL: &str = "http://127.0.0.1:4114";

fn wants_page(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.to_ascii_lowercase().contains("text/html"))
}

/// The host name by which the caller reached this server. The admission check has already accepted it.
fn host(parts: &Parts, local: SocketAddr) -> String {
    let named = parts.uri.authority().map(http::uri::Authority::as_str);
    let named = named.or_else(|| parts.headers.get(HOST)?.to_str().ok());
    let is_plain = |host: &&str| {
        host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte))
    };
    named.filter(is_plain).map_or_else(|| local.to_string(), str::to_owned)
}

//! Selects the headers that cross the gateway, in both directions.
//!
//! Towards an upstream go the headers of its API, as [the wires](thinkthrough_core::wire::headers) list them, and the
//! headers that the configuration adds. Towards the caller go all headers except the ones of a single connection, of
//! the gateway's own account, and of the site that a browser believes to visit.

use crate::models::route::Route;
use crate::models::tenant::is_ours;
use http::header::CONNECTION;
use http::{HeaderMap, HeaderName};
use thinkthrough_core::wire;
use thinkthrough_core::wire::headers::{COMMON, Headers, is_listed};

/// Headers that belong to one connection (RFC 9110, 7.6.1).
const HOP: [&str; 9] = [
    "connection",
    "http2-settings",
    "keep-alive",
    "proxy-*",
    "te",
    "trailer",
    "trailers",
    "transfer-encoding",
    "upgrade",
];

/// Headers that never go upstream, whatever the configuration says: credentials, data about a connection or an
/// earlier proxy, overrides of the request, and headers that a cloud would read as a signature.
const NEVER_UP: [&str; 22] = [
    "access-control-*",
    "api-key",
    "authorization",
    "content-encoding",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "if-*",
    "origin",
    "private-token",
    "referer",
    "sec-*",
    "via",
    "x-amz*",
    "x-api-key",
    "x-auth-*",
    "x-forwarded-*",
    "x-goog-api-key",
    "x-real-ip",
    "x-thinkthrough*",
];

/// Headers that give a request another method or path. They never go upstream either.
const OTHER_REQUEST: [&str; 5] =
    ["x-http-method*", "x-method-override", "x-original-*", "x-rewrite-url", "x-override-url"];

/// Headers of an upstream for its direct clients: browsers, proxies, and holders of its credential.
const NEVER_BACK: [&str; 13] = [
    "access-control-*",
    "alt-svc",
    "authorization",
    "clear-site-data",
    "nel",
    "report-to",
    "sec-*",
    "set-cookie*",
    "strict-transport-security",
    "via",
    "www-authenticate",
    "x-api-key",
    "x-thinkthrough*",
];

/// Headers by which a proxy names its client.
const FORWARDED: [&str; 19] = [
    "cdn-loop",
    "cf-connecting-ip*",
    "client-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "forwarded*",
    "true-client-ip",
    "via",
    "x-appengine-user-ip",
    "x-azure-clientip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-forwarded*",
    "x-host",
    "x-original-*",
    "x-proxy*",
    "x-real-ip",
    "x-remote-*",
];

/// Whether a proxy forwarded the request for another client.
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| is_listed(&FORWARDED, name.as_str()))
}

/// Whether the configuration may let headers of this pattern through.
#[must_use]
pub fn may_forward(pattern: &str) -> bool {
    let name = pattern.strip_suffix('*').unwrap_or(pattern);
    !name.is_empty() && !is_never_up(name) && HeaderName::from_bytes(name.as_bytes()).is_ok()
}

fn is_never_up(name: &str) -> bool {
    [&HOP[..], &NEVER_UP, &OTHER_REQUEST].iter().any(|list| is_listed(list, name))
}

/// The rules for headers between a caller and an upstream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing<'a> {
    /// The headers of the API; `None` if any API is possible.
    api: Option<Headers>,
    /// The upstream receives the gateway's own credential, or none.
    is_ours: bool,
    /// Headers that the configuration adds.
    more: &'a [String],
}

impl<'a> Crossing<'a> {
    /// The rules for the API of the route's wire.
    pub(crate) fn to(route: &'a Route) -> Self {
        let api = Some(route.target.wire.headers());
        Crossing { api, is_ours: is_ours(route), more: &route.forward_headers }
    }

    /// The rules for any API of the route's provider.
    pub(crate) fn to_all(route: &'a Route) -> Self {
        Crossing { api: None, ..Self::to(route) }
    }

    /// The rules for any API, with the gateway's own credential.
    #[cfg(test)]
    pub(crate) fn to_all_with_ours(more: &'a [String]) -> Self {
        Crossing { api: None, is_ours: true, more }
    }

    /// The caller's headers that go upstream.
    pub(crate) fn request(self, callers: &HeaderMap) -> HeaderMap {
        let listed = in_connection(callers);
        let goes_on = |name: &HeaderName| self.goes_on(name.as_str()) && !listed.contains(name);
        kept(callers, goes_on)
    }

    /// The caller's headers that go upstream with a translated request: only the ones in the configuration.
    pub(crate) fn translated(self, callers: &HeaderMap) -> HeaderMap {
        let listed = in_connection(callers);
        let goes_on = |name: &HeaderName| {
            let text = name.as_str();
            self.may_go_on(text) && is_listed(self.more, text) && !listed.contains(name)
        };
        kept(callers, goes_on)
    }

    fn may_go_on(self, name: &str) -> bool {
        !(is_never_up(name) || self.is_ours && is_account(name))
    }

    fn goes_on(self, name: &str) -> bool {
        if !self.may_go_on(name) {
            return false;
        }
        let is_known = |api: Headers| {
            is_listed(api.forwarded, name) || (!self.is_ours && is_listed(api.account, name))
        };
        is_listed(COMMON, name)
            || is_listed(self.more, name)
            || match self.api {
                Some(api) => is_known(api),
                None => wire::ALL.iter().any(|wire| is_known(wire.headers())),
            }
    }

    /// The upstream's headers that go back to the caller.
    pub(crate) fn response(self, upstreams: &HeaderMap) -> HeaderMap {
        let listed = in_connection(upstreams);
        let comes_back = |name: &HeaderName| {
            let text = name.as_str();
            let stays = is_listed(&HOP, text)
                || is_listed(&NEVER_BACK, text)
                || listed.contains(name)
                || (self.is_ours && is_account(text));
            !stays
        };
        kept(upstreams, comes_back)
    }
}

/// Whether a header names an account, a project or an organisation in any API.
fn is_account(name: &str) -> bool {
    wire::ALL.iter().any(|wire| is_listed(wire.headers().account, name))
}

fn kept(headers: &HeaderMap, is_kept: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let kept = headers.iter().filter(|(name, _)| is_kept(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The headers that `Connection` lists, which belong to one connection.
fn in_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(CONNECTION).iter();
    let names = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    names.filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use thinkthrough_core::wire::Wire;
    use thinkthrough_core::wire::chat_completions::ChatCompletions;
    use thinkthrough_core::wire::generate_content::GenerateContent;
    use thinkthrough_core::wire::messages::Messages;
    use thinkthrough_core::wire::responses::Responses;

    fn headers(names: &[&'static str]) -> HeaderMap {
        let value = HeaderValue::from_static("1");
        names.iter().map(|name| (HeaderName::from_static(name), value.clone())).collect()
    }

    fn to(wire: &dyn Wire, is_ours: bool) -> Crossing<'static> {
        Crossing { api: Some(wire.headers()), is_ours, more: &[] }
    }

    /// Headers of clients that an upstream has no use for, or that would change its account, its method or its path.
    const STAYS: [&str; 36] = [
        "access-control-request-method",
        "api-key",
        "authorization",
        "connection",
        "content-length",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "if-none-match",
        "keep-alive",
        "origin",
        "private-token",
        "proxy-authorization",
        "proxy-connection",
        "referer",
        "sec-fetch-site",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "via",
        "x-amz-date",
        "x-amz-security-token",
        "x-amzn-trace-id",
        "x-api-key",
        "x-auth-token",
        "x-forwarded-for",
        "x-goog-api-key",
        "x-http-method-override",
        "x-method-override",
        "x-original-url",
        "x-real-ip",
        "x-rewrite-url",
        "x-thinkthrough-store",
        "x-unknown",
    ];

    #[test]
    fn t_7_what_belongs_to_one_side_stays_there_with_any_credential() {
        for is_ours in [true, false] {
            for name in STAYS {
                for wire in wire::ALL {
                    let passed = to(*wire, is_ours).request(&headers(&[name]));
                    assert!(passed.is_empty(), "{name} on {} {is_ours}", wire.id());
                }
                let any = Crossing { api: None, is_ours, more: &["*".to_owned()] };
                let passed = any.request(&headers(&[name]));
                assert_eq!(passed.is_empty(), name != "x-unknown", "{name}");
            }
        }
    }

    #[test]
    fn t_7_what_real_clients_say_to_an_api_reaches_it() {
        let all: [(&dyn Wire, &[&str]); 4] = [
            (
                &ChatCompletions,
                &["openai-beta", "http-referer", "x-title", "x-session-affinity", "x-grok-conv-id"],
            ),
            (
                &Messages,
                &["anthropic-version", "anthropic-beta", "x-app", "x-claude-code-session-id"],
            ),
            (&GenerateContent, &["x-goog-api-client"]),
            (
                &Responses,
                &["session-id", "thread-id", "originator", "x-codex-window-id", "conversation_id"],
            ),
        ];
        let everybody = [
            "accept",
            "content-type",
            "user-agent",
            "idempotency-key",
            "traceparent",
            "x-stainless-lang",
        ];
        for (wire, names) in all {
            for name in names.iter().chain(&everybody) {
                let passed = to(wire, true).request(&headers(&[name]));
                assert_eq!(passed.len(), 1, "{name} on {}", wire.id());
            }
        }
        // Headers of one API do not go to another.
        assert!(to(&ChatCompletions, true).request(&headers(&["anthropic-version"])).is_empty());
        let any = Crossing { api: None, is_ours: true, more: &[] };
        assert_eq!(any.request(&headers(&["anthropic-version", "openai-beta"])).len(), 2);
    }

    #[test]
    fn t_7_an_account_is_named_with_the_callers_own_credential_alone() {
        for (wire, name) in [
            (&ChatCompletions as &dyn Wire, "openai-project"),
            (&ChatCompletions, "openai-organization"),
            (&Responses, "chatgpt-account-id"),
            (&GenerateContent, "x-goog-user-project"),
        ] {
            let said = headers(&[name]);
            assert!(to(wire, true).request(&said).is_empty(), "{name}");
            assert_eq!(to(wire, false).request(&said), said, "{name}");
            let any = Crossing { api: None, is_ours: true, more: &["*".to_owned()] };
            assert!(any.request(&said).is_empty(), "{name}: whatever is configured");
            assert!(to(wire, true).response(&said).is_empty(), "{name} comes back");
            assert_eq!(to(wire, false).response(&said), said, "{name}");
        }
    }

    #[test]
    fn t_27_what_a_connection_calls_its_own_goes_no_further_in_either_direction() {
        let mut said = headers(&["accept", "user-agent", "x-request-id"]);
        for value in ["Close, User-Agent", "x-request-id"] {
            said.append(CONNECTION, HeaderValue::from_static(value));
        }
        let any = to(&ChatCompletions, true);
        assert_eq!(any.request(&said), headers(&["accept"]));
        assert_eq!(any.response(&said), headers(&["accept"]));
    }

    #[test]
    fn t_7_what_callers_need_of_an_answer_comes_back() {
        let needed = headers(&[
            "content-type",
            "request-id",
            "x-request-id",
            "x-amzn-requestid",
            "retry-after",
            "retry-after-ms",
            "x-ratelimit-remaining-requests",
            "anthropic-ratelimit-tokens-remaining",
            "openai-processing-ms",
            "openai-model",
        ]);
        assert_eq!(to(&Messages, true).response(&needed), needed);
        for name in
            ["set-cookie", "strict-transport-security", "alt-svc", "access-control-allow-origin"]
        {
            assert!(to(&Messages, false).response(&headers(&[name])).is_empty(), "{name}");
        }
    }

    #[test]
    fn what_is_configured_goes_on_and_what_never_may_cannot_be() {
        let more = ["x-tenant".to_owned(), "x-custom-*".to_owned()];
        let crossing = Crossing { api: None, is_ours: true, more: &more };
        let passed = crossing.request(&headers(&["x-tenant", "x-custom-1", "x-other"]));
        assert_eq!(passed, headers(&["x-tenant", "x-custom-1"]));
        for (pattern, may) in [
            ("x-custom-*", true),
            ("x-tenant", true),
            ("authorization", false),
            ("cookie", false),
            ("x-amz-date", false),
            ("x-http-method-override", false),
            ("*", false),
            ("", false),
            ("a b", false),
        ] {
            assert_eq!(may_forward(pattern), may, "{pattern}");
        }
    }

    #[test]
    fn t_8_whoever_was_forwarded_is_known_by_any_sign_of_it() {
        for name in [
            "via",
            "forwarded",
            "x-forwarded-for",
            "x-forwarded-host",
            "x-real-ip",
            "cf-connecting-ip",
            "true-client-ip",
            "x-client-ip",
            "x-original-forwarded-for",
            "x-original-host",
            "x-cluster-client-ip",
            "fastly-client-ip",
        ] {
            assert!(is_forwarded(&headers(&["accept", name])), "{name}");
        }
        assert!(!is_forwarded(&headers(&["accept", "host", "user-agent", "authorization"])));
    }
}

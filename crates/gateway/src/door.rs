//! Who may come in: names of the host, foreign web pages, and credentials.

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Uri};
use thinkthrough_client::{Auth, Secret};

/// The carriers of a credential besides `Authorization: Bearer` and `?key=`.
static CARRIERS: [HeaderName; 3] = [
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-goog-api-key"),
];

/// Why somebody is turned away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turned {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// Turns somebody away.
pub(crate) fn turned(status: u16, code: &'static str, message: impl Into<String>) -> Turned {
    Turned { status, code, message: message.into() }
}

/// Whether the request was meant for this server. A web page that lets its own name point here, or that sends a form
/// here, is turned away.
pub(crate) fn check(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    hosts: &[String],
) -> Result<(), Turned> {
    let host = uri.authority().map(http::uri::Authority::as_str);
    let host = host.or_else(|| headers.get(HOST).and_then(|host| host.to_str().ok()));
    let host = host.unwrap_or_default();
    if !is_ours(host, hosts) {
        return Err(Turned {
            status: 421,
            code: "misdirected_request",
            message: format!(
                "this server does not answer for the host `{}`; list it under `[server] hosts`",
                shown(host)
            ),
        });
    }
    let is_safe = *method == Method::GET || *method == Method::HEAD;
    let origin = headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or("null"));
    let is_foreign = origin.is_some_and(|origin| !origin_is_ours(origin, hosts));
    // Browsers say where a request comes from also where they leave out the origin.
    let site = headers.get("sec-fetch-site").map(http::HeaderValue::as_bytes);
    let is_cross = matches!(site, Some(b"cross-site" | b"same-site"));
    if !is_safe && (is_foreign || is_cross) {
        return Err(Turned {
            status: 403,
            code: "foreign_origin",
            message: "requests of other web sites are not taken".to_owned(),
        });
    }
    Ok(())
}

fn origin_is_ours(origin: &str, hosts: &[String]) -> bool {
    origin.split_once("://").is_some_and(|(_, host)| is_ours(host, hosts))
}

/// Names of this machine, addresses (which no foreign name can point from), and the names that were listed.
fn is_ours(host: &str, hosts: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok()
        || hosts
            .iter()
            .any(|listed| listed.eq_ignore_ascii_case(name) || listed.eq_ignore_ascii_case(host))
}

/// A name from outside, short and without anything that could break a line.
fn shown(host: &str) -> String {
    host.chars().filter(char::is_ascii_graphic).take(80).collect()
}

/// The caller's credential, from whatever carried it.
pub(crate) fn credential(uri: &Uri, headers: &HeaderMap) -> Result<Auth, Turned> {
    let mut found: Option<Auth> = None;
    let mut add = |auth: Auth, secret: &str| {
        let same = found.as_ref().is_none_or(|other| exposed(other) == Some(secret));
        if !same {
            return Err(Turned {
                status: 400,
                code: "two_credentials",
                message: "the request carries two different credentials; send one".to_owned(),
            });
        }
        found.get_or_insert(auth);
        Ok(())
    };
    for value in headers.get_all(AUTHORIZATION) {
        let token = value.to_str().ok().and_then(bearer);
        if let Some(token) = token {
            add(Auth::Bearer(Secret::new(token)), token)?;
        }
    }
    for name in &CARRIERS {
        for value in headers.get_all(name) {
            let Some(key) = value.to_str().ok().filter(|key| !key.is_empty()) else { continue };
            let name = name.clone();
            add(Auth::Header { name, secret: Secret::new(key) }, key)?;
        }
    }
    for pair in uri.query().unwrap_or_default().split('&') {
        if let Some(key) = pair.strip_prefix("key=").filter(|key| !key.is_empty()) {
            add(Auth::Query { name: "key".to_owned(), secret: Secret::new(key) }, key)?;
        }
    }
    Ok(found.unwrap_or(Auth::None))
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The secret of a credential.
pub(crate) fn exposed(auth: &Auth) -> Option<&str> {
    match auth {
        Auth::Bearer(secret) | Auth::Header { secret, .. } | Auth::Query { secret, .. } => {
            Some(secret.expose())
        }
        _ => None,
    }
}

/// Takes every credential off a request: a key of the gateway goes no further.
pub(crate) fn take_off(parts: &mut Parts) {
    parts.headers.remove(AUTHORIZATION);
    for name in &CARRIERS {
        parts.headers.remove(name);
    }
    let Some(query) = parts.uri.query().filter(|query| query.contains("key=")) else { return };
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("key=")).collect();
    let path = parts.uri.path();
    let path = match kept.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{}", kept.join("&")),
    };
    let mut uri = std::mem::take(&mut parts.uri).into_parts();
    // A shorter path of the same letters is a path.
    uri.path_and_query = path.parse().ok();
    parts.uri = Uri::from_parts(uri).unwrap_or_default();
}

/// Whether a header carries a credential or belongs to this connection only, so that it never travels on.
pub(crate) fn stays_here(name: &HeaderName) -> bool {
    const NAMES: [&str; 8] = [
        "authorization",
        "cookie",
        "forwarded",
        "origin",
        "referer",
        "set-cookie",
        "via",
        "x-real-ip",
    ];
    let is_carrier = CARRIERS.contains(name);
    let name = name.as_str();
    is_carrier
        || NAMES.contains(&name)
        || name.starts_with("x-thinkthrough")
        || name.starts_with("x-forwarded-")
        || name.starts_with("sec-")
        // Which web sites may read an answer is nothing that an upstream says.
        || name.starts_with("access-control-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    fn checked(pairs: &[(&'static str, &'static str)]) -> Option<u16> {
        let uri = Uri::from_static("/v1/models");
        let hosts = ["gate.example".to_owned()];
        check(&Method::POST, &uri, &headers(pairs), &hosts).err().map(|turned| turned.status)
    }

    #[test]
    fn t_25_only_our_own_names_are_answered() {
        for host in
            ["localhost", "LOCALHOST:4114", "127.0.0.1:4114", "[::1]:4114", "gate.example:1"]
        {
            assert_eq!(checked(&[("host", host)]), None, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:4114", ""] {
            assert_eq!(checked(&[("host", host)]), Some(421), "{host}");
        }
    }

    #[test]
    fn t_25_a_foreign_page_is_turned_away() {
        for origin in ["https://evil.example", "null", "file://"] {
            assert_eq!(
                checked(&[("host", "localhost"), ("origin", origin)]),
                Some(403),
                "{origin}"
            );
        }
        assert_eq!(checked(&[("host", "localhost"), ("origin", "http://localhost:4114")]), None);
        for (site, status) in [
            ("cross-site", Some(403)),
            ("same-site", Some(403)),
            ("same-origin", None),
            ("none", None),
        ] {
            assert_eq!(
                checked(&[("host", "localhost"), ("sec-fetch-site", site)]),
                status,
                "{site}"
            );
        }
    }

    #[test]
    fn t_4_every_carrier_gives_the_same_credential_and_two_are_refused() {
        let uri = Uri::from_static("/");
        for pair in [
            ("authorization", "Bearer k"),
            ("x-api-key", "k"),
            ("api-key", "k"),
            ("x-goog-api-key", "k"),
        ] {
            let auth = credential(&uri, &headers(&[pair])).unwrap();
            assert_eq!(exposed(&auth), Some("k"), "{pair:?}");
        }
        let with_key = Uri::from_static("/?a=1&key=k");
        assert_eq!(exposed(&credential(&with_key, &headers(&[])).unwrap()), Some("k"));
        let same = headers(&[("authorization", "bearer k"), ("x-api-key", "k")]);
        assert!(credential(&with_key, &same).is_ok());
        let two = headers(&[("authorization", "Bearer k"), ("x-api-key", "other")]);
        assert_eq!(credential(&uri, &two).unwrap_err().status, 400);
    }

    #[test]
    fn t_7_a_key_of_the_gateway_is_taken_off_wherever_it_stands() {
        for (uri, kept) in [
            ("/a?key=k", "/a"),
            ("/a?x=1&key=k&y=2", "/a?x=1&y=2"),
            ("/a?monkey=k", "/a?monkey=k"),
            ("http://localhost/a?key=k", "http://localhost/a"),
        ] {
            let request = http::Request::get(uri)
                .header("authorization", "Bearer k")
                .header("x-api-key", "k")
                .header("api-key", "k")
                .header("x-goog-api-key", "k")
                .header("accept", "*/*");
            let (mut parts, ()) = request.body(()).unwrap().into_parts();
            take_off(&mut parts);
            assert_eq!(parts.uri, kept);
            assert_eq!(parts.headers, headers(&[("accept", "*/*")]));
        }
    }

    #[test]
    fn t_7_t_26_what_belongs_to_one_side_stays_there() {
        for name in [
            "authorization",
            "x-api-key",
            "api-key",
            "x-goog-api-key",
            "cookie",
            "set-cookie",
            "forwarded",
            "via",
            "origin",
            "referer",
            "x-forwarded-for",
            "x-forwarded-host",
            "x-real-ip",
            "sec-fetch-site",
            "x-thinkthrough-store",
            "access-control-allow-origin",
            "access-control-allow-credentials",
        ] {
            assert!(stays_here(&HeaderName::from_static(name)), "{name}");
        }
        for name in [
            "accept",
            "anthropic-beta",
            "anthropic-version",
            "content-type",
            "idempotency-key",
            "openai-organization",
            "request-id",
            "retry-after",
            "traceparent",
            "user-agent",
            "x-ratelimit-remaining-requests",
            "x-stainless-lang",
        ] {
            assert!(!stays_here(&HeaderName::from_static(name)), "{name}");
        }
    }
}

//! Checks that a request names a host of this server, and that no other web site sent it.
//!
//! A page in a browser can send requests to any address, and can point its own domain name at this server (DNS
//! rebinding). The headers `Host`, `Origin` and `Sec-Fetch-*` reveal both. The browser sets them; a page cannot.

use crate::rejection::{Rejection, rejection};
use http::header::{CONTENT_TYPE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The connection and body of a request, as far as the check needs them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit<'a> {
    /// The local address of the connection.
    pub(crate) local: SocketAddr,
    /// The configured names of this host.
    pub(crate) hosts: &'a [String],
    /// Whether the request has a body.
    pub(crate) has_body: bool,
}

/// Refuses a request, whatever its method, if its host is not one of this server or another web site sent it.
pub(crate) fn check(parts: &Parts, visit: &Visit<'_>) -> Result<(), Rejection> {
    let host = host(parts, visit)?;
    let Parts { headers, .. } = parts;
    let foreign = || rejection(403, "foreign_origin", "requests of other web sites are not taken");
    let is_own = |origin: &HeaderValue| {
        origin.to_str().is_ok_and(|origin| origin_is_own(origin, &host, visit))
    };
    if !headers.get_all(ORIGIN).iter().all(is_own) {
        return Err(foreign());
    }
    // Browsers send `Sec-Fetch-Site` even when they omit `Origin`.
    let sites = headers.get_all("sec-fetch-site");
    if !sites.iter().all(|site| matches!(site.as_bytes(), b"same-origin" | b"none")) {
        return Err(foreign());
    }
    if visit.has_body && is_of_a_browser(headers) && !says_json(headers) {
        let message = "a request of a web page must have the content type `application/json`";
        return Err(rejection(415, "json_required", message));
    }
    Ok(())
}

/// The host that the request names, if it is one of this server.
fn host<'p>(parts: &'p Parts, visit: &Visit<'_>) -> Result<Authority<'p>, Rejection> {
    let lines = parts.headers.get_all(HOST).iter();
    let lines = lines.map(|host| host.to_str().unwrap_or("\u{fffd}"));
    let named = parts.uri.authority().map(http::uri::Authority::as_str);
    let all: Vec<&str> = named.into_iter().chain(lines).collect();
    let first = all.first().copied().unwrap_or_default();
    if all.iter().any(|host| !host.eq_ignore_ascii_case(first)) {
        return Err(rejection(400, "two_hosts", "the request names two different hosts; send one"));
    }
    let host = Authority::read(first).filter(|host| host.is_own(visit));
    host.ok_or_else(|| {
        let message = format!(
            "this server does not answer for the host `{}`; list it under `[server] hosts`",
            shown(first)
        );
        rejection(421, "misdirected_request", message)
    })
}

/// Whether a web page at this origin belongs to this server.
fn origin_is_own(origin: &str, host: &Authority<'_>, visit: &Visit<'_>) -> bool {
    let Some((scheme, rest)) = origin.split_once("://") else { return false };
    let usual = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    let Some(origin) = Authority::read(rest).filter(|it| it.is_own(visit)) else { return false };
    let port = origin.port.unwrap_or(usual);
    // Another port of this machine belongs to another program, unless the request itself came through that port (a
    // port mapping).
    let is_asked = host.name == origin.name && host.port.unwrap_or(usual) == port;
    port == visit.local.port() || is_asked || origin.is_listed(visit.hosts)
}

/// Whether a browser sent the request. Other clients have no reason to send these headers.
fn is_of_a_browser(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name == ORIGIN || name.as_str().starts_with("sec-fetch-"))
}

/// A form of a web page cannot send JSON without a CORS preflight.
fn says_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(first), None) = (types.next(), types.next()) else { return false };
    let media = first.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    let media = media.trim().to_ascii_lowercase();
    let suffixed = media.strip_prefix("application/").and_then(|it| it.strip_suffix("+json"));
    media == "application/json" || suffixed.is_some_and(|it| !it.is_empty())
}

/// A host with an optional port, parsed strictly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Authority<'a> {
    name: Name<'a>,
    port: Option<u16>,
}

#[derive(Clone, Copy, Debug)]
enum Name<'a> {
    Address(IpAddr),
    Named(&'a str),
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Name::Address(one), Name::Address(other)) => one == other,
            (Name::Named(one), Name::Named(other)) => one.eq_ignore_ascii_case(other),
            (Name::Address(_), Name::Named(_)) | (Name::Named(_), Name::Address(_)) => false,
        }
    }
}

impl Eq for Name<'_> {}

impl<'a> Authority<'a> {
    /// `None` for anything but a host and a port: no user, no path, no text after a bracket.
    fn read(text: &'a str) -> Option<Self> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, rest) = rest.split_once(']')?;
                (Name::Address(IpAddr::V6(address.parse().ok()?).to_canonical()), rest)
            }
            None => {
                let at = text.find(':').unwrap_or(text.len());
                let (name, rest) = text.split_at(at);
                (Name::read(name)?, rest)
            }
        };
        let port = match port.strip_prefix(':') {
            Some(digits) => {
                let is_number = (1..=5).contains(&digits.len())
                    && digits.bytes().all(|byte| byte.is_ascii_digit());
                Some(digits.parse().ok().filter(|_| is_number)?)
            }
            None if port.is_empty() => None,
            None => return None,
        };
        Some(Authority { name, port })
    }

    /// Whether it is a configured name, a usual name of this machine, or the local address of the connection.
    fn is_own(&self, visit: &Visit<'_>) -> bool {
        let is_known = match self.name {
            Name::Named(name) => name.eq_ignore_ascii_case("localhost"),
            Name::Address(address) => {
                address == visit.local.ip().to_canonical()
                    || address == Ipv4Addr::LOCALHOST
                    || address == Ipv6Addr::LOCALHOST
            }
        };
        is_known || self.is_listed(visit.hosts)
    }

    /// A listed name without a port matches every port.
    fn is_listed(&self, hosts: &[String]) -> bool {
        hosts.iter().filter_map(|listed| Authority::listed(listed)).any(|listed| {
            listed.name == self.name && (listed.port.is_none() || listed.port == self.port)
        })
    }

    /// Parses a host of the configuration, where an IPv6 address may lack its brackets.
    fn listed(text: &'a str) -> Option<Self> {
        let bare = text.parse::<Ipv6Addr>().ok().map(|address| IpAddr::V6(address).to_canonical());
        match bare {
            Some(address) => Some(Authority { name: Name::Address(address), port: None }),
            None => Authority::read(text),
        }
    }
}

impl<'a> Name<'a> {
    fn read(text: &'a str) -> Option<Self> {
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Name::Address(IpAddr::V4(address)));
        }
        // A dot at the end marks a fully qualified name.
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_label = |label: &str| {
            !label.is_empty()
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        name.split('.').all(is_label).then_some(Name::Named(name))
    }
}

/// A host name of the caller, shortened and without control characters.
fn shown(host: &str) -> String {
    host.chars().filter(char::is_ascii_graphic).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Method, Request};

    const HOSTS: [&str; 3] = ["gate.example", "gate.example:8443", "192.0.2.7"];

    fn checked_at(local: &str, uri: &str, pairs: &[(&str, &str)], has_body: bool) -> Option<u16> {
        let mut request = Request::builder().method(Method::GET).uri(uri);
        for (name, value) in pairs {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let hosts = HOSTS.map(str::to_owned);
        let visit = Visit { local: local.parse().unwrap(), hosts: &hosts, has_body };
        check(&parts, &visit).err().map(|rejection| rejection.status)
    }

    fn checked(pairs: &[(&str, &str)]) -> Option<u16> {
        checked_at("127.0.0.1:4114", "/v1/models", pairs, false)
    }

    #[test]
    fn t_25_only_our_own_names_are_answered() {
        for host in [
            "localhost",
            "localhost.",
            "LOCALHOST:4114",
            "localhost:1",
            "127.0.0.1:4114",
            "[::1]:4114",
            "[::ffff:127.0.0.1]",
            "gate.example",
            "GATE.example.:1",
            "192.0.2.7:80",
        ] {
            assert_eq!(checked(&[("host", host)]), None, "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost..",
            ".localhost",
            "localhost.evil.example",
            "127.0.0.1.evil.example:4114",
            "[::1].evil.example",
            "[::1]evil.example",
            "[::1]:4114.evil.example",
            "[::1",
            "::1",
            "[localhost]",
            "[127.0.0.1]",
            "[::1%25lo]",
            "user@localhost",
            "localhost@evil.example",
            "localhost:",
            "localhost:x",
            "localhost:+1",
            "localhost:99999",
            "localhost:4114:4114",
            "localhost, evil.example",
            "localhost/",
            "10.0.0.1",
            "0.0.0.0:4114",
            "127.0.0.2",
            "127.1",
            "0x7f.0.0.1",
            "2130706433",
            "[::]",
            "[::ffff:10.0.0.1]",
            "192.0.2.8",
        ] {
            assert_eq!(checked(&[("host", host)]), Some(421), "{host}");
        }
        assert_eq!(checked(&[]), Some(421));
    }

    #[test]
    fn t_25_an_address_is_own_where_the_connection_came_to_it() {
        for (local, host, expected) in [
            ("10.0.0.1:4114", "10.0.0.1:4114", None),
            ("10.0.0.1:4114", "[::ffff:10.0.0.1]", None),
            ("[::ffff:10.0.0.1]:4114", "10.0.0.1", None),
            ("[2001:db8::1]:4114", "[2001:db8::1]:4114", None),
            ("[2001:db8::1]:4114", "[2001:DB8:0::1]", None),
            ("10.0.0.1:4114", "10.0.0.2:4114", Some(421)),
            ("[2001:db8::1]:4114", "[2001:db8::2]", Some(421)),
        ] {
            let status = checked_at(local, "/", &[("host", host)], false);
            assert_eq!(status, expected, "{local} {host}");
        }
    }

    #[test]
    fn t_25_a_request_names_one_host() {
        let at = |uri: &str, hosts: &[&str]| {
            let pairs: Vec<_> = hosts.iter().map(|host| ("host", *host)).collect();
            checked_at("127.0.0.1:4114", uri, &pairs, false)
        };
        assert_eq!(at("http://localhost/v1/models", &[]), None);
        assert_eq!(at("http://localhost/v1/models", &["LocalHost"]), None);
        assert_eq!(at("/v1/models", &["localhost", "localhost"]), None);
        for (uri, hosts, expected) in [
            ("/", &["localhost", "evil.example"][..], 400),
            ("/", &["evil.example", "localhost"], 400),
            ("http://localhost/", &["evil.example"], 400),
            ("http://evil.example/", &["localhost"], 400),
            ("http://evil.example/", &["evil.example"], 421),
            ("http://evil.example/", &[], 421),
        ] {
            assert_eq!(at(uri, hosts), Some(expected), "{uri} {hosts:?}");
        }
    }

    #[test]
    fn t_25_t_26_a_foreign_page_is_turned_away_whatever_it_asks() {
        for origin in [
            "https://evil.example",
            "null",
            "file://",
            "",
            "localhost:4114",
            "http://10.0.0.1:4114",
            "http://0.0.0.0:4114",
            "http://127.0.0.2:4114",
            "http://[::1].evil.example",
            "http://localhost@evil.example",
            "http://localhost:4114/",
            // An origin of another program on this machine.
            "http://localhost:9999",
            "https://localhost",
            "chrome-extension://localhost",
        ] {
            let pairs = [("host", "localhost:4114"), ("origin", origin)];
            assert_eq!(checked(&pairs), Some(403), "{origin}");
        }
        for (host, origin) in [
            ("localhost", "http://localhost:4114"),
            ("localhost", "http://localhost"),
            ("localhost:8080", "http://localhost:8080"),
            ("127.0.0.1:4114", "http://127.0.0.1:4114"),
            ("gate.example", "https://gate.example"),
        ] {
            assert_eq!(checked(&[("host", host), ("origin", origin)]), None, "{host} {origin}");
        }
        let two = [
            ("host", "localhost:4114"),
            ("origin", "http://localhost:4114"),
            ("origin", "https://evil.example"),
        ];
        assert_eq!(checked(&two), Some(403));
        for (site, status) in [
            ("cross-site", Some(403)),
            ("same-site", Some(403)),
            ("Cross-Site", Some(403)),
            ("same-origin", None),
            ("none", None),
        ] {
            let pairs = [("host", "localhost"), ("sec-fetch-site", site)];
            assert_eq!(checked(&pairs), status, "{site}");
        }
        let two =
            [("host", "localhost"), ("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")];
        assert_eq!(checked(&two), Some(403));
    }

    #[test]
    fn t_25_a_page_must_say_json_and_others_need_not() {
        let with = |headers: &[(&str, &str)], has_body: bool| {
            let pairs = [&[("host", "localhost:4114")], headers].concat();
            checked_at("127.0.0.1:4114", "/api/chat", &pairs, has_body)
        };
        for browser in [("origin", "http://localhost:4114"), ("sec-fetch-mode", "no-cors")] {
            for (media, expected) in [
                ("application/json", None),
                ("Application/JSON; charset=utf-8", None),
                ("application/vnd.api+json", None),
                ("text/plain", Some(415)),
                ("text/plain; application/json", Some(415)),
                ("application/x-www-form-urlencoded", Some(415)),
                ("multipart/form-data; boundary=x", Some(415)),
                ("application/+json", Some(415)),
                ("application/jsonx", Some(415)),
                ("", Some(415)),
            ] {
                assert_eq!(with(&[browser, ("content-type", media)], true), expected, "{media}");
            }
            assert_eq!(with(&[browser], true), Some(415));
            assert_eq!(with(&[browser], false), None);
            let two =
                [browser, ("content-type", "application/json"), ("content-type", "text/plain")];
            assert_eq!(with(&two, true), Some(415));
        }
        for headers in [&[][..], &[("content-type", "application/x-www-form-urlencoded")]] {
            assert_eq!(with(headers, true), None);
        }
    }
}

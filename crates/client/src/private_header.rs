//! Finds the secret parts of a header.
//!
//! A user may put a credential into a header of any name. Most headers hold no credential: they describe a format or
//! the client, or hold a word of a team. These rules decide in this order:
//!
//! - A header with a descriptive name ending (`version`, `type`, `agent`, `id`, ...) is public.
//! - A header with a name for a credential (`key`, `token`, `auth`, `secret`, ...) is secret as a whole.
//! - In other headers, random-looking parts are secret: letters and digits mixed. Words, numbers, dates and versions
//!   are not.

use http::{HeaderName, HeaderValue};

/// A shorter text may occur anywhere.
const SHORTEST: usize = 8;
/// Words and numbers that are joined to something longer than this are taken for a pass phrase.
const LONGEST_NAME: usize = 20;
/// The last words of names that only describe.
const DESCRIBES: [&str; 21] = [
    "accept",
    "agent",
    "baggage",
    "beta",
    "client",
    "charset",
    "date",
    "encoding",
    "host",
    "id",
    "ids",
    "language",
    "length",
    "origin",
    "referer",
    "title",
    "traceparent",
    "tracestate",
    "type",
    "url",
    "version",
];
/// How words of names that speak of a credential begin or end.
const CREDENTIAL: [&str; 8] =
    ["auth", "cookie", "credential", "key", "pass", "secret", "signature", "token"];

/// The parts of a header's value that are secret: neither `Bearer` nor the name of a cookie is one.
///
/// ```
/// use thinkthrough_client::private_parts;
/// assert_eq!(private_parts("x-gateway-token", "Bearer open-sesame"), ["open-sesame"]);
/// assert!(private_parts("anthropic-version", "2023-06-01").is_empty());
/// ```
pub fn private_parts<'v>(name: &str, value: &'v str) -> Vec<&'v str> {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|sign: char| !sign.is_ascii_alphanumeric());
    let value = value.trim();
    let describes = words.clone().next_back().is_some_and(|last| DESCRIBES.contains(&last));
    if describes || value.len() < SHORTEST {
        return Vec::new();
    }
    let is_credential = words.any(|word| {
        CREDENTIAL.iter().any(|known| word.starts_with(known) || word.ends_with(known))
    });
    let pieces = value.split([' ', '\t', ';', ',', '"']);
    // `name=value`, but not the padding of base64.
    let parts = pieces.map(|piece| match piece.split_once('=') {
        Some((_, rest)) if !rest.trim_matches('=').is_empty() => rest,
        _ => piece,
    });
    let parts = parts.filter(|part| part.len() >= SHORTEST);
    let found: Vec<&str> = parts.filter(|part| is_credential || is_drawn(part)).collect();
    // A pass phrase with spaces is one secret.
    if found.is_empty() && is_credential { vec![value] } else { found }
}

/// Marks a configured header value as sensitive if a part of it is secret, so that the value never comes back.
pub fn mark_private(name: &HeaderName, value: &mut HeaderValue) {
    let is_private =
        value.to_str().is_ok_and(|text| !private_parts(name.as_str(), text).is_empty());
    value.set_sensitive(is_private);
}

/// Whether a text looks random, unlike a name that a person chose.
fn is_drawn(part: &str) -> bool {
    let mixed = |run: &str| {
        run.bytes().any(|byte| byte.is_ascii_digit())
            && run.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let mut runs = part.split(|sign: char| !sign.is_ascii_alphanumeric());
    let is_long = part.len() >= LONGEST_NAME && !part.contains('/') && mixed(part);
    is_long || runs.any(|run| run.len() >= SHORTEST && mixed(run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_7_a_header_holds_a_secret_by_its_name_or_by_its_look() {
        for (name, value, parts) in [
            ("x-api-token", "mauve-otter-walks-4711-home", &["mauve-otter-walks-4711-home"][..]),
            ("x-secret", "open sesame now", &["open sesame now"]),
            ("authorization2", "Bearer a1b2c3d4e5f6", &["a1b2c3d4e5f6"]),
            ("proxy-authorization", "Basic dXNlcjpwYXNz==", &["dXNlcjpwYXNz=="]),
            ("cookie", "sid=abcdefgh; theme=dark", &["abcdefgh"]),
            ("x-team", "q7w8e9r0t1", &["q7w8e9r0t1"]),
            ("x-own", "mauve-otter-walks-4711-home", &["mauve-otter-walks-4711-home"]),
            ("x-org", "org-a1b2c3d4e5", &["org-a1b2c3d4e5"]),
            // Public values.
            ("anthropic-version", "2023-06-01", &[]),
            ("anthropic-beta", "context-1m-2025-08-07,interleaved-thinking-2025-05-14", &[]),
            ("content-type", "application/json; charset=utf-8", &[]),
            ("accept", "text/event-stream", &[]),
            ("user-agent", "my-program/1.2.3 (Linux x86_64 a1b2c3d4)", &[]),
            ("http-referer", "https://example.com/a1b2c3d4e5", &[]),
            ("x-team", "research-2026", &[]),
            ("x-note", "a word or two about version 1.2.3 of 2026-11-23", &[]),
            ("x-request-id", "0f8fad5bd9cb469fa165", &[]),
            ("x-token", "short", &[]),
        ] {
            assert_eq!(private_parts(name, value), parts, "{name}: {value}");
        }
    }
}

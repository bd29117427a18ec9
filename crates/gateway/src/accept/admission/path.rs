//! Checks that paths, and names in paths, mean the same to every server.
//!
//! A server may decode a path once, twice, or not at all, and may end a part at different characters. The gateway
//! checks the fully decoded path, and then sends the path unchanged or refuses it.

use crate::rejection::{Rejection, rejection};
use std::borrow::Cow;

/// The most rounds of percent decoding. Honest clients never encode a path more often.
const ROUNDS: usize = 8;

/// The parts of a path, decoded until no escapes are left.
pub(crate) fn segments(path: &str) -> Result<Vec<String>, Rejection> {
    let bad = |why: &str| {
        rejection(400, "invalid_request_error", format!("the path {why}; send it plainly"))
    };
    let plain = unpacked(path).ok_or_else(|| bad("is packed in a way that cannot be undone"))?;
    let upwards = |part: &str| {
        let end = part.find([';', '?', '#', '\0']).unwrap_or(part.len());
        matches!(part.get(..end), Some("." | ".."))
    };
    if plain.split(['/', '\\']).any(upwards) {
        return Err(bad("leads upwards"));
    }
    if !plain.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(bad("has signs that belong in no path"));
    }
    if plain.contains(['\\', ';', '?', '#']) {
        return Err(bad("has a sign at which some servers end it"));
    }
    let parts = plain.strip_prefix('/').unwrap_or(&plain);
    let parts = parts.strip_suffix('/').unwrap_or(parts);
    let parts: Vec<String> = parts.split('/').map(str::to_owned).collect();
    if parts.len() > 1 && parts.iter().any(String::is_empty) {
        return Err(bad("has an empty part"));
    }
    Ok(parts)
}

/// Whether a name can be part of a provider's path without changing the path.
pub(crate) fn fits_path(name: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && !matches!(c, '\\' | ';' | '?' | '#' | '%');
    name.chars().all(is_plain) && !name.split('/').any(|part| matches!(part, "" | "." | ".."))
}

/// The name of a query parameter, decoded and in lower case.
pub(crate) fn decoded_name(name: &str) -> String {
    unpacked(name).map_or_else(|| name.to_ascii_lowercase(), |name| name.to_ascii_lowercase())
}

/// Decodes percent escapes until none are left. `None` if there are too many rounds, if the result is not text, or if
/// an escape lacks its digits.
pub(crate) fn unpacked(text: &str) -> Option<Cow<'_, str>> {
    let mut plain = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        if !plain.contains('%') {
            return Some(plain);
        }
        plain = Cow::Owned(once(&plain)?);
    }
    None
}

fn once(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_10_a_path_that_somebody_could_read_as_another_is_refused() {
        for path in [
            "/..",
            "/v1/../x",
            "/v1/./x",
            "/v1/%2e%2e/x",
            "/v1/%252e%252e/x",
            "/v1/%25252e%25252e/x",
            "/v1/.%2e/x",
            "/v1/..%2fx",
            "/v1/..%252fx",
            "/v1/..%5cx",
            "/v1/..\\x",
            "/v1/a\\b",
            "/v1/..;/x",
            "/v1/..%3b/x",
            "/v1/a;b=c",
            "/v1/..%00/x",
            "/v1/a%0ab",
            "/v1/a%7f",
            "/v1/..%23/x",
            "/v1/a%23b",
            "/v1/a%3fmodel=b",
            "/v1/a%253fb",
            "/v1/%c0%ae%c0%ae/x",
            "/v1/%ef%bc%8e%ef%bc%8e/x",
            "/v1/%20",
            "/v1/a%2",
            "/v1/a%zz",
            "/v1/a%+1",
            "/v1/100%25",
            "/v1//x",
            "//evil.example/x",
        ] {
            assert!(segments(path).is_err(), "{path}");
        }
        let mut packed = "..".to_owned();
        for _ in 0..12 {
            packed = packed.replace('%', "%25").replace('.', "%2e");
            assert!(segments(&format!("/v1/{packed}/x")).is_err(), "{packed}");
        }
    }

    #[test]
    fn other_paths_are_taken_apart_as_their_reader_does() {
        for (path, expected) in [
            ("/", &[""][..]),
            ("/v1/models", &["v1", "models"]),
            ("/v1/models/", &["v1", "models"]),
            ("/v1/models/a:generateContent", &["v1", "models", "a:generateContent"]),
            ("/model/arn%3Aaws%3Ax%2Fy/converse", &["model", "arn:aws:x", "y", "converse"]),
            ("/v1/files/a...b", &["v1", "files", "a...b"]),
            ("/v1/%72esponses/%2572", &["v1", "responses", "r"]),
        ] {
            assert_eq!(segments(path).unwrap(), expected, "{path}");
        }
    }

    #[test]
    fn t_10_a_name_stays_one_name_in_a_path() {
        for name in [
            "gemini-3-pro",
            "publishers/google/models/gemini-3",
            "arn:aws:bedrock:us-east-1:1:inference-profile/x",
            "claude@20250101",
            "gpt-oss:20b",
            "a b",
        ] {
            assert!(fits_path(name), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "flash/../../models/pro",
            "flash/./x",
            "a//b",
            "/a",
            "a/",
            "a?b",
            "a#b",
            "a%2fb",
            "a;b",
            "a\\b",
            "a\nb",
        ] {
            assert!(!fits_path(name), "{name}");
        }
    }
}

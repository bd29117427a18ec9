//! Headers that carry a credential: `Authorization: Bearer ...`, `Cookie: ...`.

use super::assigned::{self, Start};
use super::pattern::{CERTAIN, Fit};
use super::set::{ALNUM, NAME, PRINTABLE, Set};
use super::text::{More, Text};
use super::words::is_named;
use super::{judge, name};

const VALUE: Set = PRINTABLE.without(Set::of("\"'`\\<>[],;"));
/// Shorter values are not judged.
const LEAST: usize = 8;
/// The most parts of a value that are read.
const PARTS: usize = 16;

/// Names of the parts of a value that are secret.
const SECRETS: [&[u8]; 15] = [
    b"signature",
    b"oauth_signature",
    b"oauth_token",
    b"oauth_verifier",
    b"mac",
    b"token",
    b"access_token",
    b"response",
    b"apikey",
    b"api_key",
    b"key",
    b"secret",
    b"password",
    b"sig",
    b"auth",
];

/// Returns the secret parts in the value of a header whose name ends at `at`: the parts with secret names, or else
/// the whole value after the name of its scheme.
pub(super) fn fits(text: Text<'_>, at: usize) -> Result<Vec<Fit>, More> {
    if text.run(at, NAME, 1)? > 0 {
        return Ok(Vec::new());
    }
    let Some(Start { at: mut from, quote, is_prose: false, is_element: false }) =
        assigned::start(text, at, 0)?
    else {
        return Ok(Vec::new());
    };
    // After a name in quotes, a value without quotes is a variable, and a text after a comma may be the next name.
    let is_string = text.part(at, from).iter().find(|byte| **byte > b' ' && **byte != b'\\');
    let is_listed = text.part(at, from).contains(&b',');
    let may_be_name =
        is_listed || quote.is_none() && is_string.is_some_and(|byte| b"\"'`".contains(byte));
    // Skips `Bearer`, `Basic`, `Token`, and the schemes `Digest` and `AWS4-HMAC-SHA256`, whose values have several
    // parts.
    let word = text.run(from, ALNUM.or(Set::of("-")), 32)?;
    if word > 0 && text.byte(from + word)? == Some(b' ') {
        from += word + 1;
    }
    if let Some(parts) = parts(text, from)? {
        return Ok(parts);
    }
    let length = text.run(from, VALUE, CERTAIN)?;
    let to = from + length;
    let open = (length == CERTAIN).then_some(VALUE);
    let value = text.part(from, to);
    let plain = value.strip_suffix(b"}").or(value.strip_suffix(b")")).unwrap_or(value);
    let is_other = may_be_name && (is_named(plain, 2) || name::is_path_of_names(plain));
    let is_value = is_value(value) && !is_other;
    Ok(is_value.then_some(Fit { from, to, open }).into_iter().collect())
}

/// The secret ones of `name="value", name=value`, if some are named so or quoted.
fn parts(text: Text<'_>, at: usize) -> Result<Option<Vec<Fit>>, More> {
    let mut found = Vec::new();
    let (mut here, mut is_named) = (at, false);
    for _ in 0..PARTS {
        let name = text.part(here, here + text.run(here, NAME, 32)?);
        here += name.len();
        if name.is_empty() || text.byte(here)? != Some(b'=') {
            break;
        }
        here += 1;
        let slashes = text.run(here, Set::of("\\"), 7)?;
        let quotes = text.run(here + slashes, Set::of("\""), 1)?;
        here += slashes + quotes;
        let set = VALUE.or(Set::of(if quotes > 0 { " ,;" } else { ";" }));
        let length = text.run(here, set, CERTAIN)?;
        let (from, to) = (here, here + length);
        let is_secret = SECRETS.iter().any(|secret| name.eq_ignore_ascii_case(secret));
        is_named |= is_secret || quotes > 0;
        if is_secret && is_value(text.part(from, to)) {
            let open = (length == CERTAIN).then_some(set);
            found.push(Fit { from, to, open });
        }
        if length == CERTAIN {
            break;
        }
        here = to + if quotes > 0 { text.run(to, Set::of("\\\""), slashes + 1)? } else { 0 };
        let sign = text.run(here, Set::of(","), 1)?;
        here += sign;
        here += text.run(here, Set::of(" "), 2)?;
        if sign == 0 {
            break;
        }
    }
    Ok(is_named.then_some(found))
}

fn is_value(value: &[u8]) -> bool {
    // If a value ends with `=` and is not base64, another part begins there.
    let signs = if value.len().is_multiple_of(4) { b"+/=".as_slice() } else { b"+/" };
    let is_drawn =
        |byte: &u8| byte.is_ascii_digit() || signs.contains(byte) || byte.is_ascii_uppercase();
    let is_address = memchr::memmem::find(value, b"://").is_some();
    let is_code = value.iter().any(|byte| b"${(".contains(byte)) || judge::is_sample(value);
    let is_name = name::is_of_words(value, 3);
    value.len() >= LEAST
        && !value.contains(&b' ')
        && !is_address
        && !is_name
        && value.iter().any(is_drawn)
        && !is_code
}

/// All of a header's value, to the end of its line.
pub(super) fn line(text: Text<'_>, at: usize) -> Result<Option<Fit>, More> {
    const VALUE: Set = PRINTABLE.or(Set::of(" ")).without(Set::of("\"'`\\<>[]"));
    if text.run(at, NAME, 1)? > 0 {
        return Ok(None);
    }
    let Some(Start { at: from, is_prose: false, is_element: false, .. }) =
        assigned::start(text, at, 0)?
    else {
        return Ok(None);
    };
    let length = text.run(from, VALUE, CERTAIN)?;
    let value = text.part(from, from + length);
    let is_cookie = value.split(|byte| b";,".contains(byte)).any(is_drawn_cookie);
    let open = (length == CERTAIN).then_some(VALUE);
    Ok((is_cookie && !judge::is_sample(value)).then_some(Fit { from, to: from + length, open }))
}

/// Whether the pair of a name and a value may identify a session. Attributes for the lifetime or the pages of a
/// cookie do not.
fn is_drawn_cookie(pair: &[u8]) -> bool {
    const ABOUT: [&[u8]; 7] =
        [b"path", b"domain", b"expires", b"max-age", b"samesite", b"version", b"priority"];
    let pair = pair.trim_ascii();
    let Some((name, value)) = memchr::memchr(b'=', pair).and_then(|at| pair.split_at_checked(at))
    else {
        return false;
    };
    value.len() > LEAST
        && value.iter().any(u8::is_ascii_digit)
        && !name.contains(&b' ')
        && !value.iter().any(|byte| b"{(".contains(byte))
        && !is_named(value.get(1..).unwrap_or_default(), 2)
        && !ABOUT.iter().any(|about| name.eq_ignore_ascii_case(about))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let at = text.find(':').unwrap();
        let fits = fits(Text::whole(text.as_bytes()), at).unwrap();
        fits.iter().filter_map(|fit| text.get(fit.from..fit.to)).collect()
    }

    #[test]
    fn the_secret_parts_of_a_value_are_found() {
        for (text, expected) in [
            ("a: Bearer v4lue9xyZ", vec!["v4lue9xyZ"]),
            ("a: Token token=\"v4lue9xyZ\", email=\"x\"", vec!["v4lue9xyZ"]),
            ("a: Token token=\\\"v4lue9xyZ\\\"", vec!["v4lue9xyZ"]),
            (
                "a: H1-X Credential=ID/2025/x, SignedHeaders=a;b, Signature=v4lue9xyZ",
                vec!["v4lue9xyZ"],
            ),
            ("a: Hawk id=\"x\", ts=\"1\", mac=\"v4lue9xyZ=\", ext=\"y\"", vec!["v4lue9xyZ="]),
            (
                "a: OAuth oauth_token=\"v4lue9xyA\", oauth_signature=\"v4lue9xyB\"",
                vec!["v4lue9xyA", "v4lue9xyB"],
            ),
            ("a: Basic dXNlcjpwYXNz==", vec!["dXNlcjpwYXNz=="]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
        for text in ["a: Bearer token", "a: Token token=\"$TOKEN12345\"", "a: Bearer ${TOKEN9}"] {
            assert!(found(text).is_empty(), "{text}");
        }
    }
}

//! Removes a request's own credential from its answer.
//!
//! Providers quote keys in their errors, and the reader of the answer need not be the owner of the key. The
//! replacement has the same length, so that lengths that were sent before stay true.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue};
use memchr::memmem::Finder;

use crate::request::escape;

/// A shorter text may occur anywhere, and is no reliable secret.
const SHORTEST: usize = 8;
/// Local servers take any key, so that people write words: `EMPTY`, `sk-no-key-required`. A word that is longer is a
/// secret all the same.
const LONGEST_WORD: usize = 20;
/// The replacement of each byte.
const MASK: u8 = b'*';
/// The length of the beginning of a key that may stay visible, because it shows the kind of key.
const OPEN: usize = 4;
/// The least number of ellipsis signs in a row that mark a gap in a key.
const ELLIPSIS: usize = 3;
/// The longest text that is read as a key with a gap.
const LONGEST_PARTIAL: usize = 512;

/// The forms in which one secret can come back: as it is, as JSON escapes it, as URLs do, and inside of base64.
#[derive(Debug)]
pub(crate) struct Forms {
    finders: Vec<Finder<'static>>,
    longest: usize,
    /// The bytes that occur in any of the forms.
    alphabet: [bool; 256],
}

impl Forms {
    /// The forms of a secret; `None` for a dummy word in place of a key.
    pub(crate) fn of(secret: &str) -> Option<Self> {
        let is_word =
            secret.bytes().all(|byte| byte.is_ascii_alphabetic() || b"-_ ".contains(&byte));
        if secret.len() < SHORTEST || (is_word && secret.len() < LONGEST_WORD) {
            return None;
        }
        let mut forms = vec![secret.as_bytes().to_vec()];
        let mut add = |form: Vec<u8>| {
            if form.len() >= SHORTEST && !forms.contains(&form) {
                forms.push(form);
            }
        };
        let json = json_escaped(secret);
        add(json.replace('/', "\\/").into_bytes());
        add(json.into_bytes());
        let percent = escape(secret);
        add(with_small_escapes(&percent).into_bytes());
        add(percent.into_bytes());
        for shift in 0..3 {
            add(encoded(secret, shift, false));
            add(encoded(secret, shift, true));
        }
        let longest = forms.iter().map(Vec::len).max().unwrap_or_default();
        let mut alphabet = [false; 256];
        for byte in forms.iter().flatten() {
            if let Some(is_in) = alphabet.get_mut(usize::from(*byte)) {
                *is_in = true;
            }
        }
        let finders = forms.iter().map(|form| Finder::new(form).into_owned()).collect();
        Some(Forms { finders, longest, alphabet })
    }

    /// Returns the ranges of the secret in a text.
    fn found(&self, text: &[u8]) -> Vec<(usize, usize)> {
        let places = |finder: &Finder<'static>| {
            let length = finder.needle().len();
            finder.find_iter(text).map(|at| (at, at + length)).collect::<Vec<_>>()
        };
        self.finders.iter().flat_map(places).collect()
    }

    /// How many bytes at the end of a text may be the beginning of the secret.
    fn begun(&self, text: &[u8]) -> usize {
        let is_in = |byte: &&u8| self.alphabet.get(usize::from(**byte)).copied().unwrap_or(false);
        let run = text.iter().rev().take(self.longest.saturating_sub(1)).take_while(is_in).count();
        let tail = text.get(text.len() - run..).unwrap_or_default();
        let begins = |at: &usize| {
            let part = tail.get(*at..).unwrap_or_default();
            self.finders.iter().any(|finder| finder.needle().starts_with(part))
        };
        (0..run).find(begins).map_or(0, |at| run - at)
    }

    /// Returns the ranges of a key that is quoted with a mask in its middle: its beginning after [`OPEN`], and its
    /// end.
    fn partial(&self, text: &[u8]) -> Vec<(usize, usize)> {
        let Some(key) = self.finders.first().map(Finder::needle) else { return Vec::new() };
        let Some(begin) = key.get(..OPEN) else { return Vec::new() };
        let mut places = Vec::new();
        for at in memchr::memmem::find_iter(text, begin) {
            let rest = text.get(at..).unwrap_or_default();
            let rest = rest.get(..rest.len().min(LONGEST_PARTIAL)).unwrap_or_default();
            let same = rest.iter().zip(key).take_while(|(one, other)| one == other).count();
            let tail = rest.get(same..).unwrap_or_default();
            let signs = tail.iter().take_while(|byte| is_ellipsis(**byte)).count();
            if signs < ELLIPSIS {
                continue;
            }
            let end = tail.get(signs..).unwrap_or_default();
            let end =
                end.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte));
            let end = end.count();
            places.push((at + OPEN, at + same));
            places.push((at + same + signs, at + same + signs + end));
        }
        places
    }
}

/// Signs for a gap in a key; also the bytes of `…` and `•`.
fn is_ellipsis(byte: u8) -> bool {
    matches!(byte, b'*' | b'.' | b'x' | b'X' | b'#' | 0xe2 | 0x80 | 0xa6 | 0xa2)
}

/// Percent escapes in small letters, as some servers write them.
fn with_small_escapes(text: &str) -> String {
    let mut left = 0;
    let lower = |c: char| {
        left = if c == '%' { 3 } else { left };
        let is_digit = left > 0;
        left -= i32::from(is_digit);
        if is_digit { c.to_ascii_lowercase() } else { c }
    };
    text.chars().map(lower).collect()
}

/// The secret inside a JSON string, without the quotes around it.
fn json_escaped(secret: &str) -> String {
    let quoted = serde_json::Value::from(secret).to_string();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

/// Encodes the secret in base64 as if `shift` bytes of a group came before it. Leaves out the letters at both ends,
/// which depend on the neighbouring bytes.
fn encoded(secret: &str, shift: usize, is_for_urls: bool) -> Vec<u8> {
    let mut bytes = vec![0; shift];
    bytes.extend_from_slice(secret.as_bytes());
    let text =
        if is_for_urls { URL_SAFE_NO_PAD.encode(&bytes) } else { STANDARD_NO_PAD.encode(&bytes) };
    let first = (shift * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    text.as_bytes().get(first..last).unwrap_or_default().to_vec()
}

/// The secrets that must not come back with one answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Vec<Arc<Forms>>);

impl Secrets {
    pub(crate) fn new(forms: Vec<Arc<Forms>>) -> Self {
        Secrets(forms)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn found(&self, text: &[u8]) -> Vec<(usize, usize)> {
        self.0.iter().flat_map(|forms| forms.found(text)).collect()
    }

    /// Takes them out of the values of headers.
    pub(crate) fn leave_headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            let mut places = self.found(value.as_bytes());
            places.extend(self.0.iter().flat_map(|forms| forms.partial(value.as_bytes())));
            if places.is_empty() {
                continue;
            }
            let mut bytes = value.as_bytes().to_vec();
            mask(&mut bytes, &places);
            // A value whose letters became stars is a value.
            *value = HeaderValue::from_bytes(&bytes).unwrap_or(HeaderValue::from_static(""));
        }
    }

    /// Removes the visible rest of a secret from an error's text, if the provider has masked its middle.
    pub(crate) fn leave_partial(&self, text: Bytes) -> Bytes {
        let places: Vec<_> = self.0.iter().flat_map(|forms| forms.partial(&text)).collect();
        masked(text, &places)
    }
}

fn masked(text: Bytes, places: &[(usize, usize)]) -> Bytes {
    if places.is_empty() {
        return text;
    }
    let mut bytes = BytesMut::from(text);
    mask(&mut bytes, places);
    bytes.freeze()
}

fn mask(text: &mut [u8], places: &[(usize, usize)]) {
    for (from, to) in places {
        text.get_mut(*from..*to).unwrap_or_default().fill(MASK);
    }
}

/// Removes secrets from a body while it comes. Each byte is read a fixed number of times, and only a possible
/// beginning of a secret is held back.
#[derive(Debug)]
pub(crate) struct Scrubber {
    secrets: Secrets,
    held: Bytes,
}

impl Scrubber {
    pub(crate) fn new(secrets: Secrets) -> Self {
        Scrubber { secrets, held: Bytes::new() }
    }

    pub(crate) fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }

    /// Takes the next bytes, and returns all bytes that cannot be the beginning of a secret.
    pub(crate) fn push(&mut self, bytes: Bytes) -> Bytes {
        let bytes = match self.held.is_empty() {
            true => bytes,
            false => [std::mem::take(&mut self.held), bytes].concat().into(),
        };
        let mut out = masked_all(&self.secrets, bytes);
        let begun = self.secrets.0.iter().map(|forms| forms.begun(&out)).max().unwrap_or_default();
        self.held = out.split_off(out.len() - begun);
        out
    }

    /// Ends the body. A held beginning is masked if it is long enough to reveal something.
    pub(crate) fn end(&mut self) -> Bytes {
        let held = std::mem::take(&mut self.held);
        let places = [(OPEN, held.len())];
        if held.len() < SHORTEST { held } else { masked(held, &places) }
    }
}

fn masked_all(secrets: &Secrets, bytes: Bytes) -> Bytes {
    let places = secrets.found(&bytes);
    masked(bytes, &places)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "sk-canary/0815+\"Zz9\\";

    fn secrets(key: &str) -> Secrets {
        Secrets::new(Forms::of(key).map(Arc::new).into_iter().collect())
    }

    /// The text as it comes through in pieces that end at these places.
    fn through(key: &str, text: &[u8], size: usize) -> Vec<u8> {
        let mut scrubber = Scrubber::new(secrets(key));
        let mut out = Vec::new();
        for piece in text.chunks(size.max(1)) {
            out.extend_from_slice(&scrubber.push(Bytes::copy_from_slice(piece)));
            let longest = scrubber.secrets.0.iter().map(|forms| forms.longest).max();
            assert!(scrubber.held.len() < longest.unwrap_or(1), "more is held back than a secret");
        }
        out.extend_from_slice(&scrubber.end());
        out
    }

    /// The key in every form, each between other text.
    fn quoted(key: &str) -> Vec<String> {
        let json = json_escaped(key);
        let mut all = vec![
            format!("a {key} b"),
            format!("{{\"error\":\"Incorrect API key provided: {json}.\"}}"),
            format!("{{\"error\":\"{}\"}}", json.replace('/', "\\/")),
            format!("?key={}&x=1", escape(key)),
            format!("?key={}&x=1", with_small_escapes(&escape(key))),
        ];
        for before in ["", "u", "us", "user:"] {
            let text = format!("{before}{key}");
            all.push(format!("Basic {}==", STANDARD_NO_PAD.encode(&text)));
            all.push(format!("x={}&", URL_SAFE_NO_PAD.encode(text + "more")));
        }
        all
    }

    /// Whether any run of eight letters of the key is there in any form.
    fn tells(key: &str, text: &[u8]) -> bool {
        let forms = Forms::of(key).unwrap();
        let is_there = |part: &[u8]| memchr::memmem::find(text, part).is_some();
        forms.finders.iter().any(|finder| finder.needle().windows(SHORTEST).any(is_there))
    }

    #[test]
    fn t_7_a_key_is_taken_out_in_every_form_and_however_the_body_is_cut() {
        for key in [KEY, "sk-proj-AbCdEf0123456789", "0123456789abcdef", "пароль-1234"] {
            for text in quoted(key) {
                assert!(tells(key, text.as_bytes()), "{text}");
                let whole = through(key, text.as_bytes(), text.len());
                assert!(!tells(key, &whole), "{}", String::from_utf8_lossy(&whole));
                assert_eq!(whole.len(), text.len(), "lengths stay true");
                for size in 1..text.len() {
                    assert_eq!(through(key, text.as_bytes(), size), whole, "{size}: {text}");
                }
            }
        }
    }

    #[test]
    fn what_only_begins_like_a_key_passes() {
        let text = "sk-canary is a bird; sk-canary/08 is none; sk";
        for size in 1..=text.len() {
            assert_eq!(through(KEY, text.as_bytes(), size), text.as_bytes(), "{size}");
        }
        // At the end of a body the rest of the text is unknown.
        let cut = through(KEY, b"key: sk-canary/08", 5);
        assert_eq!(cut, b"key: sk-c********");
    }

    #[test]
    fn words_that_stand_for_a_key_are_no_secrets() {
        for word in ["", "EMPTY", "simulated", "sk-no-key-required", "k", "a1b2c3d"] {
            assert!(Forms::of(word).is_none(), "{word}");
        }
        for key in ["sk-canary-0815", "abcdefghijklmnopqrst", "a1b2c3d4"] {
            assert!(Forms::of(key).is_some(), "{key}");
        }
    }

    #[test]
    fn t_7_a_key_that_its_provider_masked_tells_nothing_but_its_kind() {
        let key = "sk-svcacct-Qw3rTy7uIoP-lC0A";
        for (said, left) in [
            ("provided: sk-svcac*****lC0A. You", "provided: sk-s*************. You"),
            ("key sk-svcacct-Q...C0A,", "key sk-s********...***,"),
            ("key sk-s****", "key sk-s****"),
            ("key sk-svcac…0A\"", "key sk-s****…**\""),
            ("the sk-svcacct kind of keys", "the sk-svcacct kind of keys"),
            ("another: sk-proj-****abcd", "another: sk-proj-****abcd"),
        ] {
            let masked = secrets(key).leave_partial(Bytes::from(said));
            assert_eq!(String::from_utf8_lossy(&masked), left);
        }
    }

    #[test]
    fn t_7_headers_lose_it_too() {
        let mut headers = HeaderMap::new();
        headers.insert("x-echo", HeaderValue::from_str("Bearer sk-canary-0815 it was").unwrap());
        headers.insert("x-masked", HeaderValue::from_static("sk-canar***815"));
        headers.insert("x-other", HeaderValue::from_static("sk-canary"));
        secrets("sk-canary-0815").leave_headers(&mut headers);
        assert_eq!(headers["x-echo"], "Bearer ************** it was");
        assert_eq!(headers["x-masked"], "sk-c**********");
        assert_eq!(headers["x-other"], "sk-canary");
    }

    proptest! {
        #[test]
        fn t_7_no_cut_and_no_neighbour_lets_a_key_through(
            key in "[a-zA-Z0-9/+_=-]{7,40}[0-9]",
            before in "[ -~]{0,40}",
            after in "[ -~]{0,40}",
            overlap in 0usize..8,
            sizes in prop::collection::vec(1usize..20, 1..40),
        ) {
            // A beginning of the key right before the key itself.
            let begun: String = key.chars().take(overlap).collect();
            let text = format!("{before}{begun}{key}{after}{key}");
            let whole = through(&key, text.as_bytes(), text.len());
            prop_assert!(!String::from_utf8_lossy(&whole).contains(&key));
            prop_assert_eq!(whole.len(), text.len());
            let mut scrubber = Scrubber::new(secrets(&key));
            let (mut out, mut rest, mut at) = (Vec::new(), text.as_bytes(), 0);
            while !rest.is_empty() {
                let size = sizes[at % sizes.len()].min(rest.len());
                at += 1;
                out.extend_from_slice(&scrubber.push(Bytes::copy_from_slice(&rest[..size])));
                rest = &rest[size..];
            }
            out.extend_from_slice(&scrubber.end());
            prop_assert!(!String::from_utf8_lossy(&out).contains(&key));
            prop_assert_eq!(out.len(), text.len());
        }
    }
}

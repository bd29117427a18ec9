//! Laws of the masker over any bytes.

use super::random::pieces;
use std::sync::LazyLock;
use thinkthrough_mask::{Masker, Tiers};

static MASKER: LazyLock<Masker> = LazyLock::new(|| {
    let mut masker = Masker::new(Tiers::ALL, &[7; 32]);
    masker.register("registered s3cret/value");
    masker
});

/// Any cut of any text gives the masked whole, what came out is never taken back, and masked text stays as it is.
///
/// The first bytes choose where to cut; the rest is the text.
pub(crate) fn split_invariance(bytes: &[u8]) {
    let Some((&[seed, ..], text)) = bytes.split_at_checked(1) else { return };
    let whole = MASKER.mask(text);
    let mut stream = MASKER.stream();
    let mut out = Vec::new();
    for piece in pieces(text, seed) {
        stream.push(piece, &mut out);
        assert!(whole.starts_with(&out), "something came out that had to be taken back");
    }
    stream.end(&mut out);
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&whole));
    let again = MASKER.mask(&whole);
    assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&whole), "masked twice");
}

/// What texts with secrets are made of.
pub(crate) const WORDS: &[&[u8]] = &[
    b"ghp_",
    b"sk-ant-",
    b"AKIA",
    b"eyJhbGciOiJIUzI1NiJ9",
    b".eyJzdWIiOiIxMjM0NSJ9.",
    b"password",
    b"secret=",
    b"api_key",
    b": ",
    b" is ",
    b"\"",
    b"'",
    b"\\n",
    b"\\\"",
    b"://u",
    b":p4ss0w",
    b"@host",
    b"a1B2c3D4e5F6g7H8",
    b"0123456789abcdef",
    b"registered s3cret/value",
    b"[masked:password:abcdef]",
    b"7aB9xQ2zK5mW8rT3vY6n1c",
    b"3f9a12bc3f9a12bd",
    b"-us12",
    b"tt-12345-",
    b"123456789012345|",
    b"[masked:",
    b"-----BEGIN ",
    b"PRIVATE KEY-----",
    b"-----END ",
    b"\nMIIEvQIBADANBgkqhkiG9w0B\n",
    b"Authorization: ",
    b"Bearer ",
    b"Cookie: a=",
    b";",
    b"twilio",
    b"Version: 1\n",
];

//! Laws about upstream data, under the driver of the core's laws.

use crate::config::AnswerCaps;
use crate::events::{Events, Gauge};
use crate::gzip::{Inflate, InflateError};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, HeaderValue};
use std::io::Write as _;

#[macro_use]
#[path = "../../core/tests/laws/driver.rs"]
mod driver;
#[path = "../../core/tests/laws/random.rs"]
mod random;

use random::pieces;

const WORDS: &[&[u8]] = &[
    b"data: {}\n\n",
    b"data: [DONE]\r\n\r\n",
    b"event: x\r",
    b"\r\n",
    b"\n\n",
    b": comment\n",
    b"{\"done\":true}\n",
    b"\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0",
    b"\0\0\0\x01",
    b"\xff\xff\xff\xff",
];

/// The cuts of a stream do not change its measure: whether a limit is exceeded, and, for lines, how many bytes belong
/// to finished events.
fn a_stream_is_measured_the_same_however_it_is_cut(bytes: &[u8]) {
    let &[kind, seed, cap, ref stream @ ..] = bytes else { return };
    let events = [Events::Lines, Events::Ndjson, Events::Sized][usize::from(kind) % 3];
    let small = 1 + usize::from(cap);
    let caps = AnswerCaps { line: small, event: 2 * small, events: small, ..AnswerCaps::default() };
    let whole = measured(events, caps, &[stream]);
    let split = measured(events, caps, &pieces(stream, seed));
    assert_eq!(whole.is_some(), split.is_some(), "{events:?}: within the limits or not");
    if let (Some(whole), Some(split), true) = (whole, split, events != Events::Sized) {
        // A line feed that comes later than its carriage return counts with the next piece.
        assert!(split <= whole && whole - split <= 1, "{events:?}: {whole}, in pieces {split}");
    }
}

/// The number of bytes of finished events; `None` if a limit is exceeded.
fn measured(events: Events, caps: AnswerCaps, pieces: &[&[u8]]) -> Option<usize> {
    let mut gauge = Gauge::new(events, caps);
    let (mut at, mut over) = (0, 0);
    for piece in pieces {
        gauge.take(piece).ok()?;
        assert!(gauge.over() <= piece.len(), "no more than came");
        if gauge.over() > 0 {
            over = at + gauge.over();
        }
        at += piece.len();
    }
    Some(over)
}

/// Decompression restores the compressed text, for all cuts. A truncated text is never accepted as whole. Any bytes
/// are accepted or refused, and never give more than a hundred times their size.
fn gzip_is_undone_or_refused(bytes: &[u8]) {
    let &[seed, cut, ref text @ ..] = bytes else { return };
    let undone = |bytes: &[&[u8]]| -> Result<Vec<u8>, InflateError> {
        let value = (CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let mut headers = HeaderMap::from_iter([value]);
        let inflate = Inflate::for_headers(&mut headers).expect("gzip is known");
        let mut inflate = inflate.expect("it is compressed");
        let mut out = Vec::new();
        for piece in bytes {
            out.extend_from_slice(&inflate.push(piece)?);
        }
        out.extend_from_slice(&inflate.end()?);
        Ok(out)
    };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).expect("into memory");
    let packed = encoder.finish().expect("into memory");
    assert_eq!(undone(&pieces(&packed, seed)).as_deref(), Ok(text));
    let short = packed.len() * usize::from(cut) / 256;
    if short > 0 {
        assert!(undone(&[&packed[..short]]).is_err(), "{short} of {} bytes", packed.len());
    }
    const FREE: usize = 1024 * 1024;
    if let Ok(any) = undone(&pieces(text, seed)) {
        assert!(any.len() <= FREE + 100 * text.len());
    }
}

laws! {
    gzip_bodies: gzip_is_undone_or_refused, 2, WORDS;
    streams_are_measured: a_stream_is_measured_the_same_however_it_is_cut, 3, WORDS;
}

//! Whoever reads an answer, and for whichever caller, reads the same in it and tells it the same.

use crate::bodies::Body;
use crate::faces::Way;
use crate::random::Random;
use thinkthrough_core::wire;

pub(crate) fn check(body: &Body) {
    let mut random = Random(0xface);
    let bytes = body.bytes.as_slice();
    for to in wire::ALL.iter().copied() {
        let way = Way { from: body.wire, to, is_stream: body.is_stream, cut: None };
        let whole = way.told(&[bytes]);
        assert_eq!(way.told(&random.pieces(bytes)), whole, "{body}: {way:?}, in pieces");
        // The body ends early, and the transport may know why or not.
        let begun = &bytes[..random.below(bytes.len().max(1))];
        let cut = [None, Some("connection reset")][random.below(2)];
        Way { cut, ..way }.told(&random.pieces(begun));
    }
    Way { from: body.wire, to: body.wire, is_stream: body.is_stream, cut: None }.told(&[]);
}

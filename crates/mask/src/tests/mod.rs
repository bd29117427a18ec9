//! Every rule against its samples, and the laws over all of them.

mod benign;
mod boundaries;
mod prefixes;
pub(super) mod samples;
mod sets;
mod sets_named;
mod splits;

use super::{Masker, Tiers};

/// A masker with all tiers and a key of the tests.
pub(super) fn masker() -> Masker {
    Masker::new(Tiers::ALL.and(Tiers::PERSONAL), &[7; 32])
}

/// The masked text if every piece is pushed by itself.
pub(super) fn in_pieces<'t>(
    masker: &Masker,
    pieces: impl IntoIterator<Item = &'t [u8]>,
) -> Vec<u8> {
    let mut stream = masker.stream();
    let mut out = Vec::new();
    for piece in pieces {
        stream.push(piece, &mut out);
    }
    stream.end(&mut out);
    out
}

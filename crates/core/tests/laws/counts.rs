//! Laws of token counts.

use thinkthrough_core::tokens::{
    EffectiveCount, IncrementalEstimate, Piece, PieceKey, estimate_conservative, utf16_units,
};

/// However a conversation was edited, its count is that of the messages now there; bytes are a story of edits.
pub(crate) fn request_count(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    assert_eq!(utf16_units(&text), text.encode_utf16().count() as u64);
    let mut count = EffectiveCount::new(None);
    let mut messages: Vec<&str> = Vec::new();
    for edit in text.split('\n') {
        let keep = messages.len().min(edit.len() % 9);
        messages.truncate(keep);
        messages.extend(edit.split(' '));
        let pieces =
            messages.iter().map(|text| Piece { key: PieceKey::of_text(text), text, overhead: 1 });
        let effective = count.update(keep, pieces.skip(keep));
        let expected: u64 = messages.iter().map(|text| estimate_conservative(text) + 1).sum();
        assert_eq!(effective.count.tokens, expected);
    }
    let mut growing = IncrementalEstimate::default();
    text.split_inclusive(' ').for_each(|part| growing.push(part));
    assert_eq!(growing.total(), estimate_conservative(&text));
}

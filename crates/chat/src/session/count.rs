//! Counts the tokens of the next request from its real body, piece by piece.

use super::message::{Count, Counted};
use thinkthrough_core::exchange::build;
use thinkthrough_core::request::Request;
use thinkthrough_core::tokens::{EffectiveCount, Piece, PieceKey, Tokenizer};
use thinkthrough_json::{Doc, Val};

/// Counts requests. Only pieces that were not in the last request are tokenized.
pub struct Counter<'t> {
    counts: EffectiveCount<'t>,
}

impl<'t> Counter<'t> {
    /// Counts with a tokenizer, or estimates without one.
    #[must_use]
    pub fn new(tokenizer: Option<&'t dyn Tokenizer>) -> Self {
        Counter { counts: EffectiveCount::new(tokenizer) }
    }

    /// Builds the request and counts it.
    pub fn count(&mut self, count: Count) -> Counted {
        let Count { number, target, settings, contents, tools } = count;
        let request = Request { contents, tools, stream: true, ..Request::default() };
        let built = build(&request, &target, &settings);
        let pieces = pieces(&built.body);
        let pieces =
            pieces.iter().map(|text| Piece { key: PieceKey::of_text(text), text, overhead: 0 });
        let counted = self.counts.update(0, pieces);
        Counted { number, count: counted.count, warning: counted.warning }
    }
}

impl std::fmt::Debug for Counter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counter").field("count", &self.counts.count()).finish()
    }
}

/// Cuts a body between the elements of its arrays. Every byte is in exactly one piece, in order, so that the sum is
/// the count of the whole body, and an old message is again the same piece.
fn pieces(body: &str) -> Vec<&str> {
    let mut cuts = vec![0];
    if let Ok(doc) = Doc::parse_str(body) {
        let ends = |value: Val<'_>| value.span().end;
        for (_, value) in doc.root().entries() {
            if value.is_array() {
                cuts.extend(value.items().map(ends));
            }
        }
    }
    cuts.push(body.len());
    cuts.windows(2)
        .filter_map(|cut| match cut {
            [from, to] => body.get(*from..*to).filter(|piece| !piece.is_empty()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn every_byte_is_in_one_piece() {
        let body = r#"{"model":"m","messages":[{"a":1},{"b":[1,2]}],"tools":[],"x":true}"#;
        let cut = pieces(body);
        assert_eq!(cut.concat(), body);
        assert_eq!(cut[0], r#"{"model":"m","messages":[{"a":1}"#);
        assert_eq!(cut[1], r#",{"b":[1,2]}"#);
    }
}

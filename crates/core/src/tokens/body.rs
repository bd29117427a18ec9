//! A request body cut into the parts that stay the same from turn to turn.

use super::{Effective, EffectiveCount, Piece, PieceKey};
use crate::json::Doc;

impl EffectiveCount<'_> {
    /// Counts the body of a built request of any wire: each element of its lists (messages, items, tools) is a piece,
    /// and the rest is one more. Only pieces that were not there before are read by the tokenizer; the body itself is
    /// parsed and hashed. A body that is not a JSON object is one piece.
    pub fn of_body(&mut self, body: &str) -> Effective {
        /// The comma or bracket between two elements.
        const BETWEEN: u64 = 1;
        let Ok(doc) = Doc::parse_str(body) else {
            return self.update(0, [piece(body, 0)]);
        };
        let mut rest = String::new();
        let mut pieces = Vec::new();
        for (key, value) in doc.root().entries() {
            rest.push_str(&key);
            if value.is_array() {
                pieces.extend(value.items().map(|item| piece(item.raw(), BETWEEN)));
            } else {
                rest.push_str(value.raw());
            }
        }
        if pieces.is_empty() && rest.is_empty() {
            return self.update(0, [piece(body, 0)]);
        }
        pieces.push(piece(&rest, 0));
        self.update(0, pieces)
    }
}

fn piece(text: &str, overhead: u64) -> Piece<'_> {
    Piece { key: PieceKey::of_text(text), text, overhead }
}

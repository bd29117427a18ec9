//! The token count of the request that is really built, kept up to date from turn to turn.

use std::collections::BTreeMap;

use super::{TokenCount, TokenSource, Tokenizer, TokenizerFailure, count_or_estimate};

/// One message, or another part of the request, as it is built for the wire.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Identifies the text without reading it.
    pub key: PieceKey,
    /// The text as it will be sent.
    pub text: &'a str,
    /// Tokens that the piece costs beside its text, such as role marks or media.
    pub overhead: u64,
}

/// Identifies the text and the overhead of a piece: every change of either must change the key.
///
/// A conversation that numbers its messages uses the message's id and a revision, which covers its content and the
/// settings that shape it; without such a number, [`PieceKey::of_text`] reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PieceKey(u64, u64);

/// The cost of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// Tokens of the whole request; its source is the weakest of its pieces'.
    pub count: TokenCount,
    /// How many pieces had to be read for it; the others were known.
    pub read: usize,
    /// The tokenizer's first failure in this conversation, for one warning.
    pub warning: Option<TokenizerFailure>,
}

/// Keeps the counts of a conversation's pieces, so that only new or changed ones are read.
///
/// The sums are kept incrementally: the cost of an update depends only on its new pieces. Counts of pieces that a
/// change of settings took away are remembered for a while, since settings are often changed back. Another tokenizer
/// means other counts, hence another value of this type.
pub struct EffectiveCount<'t> {
    tokenizer: Option<&'t dyn Tokenizer>,
    pieces: Vec<Counted>,
    tokens: u64,
    estimated: usize,
    known: BTreeMap<PieceKey, Counted>,
    warned: bool,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    key: PieceKey,
    count: TokenCount,
}

impl PieceKey {
    /// A key from a message's id and its revision.
    #[must_use]
    pub fn of_revision(id: u64, revision: u64) -> Self {
        Self(id, revision)
    }

    /// A key from the text itself, in time linear in the text.
    ///
    /// The two halves are independent 64-bit hashes. They guard against accidents, not against an adversary who
    /// searches for two texts with one key; such a pair would only make a count wrong.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        const FNV_PRIME: u64 = 0x0000_0100_0000_01B3;
        const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
        let (mut first, mut second) = (0xCBF2_9CE4_8422_2325_u64, text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            let word = chunk.iter().fold(0_u64, |word, byte| (word << 8) | u64::from(*byte));
            first = (first ^ word).wrapping_mul(FNV_PRIME).rotate_left(29);
            second = second.rotate_left(23).wrapping_add(word).wrapping_mul(GOLDEN_RATIO);
        }
        Self(mixed(first), mixed(second))
    }
}

/// Spreads every input bit over the output, so that the last bytes count as much as the first.
fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    hash ^ (hash >> 32)
}

impl<'t> EffectiveCount<'t> {
    /// Starts with no pieces.
    #[must_use]
    pub fn new(tokenizer: Option<&'t dyn Tokenizer>) -> Self {
        Self {
            tokenizer,
            pieces: Vec::new(),
            tokens: 0,
            estimated: 0,
            known: BTreeMap::new(),
            warned: false,
        }
    }

    /// Keeps the first `unchanged` pieces, replaces all others by `pieces`, and gives the count of the whole.
    ///
    /// A conversation that only grew passes its old length and the new pieces, at a cost that does not depend on that
    /// length. A caller that does not know the changes passes zero and all pieces; then one key is compared per
    /// piece, and still only new ones are read.
    pub fn update<'a>(
        &mut self,
        unchanged: usize,
        pieces: impl IntoIterator<Item = Piece<'a>>,
    ) -> Effective {
        let mut read = 0;
        let mut warning = None;
        let mut len = unchanged.min(self.pieces.len());
        for piece in pieces {
            if self.pieces.get(len).is_none_or(|old| old.key != piece.key) {
                let known = self.known.get(&piece.key).copied();
                let counted = known.unwrap_or_else(|| {
                    read += 1;
                    let (counted, failure) = read_piece(self.tokenizer, &piece);
                    warning = warning.take().or(failure);
                    counted
                });
                self.put(len, counted);
            }
            len += 1;
        }
        while self.pieces.len() > len {
            let last = self.pieces.pop();
            self.forget(last);
        }
        self.shed();
        let warning = warning.filter(|_| !self.warned);
        self.warned |= warning.is_some();
        Effective { count: self.count(), read, warning }
    }

    /// Forgets the pieces that are gone.
    pub fn forget_dropped(&mut self) {
        self.known.clear();
    }

    /// The count as of the last update.
    #[must_use]
    pub fn count(&self) -> TokenCount {
        let source =
            if self.estimated > 0 { TokenSource::Estimated } else { TokenSource::Tokenized };
        TokenCount { tokens: self.tokens, source }
    }

    /// The number of pieces as of the last update.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there is no piece.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The tokens of one piece, its overhead included.
    #[must_use]
    pub fn piece(&self, index: usize) -> Option<TokenCount> {
        self.pieces.get(index).map(|piece| piece.count)
    }

    fn put(&mut self, index: usize, new: Counted) {
        let old = match self.pieces.get_mut(index) {
            Some(slot) => Some(std::mem::replace(slot, new)),
            None => {
                self.pieces.push(new);
                None
            }
        };
        self.forget(old);
        self.tokens = self.tokens.saturating_add(new.count.tokens);
        self.estimated += usize::from(new.is_estimated());
    }

    /// Takes a piece out of the sums, and remembers it if its count is as good as it gets.
    fn forget(&mut self, old: Option<Counted>) {
        let Some(old) = old else { return };
        self.tokens = self.tokens.saturating_sub(old.count.tokens);
        self.estimated -= usize::from(old.is_estimated());
        if !old.is_estimated() {
            self.known.insert(old.key, old);
        }
    }

    /// Keeps at most as many gone pieces as present ones.
    fn shed(&mut self) {
        const SPARE: usize = 64;
        if self.known.len() > self.pieces.len().saturating_mul(2).saturating_add(SPARE) {
            self.forget_dropped();
        }
    }
}

impl Counted {
    fn is_estimated(&self) -> bool {
        self.count.source == TokenSource::Estimated
    }
}

fn read_piece(
    tokenizer: Option<&dyn Tokenizer>,
    piece: &Piece<'_>,
) -> (Counted, Option<TokenizerFailure>) {
    let (count, failure) = count_or_estimate(tokenizer, piece.text);
    let tokens = count.tokens.saturating_add(piece.overhead);
    (Counted { key: piece.key, count: TokenCount { tokens, ..count } }, failure)
}

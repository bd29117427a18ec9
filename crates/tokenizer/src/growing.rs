//! Exact counts of a text that grows.

use std::sync::LazyLock;

use fancy_regex::Regex;
use thinkthrough_core::tokens::{IncrementalCount, TokenizerFailure};
use tiktoken_rs::O200K_BASE_PAT_STR;

use crate::{LONGEST_PIECE, encoded, failure};

/// How many pieces at the end of a text may still change when more text follows.
///
/// The vocabulary cuts a text into pieces before it encodes them one by one. More text can change the last piece, and
/// by that the one before it: `don` and `'` become `don't`, a line feed after blanks joins them, and a small letter
/// after a capital joins both to the word. It never reaches further back, since a piece ends where its
/// kind of character ends. We keep one more than needed.
const UNSTABLE_PIECES: usize = 3;

/// Below this many bytes it is not worth looking for stable pieces.
const SHORTEST_TAIL: usize = 256;

static PIECES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(O200K_BASE_PAT_STR).ok());

/// Counts a growing text: pieces that can no longer change are counted once and let go.
///
/// Pushing costs linear time over the whole text, also when that is one giant piece; memory is the part that can
/// still change.
#[derive(Clone, Debug)]
pub struct Growing {
    committed: u64,
    tail: String,
    /// The tail is looked at again when it is this long.
    commit_at: usize,
    total: Option<u64>,
}

impl Default for Growing {
    fn default() -> Self {
        Self { committed: 0, tail: String::new(), commit_at: SHORTEST_TAIL, total: Some(0) }
    }
}

impl IncrementalCount for Growing {
    fn push(&mut self, text: &str) -> Result<(), TokenizerFailure> {
        if text.is_empty() {
            return Ok(());
        }
        self.total = None;
        self.tail.push_str(text);
        if self.tail.len() >= self.commit_at {
            self.commit()?;
        }
        Ok(())
    }

    fn total(&mut self) -> Result<u64, TokenizerFailure> {
        if let Some(total) = self.total {
            return Ok(total);
        }
        let total = self.committed + encoded(&self.tail)?;
        self.total = Some(total);
        Ok(total)
    }
}

impl Growing {
    /// Counts all pieces of the tail but the last ones.
    ///
    /// The tail that remains must double before the next look, so that each byte is looked at a constant number of
    /// times, even in a text without any piece to let go.
    ///
    /// # Errors
    ///
    /// Fails on a piece of more than [`LONGEST_PIECE`] bytes.
    fn commit(&mut self) -> Result<(), TokenizerFailure> {
        let mut held = [""; UNSTABLE_PIECES];
        let mut stable_len = 0;
        for piece in pieces(&self.tail) {
            let piece = piece?;
            if piece.len() > LONGEST_PIECE {
                return Err(failure("a text has a megabyte without a place to cut it"));
            }
            held.rotate_left(1);
            if let Some(last) = held.last_mut() {
                // One piece is also one piece alone, but two of them may be one: blanks before a digit.
                let stable = std::mem::replace(last, piece);
                self.committed += encoded(stable)?;
                stable_len += stable.len();
            }
        }
        self.tail.drain(..stable_len);
        self.commit_at = (self.tail.len() * 2).max(SHORTEST_TAIL);
        Ok(())
    }
}

/// Cuts a text into the pieces that are encoded one by one.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = Result<&str, TokenizerFailure>> {
    let pieces = PIECES.as_ref().map(|pattern| pattern.find_iter(text));
    pieces.into_iter().flatten().map(|piece| match piece {
        Ok(piece) => Ok(piece.as_str()),
        Err(error) => Err(failure(&error.to_string())),
    })
}

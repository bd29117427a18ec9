//! Exact counts of a text that grows.

use thinkthrough_core::tokens::{IncrementalCount, TokenizerFailure};

use crate::guarded;

/// How many pieces at the end of a text may still change when more text follows.
///
/// The vocabulary cuts a text into pieces before it encodes them one by one. More text can change the last piece, and
/// by that the one before it: `don` and `'` become `don't`, a line feed after blanks joins them, and a small letter
/// after a capital joins both to the word. It never reaches further back, since a piece ends where its
/// kind of character ends. We keep one more than needed.
const UNSTABLE_PIECES: usize = 3;

/// Below this many bytes it is not worth looking for stable pieces.
const SHORTEST_TAIL: usize = 256;

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
            guarded(|| self.commit())?;
        }
        Ok(())
    }

    fn total(&mut self) -> Result<u64, TokenizerFailure> {
        if let Some(total) = self.total {
            return Ok(total);
        }
        let tail = guarded(|| bpe_openai::o200k_base().count(self.tail.as_str()) as u64)?;
        let total = self.committed + tail;
        self.total = Some(total);
        Ok(total)
    }
}

impl Growing {
    /// Counts all pieces of the tail but the last ones.
    ///
    /// The tail that remains must double before the next look, so that each byte is looked at a constant number of
    /// times, even in a text without any piece to let go.
    fn commit(&mut self) {
        let tokenizer = bpe_openai::o200k_base();
        let mut held = [""; UNSTABLE_PIECES];
        let mut stable_len = 0;
        for piece in tokenizer.split(&self.tail) {
            held.rotate_left(1);
            if let Some(last) = held.last_mut() {
                let stable = std::mem::replace(last, piece);
                self.committed += tokenizer.bpe.count(stable.as_bytes()) as u64;
                stable_len += stable.len();
            }
        }
        self.tail.drain(..stable_len);
        self.commit_at = (self.tail.len() * 2).max(SHORTEST_TAIL);
    }
}

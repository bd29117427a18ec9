//! Token counts with the `o200k_base` vocabulary, behind [`thinkthrough_core::tokens::Tokenizer`].
//!
//! [`o200k`] returns the one tokenizer. Its first count loads the vocabulary, which takes a tenth of a second and 47 MB.
//! [`Growing`] counts a text that arrives in pieces, exactly: its total is that of the whole text.
//!
//! The vocabulary is OpenAI's. For the models of others the count is a good approximation and no more, which is why a
//! count says that it was `tokenized`, and why a provider's own number wins over it. Special tokens and chat
//! templates are not known here; what a message costs beside its text is the caller's to add.
//!
//! ```
//! use thinkthrough_core::tokens::Tokenizer;
//!
//! let tokenizer = thinkthrough_tokenizer::o200k();
//! assert_eq!(tokenizer.count("Keep every thought."), Ok(4));
//! ```
#![doc(test(attr(deny(warnings))))]

mod growing;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use thinkthrough_core::tokens::{IncrementalCount, Tokenizer, TokenizerFailure};
use tiktoken_rs::o200k_base_singleton;

pub use growing::Growing;

const NAME: &str = "o200k_base";

/// The tokenizer with the vocabulary `o200k_base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct O200k(());

/// The longest piece that is encoded, and the longest text that is counted in one go. Encoding a piece takes 56 bytes of
/// memory for each of its bytes, and no text that a person or a model writes has a piece of a megabyte.
const LONGEST_PIECE: usize = 1024 * 1024;

/// How many bytes of a longer text are counted at a time.
const CHUNK: usize = 64 * 1024;

/// Returns the tokenizer. Its first count loads the vocabulary.
#[must_use]
pub fn o200k() -> &'static O200k {
    &O200k(())
}

impl Tokenizer for O200k {
    fn name(&self) -> &str {
        NAME
    }

    fn count(&self, text: &str) -> Result<u64, TokenizerFailure> {
        if text.len() <= LONGEST_PIECE {
            return encoded(text);
        }
        let mut count = Growing::default();
        let mut rest = text;
        while !rest.is_empty() {
            let (chunk, later) = rest.split_at(end_of_chunk(rest));
            count.push(chunk)?;
            rest = later;
        }
        count.total()
    }

    fn incremental(&self) -> Result<Box<dyn IncrementalCount + '_>, TokenizerFailure> {
        Ok(Box::new(Growing::default()))
    }
}

/// Returns the length of the first chunk of `text`, which ends between two characters.
fn end_of_chunk(text: &str) -> usize {
    (0..=CHUNK.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// Counts the tokens of a text at once.
fn encoded(text: &str) -> Result<u64, TokenizerFailure> {
    // `encode` reports a text on which the pattern fails, and `encode_ordinary` panics on it.
    let tokens = guarded(|| o200k_base_singleton().encode(text, &HashSet::new()))?;
    tokens.map(|(tokens, _)| tokens.len() as u64).map_err(|error| failure(&error.message))
}

/// Turns a panic of the library into a failure, because a count is never worth a request.
fn guarded<T>(count: impl FnOnce() -> T) -> Result<T, TokenizerFailure> {
    // Nothing of ours is left half changed: a text that broke the library is not counted any further.
    catch_unwind(AssertUnwindSafe(count)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        failure(text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("panic"))
    })
}

fn failure(reason: &str) -> TokenizerFailure {
    TokenizerFailure { tokenizer: NAME.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests;

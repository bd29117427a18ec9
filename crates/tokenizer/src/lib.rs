//! Token counts with the `o200k_base` vocabulary, behind [`thinkthrough_core::tokens::Tokenizer`].
//!
//! [`o200k`] hands out the one tokenizer; its tables, some 35 MB, are unpacked by the first count and not before.
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

use std::panic::{AssertUnwindSafe, catch_unwind};

use thinkthrough_core::tokens::{IncrementalCount, Tokenizer, TokenizerFailure};

pub use growing::Growing;

const NAME: &str = "o200k_base";

/// The tokenizer with the vocabulary `o200k_base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct O200k(());

/// The tokenizer; asking for it costs nothing, its first count loads the tables.
#[must_use]
pub fn o200k() -> &'static O200k {
    &O200k(())
}

impl Tokenizer for O200k {
    fn name(&self) -> &str {
        NAME
    }

    fn count(&self, text: &str) -> Result<u64, TokenizerFailure> {
        guarded(|| bpe_openai::o200k_base().count(text) as u64)
    }

    fn incremental(&self) -> Result<Box<dyn IncrementalCount + '_>, TokenizerFailure> {
        Ok(Box::new(Growing::default()))
    }
}

/// Turns a panic of the library into a failure, because a count is never worth a request.
fn guarded<T>(count: impl FnOnce() -> T) -> Result<T, TokenizerFailure> {
    // Nothing of ours is left half changed: a text that broke the library is not counted any further.
    catch_unwind(AssertUnwindSafe(count)).map_err(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let reason = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("panic");
        TokenizerFailure { tokenizer: NAME.to_owned(), reason: reason.to_owned() }
    })
}

#[cfg(test)]
mod tests;

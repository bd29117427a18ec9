//! The composer, in which the user writes.

/// The text being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Composer {
    /// The text, with line feeds.
    pub text: String,
    /// The cursor as a byte index in `text`; an index inside a character counts as the start of it.
    pub cursor: usize,
    /// Shown while the text is empty.
    pub placeholder: String,
    /// A short remark on the upper edge, such as `2 files attached` or `history 3/17`.
    pub note: String,
}

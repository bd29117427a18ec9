//! The output of a scan.

/// One thing that the scanner learned. Text borrows from the input.
///
/// Thoughts and texts come in the order of the message: a [`Piece::Text`] after a [`Piece::ThinkingEnd`] begins a new
/// block of text. With [`TagSpec::joined`](super::TagSpec::joined), all thoughts belong to one block and all texts to
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A thought begins; some text of it follows.
    ThinkingStart,
    /// More of the thought.
    Thinking(&'a str),
    /// The thought is complete. A thought that a cut stream left open has no end.
    ThinkingEnd,
    /// More visible text.
    Text(&'a str),
}

/// How the message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Clean,
    /// The stream broke off, or the answer's length limit did.
    Cut,
}

/// The state at the end of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// No thought was open.
    Settled,
    /// A thought had no end marker; the family decides its treatment.
    Unclosed,
}

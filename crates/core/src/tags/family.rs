//! The markers and rules of a tag family, as data.

/// How one group of models marks its thoughts inside the text.
///
/// All families are data for one engine.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Family {
    /// The name that `--tags` takes.
    pub(super) name: &'static str,
    pub(super) markers: &'static [Marker],
    pub(super) begins: Begins,
    pub(super) unclosed: Unclosed,
    pub(super) lone_close: LoneClose,
    pub(super) nested: Nested,
    pub(super) blank: Blank,
    pub(super) code: CodeRule,
    pub(super) seam: Seam,
    /// White space at both ends of a thought is dropped.
    pub(super) trim: bool,
    /// White space (and a byte order mark) before a thought that opens the message is dropped.
    pub(super) drop_lead: bool,
    /// Only the first block is a thought unless [`super::Options::every_block`] is set.
    pub(super) first_only: bool,
    /// All thoughts are one block and all visible text is one block, as non-streaming splitters give them.
    pub(super) joined: bool,
    /// A prefix of the text, for models whose template swallowed it.
    pub(super) prefix: &'static str,
}

/// A string with a meaning for the scanner.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) text: &'static str,
    pub(super) role: Role,
    /// Counts only at the start of the message, white space aside.
    pub(super) at_start: bool,
    /// The marker goes on up to and including this. Up to a line feed, that is a name in small letters.
    pub(super) until: &'static str,
}

/// The effect of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Ends a thought that is open; is framing and goes.
    Answer,
    /// Ends a tool call and belongs to it.
    CallEnd,
    /// Ends a thought.
    Close,
    /// Ends a thought and opens the wrapper around the answer.
    CloseAnswer,
    /// Is framing and goes.
    Drop,
    /// Begins a thought.
    Open,
    /// Begins a span that stays in the text as it is; inside a thought it interrupts the thought.
    Raw,
    /// Ends such a span and belongs to it.
    RawEnd,
    /// Begins a thought in a message whose special tokens were removed; the family's plain words count from then on.
    Stripped,
    /// Begins a tool call, which stays in the text as it is and ends a thought.
    Tool,
    /// The same; and a message that may have begun inside a thought did so.
    ToolTells,
    /// Closes the wrapper around the answer; without one it is text.
    Unwrap,
}

/// The state at the beginning of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// In a thought: the prompt's template opened it.
    Inside,
    /// In visible text.
    Outside,
    /// The first marker decides: text before an end marker is a thought, text before any other marker is visible.
    Unknown,
}

/// The treatment of a thought without an end marker at the end of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unclosed {
    Thought,
    /// Text; the begin marker goes.
    Untagged,
    /// Text, begin marker included.
    Visible,
}

/// The treatment of an end marker outside of a thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoneClose {
    Drop,
    /// Dropped at the start of the message, text elsewhere.
    DropLeading,
    Text,
}

/// The treatment of a begin marker inside a thought. Right at the start of a thought that began without one it is
/// dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nested {
    /// Text, and one more end marker is needed.
    Depth,
    /// Repeated right at the start it is dropped; else it is text.
    Repeats,
    /// The next thought; the one before it lost its end.
    Restart,
    /// Text.
    Text,
}

/// The treatment of a thought of white space only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blank {
    Kept,
    /// No thought.
    NoThought,
}

/// Whether markers in Markdown code count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeRule {
    /// They do.
    Counts,
    /// Not in the code spans and fences of the visible text. An end marker always ends an open thought, because
    /// thoughts often break off in the middle of code; another marker does not if it fills its code span there.
    Quoted,
    /// Not in any code span or fence, thoughts included.
    Strict,
}

/// The replacement for a thought that is cut out of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seam {
    /// Nothing.
    Plain,
    /// A line feed, if there is text on both sides.
    Line,
    /// The same, if the message opened with a thought: such answers come in stages, while a thought inside running
    /// text must leave the sentence whole.
    LineWhenLed,
    /// White space around the tags is removed, and a line feed joins the text on both sides.
    Trim,
}

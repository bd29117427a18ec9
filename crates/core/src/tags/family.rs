//! What can be said about a tag family: markers and rules, as data.

use super::families::{CUSTOM, FAMILIES, HARMONY_STRIPPED};
use std::fmt;

/// How one group of models marks its thoughts inside the text.
///
/// All families are data for one engine; [`TagSpec`] picks one.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// The name that `--tags` takes.
    pub name: &'static str,
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
    /// What is put before the text, for models whose template swallowed it.
    pub(super) prefix: &'static str,
}

/// A string that means something.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) text: &'static str,
    pub(super) role: Role,
    /// Counts only at the start of the message, white space aside.
    pub(super) at_start: bool,
    /// The marker goes on up to and including this.
    pub(super) until: &'static str,
}

/// What a marker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Ends a thought that is open; is framing and goes.
    Answer,
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
    /// Ends a thought by beginning something else, and stays in the text.
    Tool,
    /// Closes the wrapper around the answer; without one it is text.
    Unwrap,
}

/// Where a message begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// In a thought: the prompt's template opened it.
    Inside,
    /// In visible text.
    Outside,
    /// The first marker tells: before an end marker stood a thought, before anything else text.
    Unknown,
}

/// What a thought without its end marker is when the message is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unclosed {
    Thought,
    /// Text; the begin marker goes.
    Untagged,
    /// Text, begin marker included.
    Visible,
}

/// What an end marker is where no thought is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoneClose {
    Drop,
    /// Dropped at the start of the message, text elsewhere.
    DropLeading,
    Text,
}

/// What a begin marker is inside a thought. Right at its start a repeated one is always dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nested {
    /// Text, and one more end marker is needed.
    Depth,
    /// Text.
    Literal,
    /// The next thought; the one before it lost its end.
    Restart,
}

/// What a thought of nothing but white space is.
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
    /// Not in the code spans and fences of the text. Inside a thought an end marker is passed over only when it is
    /// all there is in its code span: thoughts often break off in the middle of code.
    Quoted,
    /// Not in any code span or fence, thoughts included.
    Strict,
}

/// What stands where a thought was taken out of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seam {
    /// Nothing.
    Plain,
    /// A line feed, if there is text on both sides.
    Line,
    /// The same, if the message opened with a thought: such answers come in stages, while a thought inside running
    /// text must leave the sentence whole.
    LineWhenLed,
    /// White space that touched the tags goes, and a line feed joins what is left on both sides.
    Trim,
}

/// A family, or any other pair of tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagSpec {
    pub(super) family: &'static Family,
    pub(super) custom: Option<(String, String)>,
}

impl TagSpec {
    /// The family of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let family = FAMILIES.iter().find(|family| family.name == name)?;
        Some(Self { family, custom: None })
    }

    /// A pair of tags that no family has.
    ///
    /// # Errors
    /// If one of them is empty.
    pub fn custom(open: &str, close: &str) -> Result<Self, BadTag> {
        if open.is_empty() || close.is_empty() {
            return Err(BadTag);
        }
        Ok(Self { family: &CUSTOM, custom: Some((open.to_owned(), close.to_owned())) })
    }

    /// The names that [`TagSpec::named`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FAMILIES.iter().map(|family| family.name)
    }

    /// The family's name; `custom` for a pair of one's own.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.family.name
    }

    /// Harmony's channels without their special tokens.
    pub(super) fn stripped() -> Self {
        Self { family: &HARMONY_STRIPPED, custom: None }
    }

    /// The first marker with that role.
    pub(super) fn first(&self, role: Role) -> Option<&str> {
        match (&self.custom, role) {
            (Some((open, _)), Role::Open) => Some(open),
            (Some((_, close)), Role::Close) => Some(close),
            _ => self.family.markers.iter().find(|marker| marker.role == role).map(|m| m.text),
        }
    }

    /// Whether all thoughts are one block and all visible text is another.
    #[must_use]
    pub fn joined(&self) -> bool {
        self.family.joined
    }
}

/// A tag that is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadTag;

impl fmt::Display for BadTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tag must not be empty")
    }
}

impl std::error::Error for BadTag {}

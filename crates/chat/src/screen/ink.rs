//! The meaning of a piece of text, from which each theme derives its look.

/// The meaning of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Tone {
    Accent,
    Added,
    Border,
    Code,
    Comment,
    Dim,
    Failure,
    Function,
    Heading,
    Keyword,
    Link,
    Number,
    Removed,
    String,
    Success,
    #[default]
    Text,
    Type,
    Warning,
}

/// The background of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Ground {
    Code,
    Panel,
    #[default]
    Plain,
    Selected,
    Thought,
    User,
}

/// How a piece of text is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Ink {
    pub(super) tone: Tone,
    pub(super) is_bold: bool,
    pub(super) is_italic: bool,
    pub(super) is_struck: bool,
    pub(super) is_underlined: bool,
}

impl Tone {
    /// All of them, in the order of their names.
    pub(super) const ALL: [Self; 18] = [
        Self::Accent,
        Self::Added,
        Self::Border,
        Self::Code,
        Self::Comment,
        Self::Dim,
        Self::Failure,
        Self::Function,
        Self::Heading,
        Self::Keyword,
        Self::Link,
        Self::Number,
        Self::Removed,
        Self::String,
        Self::Success,
        Self::Text,
        Self::Type,
        Self::Warning,
    ];
}

impl Ground {
    /// All of them, in the order of their names.
    pub(super) const ALL: [Self; 6] =
        [Self::Code, Self::Panel, Self::Plain, Self::Selected, Self::Thought, Self::User];
}

impl Ink {
    pub(super) const fn of(tone: Tone) -> Self {
        Self { tone, is_bold: false, is_italic: false, is_struck: false, is_underlined: false }
    }

    pub(super) const fn bold(self) -> Self {
        Self { is_bold: true, ..self }
    }

    pub(super) const fn italic(self) -> Self {
        Self { is_italic: true, ..self }
    }
}

impl From<Tone> for Ink {
    fn from(tone: Tone) -> Self {
        Self::of(tone)
    }
}

//! The names of settings, and their allowed values.

use super::{Display, Effort, Format, Include, Strip};
use std::fmt;

/// A setting's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// `reasoning.enabled`
    Enabled,
    /// `reasoning.includeInContext`
    IncludeInContext,
    /// `reasoning.includeInResponse`
    IncludeInResponse,
    /// `reasoning.effort`
    Effort,
    /// `reasoning.maxTokens`
    MaxTokens,
    /// `reasoning.format`
    Format,
    /// `reasoning.stripFromContext`
    StripFromContext,
    /// `reasoning.display`
    Display,
}

impl Key {
    /// Every key, in the order in which they are listed.
    pub const ALL: [Key; 8] = [
        Key::Enabled,
        Key::IncludeInContext,
        Key::IncludeInResponse,
        Key::Effort,
        Key::MaxTokens,
        Key::Format,
        Key::StripFromContext,
        Key::Display,
    ];

    /// The full public name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Key::Enabled => "reasoning.enabled",
            Key::IncludeInContext => "reasoning.includeInContext",
            Key::IncludeInResponse => "reasoning.includeInResponse",
            Key::Effort => "reasoning.effort",
            Key::MaxTokens => "reasoning.maxTokens",
            Key::Format => "reasoning.format",
            Key::StripFromContext => "reasoning.stripFromContext",
            Key::Display => "reasoning.display",
        }
    }

    /// The name within a table `[reasoning]`.
    #[must_use]
    pub fn short(self) -> &'static str {
        self.as_str().trim_start_matches("reasoning.")
    }

    /// The effect of the setting, in a sentence.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Key::Enabled => "Whether the model is asked to think.",
            Key::IncludeInContext => {
                "Whether thoughts go back to the model; `auto` is what the model's contract needs."
            }
            Key::IncludeInResponse => "Whether thoughts are shown anywhere: screen, output, JSON.",
            Key::Effort => "How much effort the model spends on thinking.",
            Key::MaxTokens => "The most tokens that one thought may take.",
            Key::Format => {
                "The form in which thoughts go back where an endpoint offers two: its field, or the native one."
            }
            Key::StripFromContext => "Which thoughts of the history are kept out of requests.",
            Key::Display => {
                "How thoughts are shown: in full, as one line with time and tokens, only while they come in, or not at all but for time and tokens. What is no terminal cannot take text back, so `stream_only` leaves it there."
            }
        }
    }

    /// The values that are allowed, for people.
    #[must_use]
    pub fn allowed(self) -> String {
        match self {
            Key::Enabled | Key::IncludeInResponse => "true, false".to_owned(),
            Key::IncludeInContext => Include::WORDS.join(", "),
            Key::Effort => format!("{}, unset", Effort::ALL.map(Effort::as_str).join(", ")),
            Key::MaxTokens => "a positive integer, unlimited, unset".to_owned(),
            Key::Format => Format::WORDS.join(", "),
            Key::StripFromContext => Strip::WORDS.join(", "),
            Key::Display => Display::WORDS.join(", "),
        }
    }

    /// The key of this full or short name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.as_str() == name || key.short() == name)
    }
}

/// Why a setting was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingError {
    /// The value is not an allowed one.
    BadValue {
        /// The setting, as it was named.
        key: String,
        /// The value that was given.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// There is no such setting.
    UnknownKey {
        /// The name that was given.
        key: String,
    },
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingError::BadValue { key, value, allowed } => {
                write!(f, "`{key}` cannot be `{value}`; allowed: {allowed}")
            }
            SettingError::UnknownKey { key } => {
                let known = Key::ALL.map(Key::as_str).join(", ");
                write!(f, "`{key}` is no setting; the settings are {known}")
            }
        }
    }
}

impl std::error::Error for SettingError {}

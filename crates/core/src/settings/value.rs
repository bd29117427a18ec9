//! The values that settings take.

use std::num::NonZeroU64;

/// Declares a setting's words: an enum, its spellings, and reading them.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// Every spelling.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// The public spelling.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }

            /// The value of this spelling.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($word => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

words! {
    /// Whether thoughts go back in requests.
    Include {
        /// As the model's contract demands; no thought if there is no contract.
        Auto = "auto",
        /// All thoughts that the strip policy does not remove.
        True = "true",
        /// None, even if a contract wants them.
        False = "false",
    }
}

words! {
    /// The thoughts of the history that are kept out of requests.
    Strip {
        /// None are kept out.
        None = "none",
        /// All are.
        All = "all",
        /// All but those of the last turn that has any.
        AllButLast = "allButLast",
    }
}

words! {
    /// The form in which thoughts go back, if an endpoint offers two.
    Format {
        /// The endpoint's reasoning field.
        Field = "field",
        /// The provider's native form.
        Native = "native",
    }
}

words! {
    /// How thoughts are shown.
    Display {
        /// In full.
        Show = "show",
        /// As one line that can be opened.
        Collapsed = "collapsed",
        /// While they stream in, then as one line.
        StreamOnly = "stream_only",
        /// Never; a live line shows that the model thinks.
        Off = "off",
    }
}

/// A cap on thinking tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Budget {
    /// At most this many.
    Tokens(NonZeroU64),
    /// As many as the model wants; never a number on the wire.
    Unlimited,
}

impl Budget {
    /// Reads a positive integer or `unlimited`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "unlimited" {
            return Some(Budget::Unlimited);
        }
        text.parse().ok().map(Budget::Tokens)
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Budget::Tokens(tokens) => write!(f, "{tokens}"),
            Budget::Unlimited => f.write_str("unlimited"),
        }
    }
}

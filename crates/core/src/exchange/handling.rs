//! The treatment of a request, by its model's configuration or its caller.

/// The treatment of a demanded thought that is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restore {
    /// A request without a demanded thought is not sent.
    Required,
    /// The ladder applies: for example, thinking is off for that request, if the model allows it.
    #[default]
    Recommended,
    /// No record is looked up, and the request goes as it came.
    Never,
}

impl Restore {
    /// The value of this spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "required" => Restore::Required,
            "recommended" => Restore::Recommended,
            "never" => Restore::Never,
            _ => return None,
        })
    }
}

/// The place for thoughts in the caller's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Nowhere.
    Hidden,
    /// In its wire's own place.
    Native,
    /// In the field `reasoning`.
    Reasoning,
    /// In the field `reasoning_content`.
    ReasoningContent,
    /// In the list `reasoning_details`.
    ReasoningDetails,
    /// In the text, between `<think>` and `</think>`.
    ThinkTags,
}

impl View {
    /// All of them, as they are spelled.
    pub const ALL: [(&'static str, View); 6] = [
        ("native", View::Native),
        ("reasoning_content", View::ReasoningContent),
        ("reasoning", View::Reasoning),
        ("reasoning_details", View::ReasoningDetails),
        ("think_tags", View::ThinkTags),
        ("hidden", View::Hidden),
    ];

    /// The value of this spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        View::ALL.into_iter().find(|(name, _)| *name == text).map(|(_, view)| view)
    }

    /// The name of the field, on wires that leave it open.
    pub(super) fn field(self) -> Option<&'static str> {
        match self {
            View::Hidden | View::Native => None,
            View::Reasoning => Some("reasoning"),
            View::ReasoningContent => Some("reasoning_content"),
            View::ReasoningDetails => Some("reasoning_details"),
            View::ThinkTags => Some("think_tags"),
        }
    }
}

/// Whether a provider that withholds readable thoughts is asked for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thoughts {
    /// As the caller asks.
    #[default]
    AsAsked,
    /// Also if the caller does not mention them.
    Show,
}

impl Thoughts {
    /// The value of this spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "as-asked" => Some(Thoughts::AsAsked),
            "show" => Some(Thoughts::Show),
            _ => None,
        }
    }
}

/// How a request is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handling {
    /// The treatment of thoughts that are not found.
    pub restore: Restore,
    /// All decisions are made and counted, but the request goes as it came.
    pub dry_run: bool,
    /// The place for thoughts in the caller's answer; `None`: the place of its own wire, and unchanged on the model's
    /// own wire.
    pub view: Option<View>,
    /// Whether thoughts are asked for that the provider withholds.
    pub thoughts: Thoughts,
    /// Restored thoughts beyond this number of tokens (an estimate) stay out, the oldest first, unless the contract
    /// demands them; `None`: no limit.
    pub max_restore_tokens: Option<u64>,
}

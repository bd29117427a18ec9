//! The last line of the screen.

use std::time::Duration;

/// The content of the status line. Fields that are `None` or empty are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The model as the user names it.
    pub model: String,
    /// The effort that will be asked for, or [`Status::NO_THINKING`].
    pub effort: Option<String>,
    /// The most tokens that one thought may take.
    pub cap: Option<String>,
    /// Only tools that read run.
    pub is_planning: bool,
    /// Tokens of the request that would be sent now.
    pub effective: Option<u64>,
    /// The model's context window in tokens.
    pub limit: Option<u64>,
    /// The cost of the session so far, with its currency: `$0.42`.
    pub cost: Option<String>,
    /// The session's budget of reasoning tokens.
    pub budget: Option<Budget>,
    /// The current activity.
    pub activity: Activity,
    /// How long it takes until a request that failed is tried again.
    pub retry_in: Option<Duration>,
    /// A temporary message, such as `Thinking blocks: hidden`. The edge of the composer shows it.
    pub message: Option<String>,
}

impl Status {
    /// In place of an effort, while thinking is off.
    pub const NO_THINKING: &str = "no thinking";
}

/// How much of a budget is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Reasoning tokens used.
    pub used: u64,
    /// Reasoning tokens allowed.
    pub max: u64,
    /// The percentage at which the user is warned.
    pub warn_percent: u8,
}

/// The current activity of the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// The answer comes.
    Answering,
    /// The history is being compressed.
    Compressing,
    /// Nothing: the user's turn.
    #[default]
    Idle,
    /// A request that failed is tried again after a wait.
    Retrying,
    /// The request is out and nothing came yet.
    Sending,
    /// The model thinks.
    Thinking,
    /// Tools run.
    Tools,
    /// The user has to decide something.
    Waiting,
}

impl Budget {
    /// The used part in percent, rounded down, which may be over 100.
    #[must_use]
    pub fn percent(&self) -> u64 {
        self.used.saturating_mul(100).checked_div(self.max).unwrap_or(0)
    }
}

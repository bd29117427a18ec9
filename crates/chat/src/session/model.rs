//! The model that a session talks to.

use thinkthrough_core::provider::Target;
use thinkthrough_core::settings::Partial;

/// A model, as the session knows it.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name, as the user says it.
    pub name: String,
    /// The endpoint of its requests, and the rule for the model.
    pub target: Target,
    /// The configuration's values for this model.
    pub settings: Partial,
    /// The reason why it was chosen, for people.
    pub why: String,
    /// The reason why it cannot be asked: its key is missing.
    pub missing_key: Option<String>,
    /// It is a simulated model inside the program.
    pub is_simulated: bool,
}

impl Model {
    /// The context window in tokens, if it is known.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        Some(self.target.rule.context).filter(|limit| *limit > 0)
    }
}

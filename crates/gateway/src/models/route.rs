//! What the gateway is told about models.

use crate::models::pool::Pool;
use std::fmt;
use std::sync::Arc;
use thinkthrough_client::{Auth, Transport};
use thinkthrough_core::exchange::Handling;
use thinkthrough_core::provider::Target;
use thinkthrough_core::settings::Partial;
use thinkthrough_limits::RateLimits;

/// Where a model's requests go.
#[derive(Clone, Debug)]
pub struct Route {
    /// Wire, address, dialect and the rule that holds.
    pub target: Target,
    /// How requests travel.
    pub transport: Transport,
    /// The gateway's own credential there; `Auth::None` passes the caller's on.
    pub auth: Auth,
    /// What the configuration says under the model.
    pub reasoning: Partial,
    /// How its requests are treated.
    pub handling: Handling,
    /// The models that are asked in its place, one after the other, where it does not answer at all.
    pub fallback: Vec<String>,
    /// What becomes of its answers when their caller goes away.
    pub on_disconnect: OnDisconnect,
    /// The keys that take turns in place of `auth`.
    pub pool: Option<Arc<Pool>>,
    /// The headers of callers that go on besides those that its API knows: names, or beginnings of names with a star.
    pub forward_headers: Vec<String>,
    /// How often its provider may be asked in any minute, and how many tokens that may cost; whatever the model.
    pub limits: RateLimits,
    /// Its provider wants a key.
    pub needs_key: bool,
}

/// What becomes of an answer whose caller went away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDisconnect {
    /// The upstream's connection is closed, or its stream reset, at once.
    #[default]
    Cancel,
    /// The answer is heard to its end, within a minute and 32,000 tokens; its record is whole, and what it cost is
    /// counted.
    Drain,
}

impl OnDisconnect {
    /// All of them, by their words in the configuration.
    pub const ALL: [(&str, OnDisconnect); 2] =
        [("cancel", OnDisconnect::Cancel), ("drain", OnDisconnect::Drain)];

    /// What a word of the configuration says.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == word).map(|(_, it)| it)
    }
}

/// A model as callers see it in lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name that callers ask for.
    pub name: String,
    /// Whose model it is.
    pub provider: String,
}

/// No model of this name; the text says which there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrouted(pub String);

impl fmt::Display for Unrouted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unrouted {}

/// Knows where names of models lead.
pub trait Models: Send + Sync {
    /// Where requests for this model go.
    ///
    /// # Errors
    /// When there is no such model.
    fn find(&self, name: &str) -> Result<Arc<Route>, Unrouted>;

    /// Where requests go that name only a provider, as `/p/{provider}/...` does.
    ///
    /// # Errors
    /// When there is no such provider.
    fn provider(&self, name: &str) -> Result<Arc<Route>, Unrouted>;

    /// The models that can be asked for by name.
    fn list(&self) -> Vec<Listed>;

    /// The models of callers that bring a key of their own for a provider, if they differ.
    fn with_key(&self) -> Option<Arc<dyn Models>> {
        None
    }
}

//! The routes of models.

use crate::models::pool::Pool;
use std::fmt;
use std::sync::Arc;
use thinkthrough_client::{Auth, Transport};
use thinkthrough_core::exchange::Handling;
use thinkthrough_core::provider::Target;
use thinkthrough_core::settings::Partial;
use thinkthrough_limits::RateLimits;

/// The destination of a model's requests.
#[derive(Clone, Debug)]
pub struct Route {
    /// Wire, address, dialect and the rule that applies.
    pub target: Target,
    /// The transport of requests.
    pub transport: Transport,
    /// The gateway's own credential there; `Auth::None` passes the caller's on.
    pub auth: Auth,
    /// The settings of the model in the configuration.
    pub reasoning: Partial,
    /// The handling of its requests.
    pub handling: Handling,
    /// The models that are asked in its place, one after the other, if it does not answer.
    pub fallback: Vec<String>,
    /// The action on its answers when their caller goes away.
    pub on_disconnect: OnDisconnect,
    /// The keys that take turns in place of `auth`.
    pub pool: Option<Arc<Pool>>,
    /// Further headers of callers that are forwarded, besides the known headers of its API: names, or prefixes with a
    /// star.
    pub forward_headers: Vec<String>,
    /// The most requests and tokens of its provider in any minute, for all models.
    pub limits: RateLimits,
    /// Its provider wants a key.
    pub needs_key: bool,
}

/// The action on an answer whose caller went away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDisconnect {
    /// Closes the upstream's connection, or resets its stream, at once.
    #[default]
    Cancel,
    /// Reads the answer to its end, within a minute and 32,000 tokens. Its record is complete, and its cost is
    /// counted.
    Drain,
}

impl OnDisconnect {
    /// All actions, by their words in the configuration.
    pub const ALL: [(&str, OnDisconnect); 2] =
        [("cancel", OnDisconnect::Cancel), ("drain", OnDisconnect::Drain)];

    /// Parses a word of the configuration.
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
    /// The provider of the model.
    pub provider: String,
}

/// No model has this name; the text lists the known ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrouted(pub String);

impl fmt::Display for Unrouted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unrouted {}

/// Maps names of models to routes.
pub trait Models: Send + Sync {
    /// The route of requests for this model.
    ///
    /// # Errors
    /// If there is no such model.
    fn find(&self, name: &str) -> Result<Arc<Route>, Unrouted>;

    /// The route of requests that name only a provider, as in `/p/{provider}/...`.
    ///
    /// # Errors
    /// If there is no such provider.
    fn provider(&self, name: &str) -> Result<Arc<Route>, Unrouted>;

    /// The models that can be asked for by name.
    fn list(&self) -> Vec<Listed>;

    /// The models of callers that bring a key of their own for a provider, if they differ.
    fn with_key(&self) -> Option<Arc<dyn Models>> {
        None
    }
}

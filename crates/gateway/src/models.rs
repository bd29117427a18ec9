//! What the gateway is told about models.

use crate::pool::Pool;
use std::fmt;
use std::sync::Arc;
use thinkthrough_client::{Auth, Transport};
use thinkthrough_core::exchange::Manner;
use thinkthrough_core::provider::Target;
use thinkthrough_core::settings::Partial;

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
    pub manner: Manner,
    /// The models that are asked in its place, one after the other, where it does not answer at all.
    pub fallback: Vec<String>,
    /// The keys that take turns in place of `auth`.
    pub pool: Option<Arc<Pool>>,
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
    fn find(&self, name: &str) -> Result<Route, Unrouted>;

    /// Where requests go that name only a provider, as `/p/{provider}/...` does.
    ///
    /// # Errors
    /// When there is no such provider.
    fn provider(&self, name: &str) -> Result<Route, Unrouted>;

    /// The models that can be asked for by name.
    fn list(&self) -> Vec<Listed>;
}

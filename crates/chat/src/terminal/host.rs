//! The interface between the session and the configuration.

use crate::session::{Model, Offer, Write, Wrote};
use crate::tools::Pending;
use thinkthrough_client::{Auth, Transport};
use thinkthrough_limits::RateLimits;
use thinkthrough_mask::Masker;

/// A model and the way to it.
#[derive(Clone)]
pub struct Connection {
    /// The model.
    pub model: Model,
    /// How its requests travel.
    pub transport: Transport,
    /// The credential.
    pub auth: Auth,
    /// The source of the credential, as a phrase for a sentence.
    pub key_from: Option<String>,
    /// The rate limits of its provider.
    pub limits: RateLimits,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("model", &self.model.name).finish_non_exhaustive()
    }
}

/// Access to the configuration, implemented by the program.
pub trait Host: Send + Sync {
    /// Finds the model of this name.
    fn choose<'a>(&'a self, name: &'a str) -> Pending<'a, Result<Connection, String>>;

    /// The models that can be chosen: configured ones, those of local servers, simulated ones.
    fn models(&self) -> Pending<'_, Vec<Offer>>;

    /// The context window of the model of this name in tokens, if its server tells it.
    fn window<'a>(&'a self, name: &'a str) -> Pending<'a, Option<u64>>;

    /// A masker for all known secrets, for text that other people may read.
    ///
    /// # Errors
    /// When there can be none now, in a sentence for people.
    fn masker(&self) -> Result<Masker, String>;

    /// Changes the user's configuration file.
    ///
    /// # Errors
    /// When it cannot be written, in a sentence for people.
    fn write(&self, write: &Write) -> Result<Wrote, String>;
}

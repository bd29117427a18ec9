//! The configuration file, parsed once into types that cannot be wrong.
//!
//! An unknown key is an error that names the nearest one.

mod check;
mod client;
pub(crate) mod edit;
mod forms;
mod headers;
pub(crate) mod keys;
#[cfg(test)]
mod laws;
mod limits;
pub(crate) mod masking;
mod models;
mod places;
mod prices;
mod providers;
mod read;
mod reasoning;
mod references;
pub(crate) mod secret;
pub(crate) mod server;
mod size;
pub(crate) mod store;
mod surroundings;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod tools;
pub(crate) mod traces;
mod trust;

pub(crate) use check::{Report, check};
pub(crate) use headers::Headers;
pub(crate) use places::{config_folder, data_folder};
#[cfg(test)]
pub(crate) use read::of_text;
pub(crate) use read::{read, read_text};
pub(crate) use secret::Credential;
pub(crate) use surroundings::Surroundings;

use crate::connections::Connections;
use crate::environment::Environment;
use crate::reach::Reach;
use std::net::SocketAddr;
use std::path::PathBuf;
use thinkthrough_client::{ClientConfig, Secret};
use thinkthrough_core::contract::Contract;
use thinkthrough_core::exchange::Handling;
use thinkthrough_core::price::Price;
use thinkthrough_core::settings::Partial;
use thinkthrough_core::wire::WireId;
use thinkthrough_limits::runaway::Runaway;
use thinkthrough_limits::{BudgetRules, RateLimits};

/// The settings of the file, with defaults for the missing ones.
#[derive(Debug)]
pub(crate) struct Config {
    /// The path of the file; `None` if there is no file.
    pub(crate) path: Option<PathBuf>,
    /// Settings that name missing environment variables.
    pub(crate) warnings: Vec<String>,
    /// The model for requests that name no model.
    pub(crate) default_model: Option<String>,
    /// `[reasoning]`
    pub(crate) reasoning: Partial,
    /// `[providers.NAME]`, in file order.
    pub(crate) providers: Vec<ProviderEntry>,
    /// `[models.NAME]`, in file order.
    pub(crate) models: Vec<ModelEntry>,
    /// `[prices."PROVIDER/MODEL"]`, in file order.
    pub(crate) prices: Vec<prices::PriceEntry>,
    /// `[profiles.NAME]`, in file order.
    pub(crate) profiles: Vec<Profile>,
    /// `[client]`
    pub(crate) client: ClientConfig,
    /// The connections of requests.
    pub(crate) connections: Connections,
    /// The addresses that this process listens on itself.
    pub(crate) listeners: Vec<SocketAddr>,
    /// `[roles]`: the name of a role and the model that plays it, in file order.
    pub(crate) roles: Vec<(String, String)>,
    /// `[tools.NAME]`, in file order.
    pub(crate) tools: Vec<tools::Tool>,
    /// `[mcp.NAME]`, in file order.
    pub(crate) mcp: Vec<tools::Mcp>,
    /// `[budget]`: the reasoning budget of a session of `think chat` or `think ask`.
    pub(crate) budget: BudgetRules,
    /// `[chat] compress_at`: the share of the context window, in percent, at which the older part of a conversation is
    /// summarised; 0 is never.
    pub(crate) compress_at: u8,
    /// `[chat] system`: the user's instructions for a model.
    pub(crate) system: Option<String>,
    /// `[chat] surroundings`: further facts for a model.
    pub(crate) surroundings: Surroundings,
    /// `[chat] mouse`: the terminal client takes the mouse.
    pub(crate) mouse: bool,
    /// `[chat] runaway`: the reaction to thoughts that repeat themselves.
    pub(crate) runaway: Runaway,
    /// `[keys.NAME]`, in file order.
    pub(crate) keys: Vec<keys::GateKey>,
    /// `[server]`
    pub(crate) server: server::Server,
    /// `[store]`, or the usual place; `None` without a setting and a known home folder.
    pub(crate) store: Option<store::Store>,
    /// There is a `[store]`, so the user wants one.
    pub(crate) is_store_named: bool,
    /// `[traces]`
    pub(crate) traces: traces::Traces,
    /// `[masking]`
    pub(crate) masking: masking::Masking,
}

impl Config {
    /// Whether the file names a model or a provider. The settings that a command of `think chat` writes do not.
    pub(crate) fn names_models(&self) -> bool {
        self.default_model.is_some() || !self.models.is_empty() || !self.providers.is_empty()
    }

    /// The first model that has a name of its own.
    pub(crate) fn first_model(&self) -> Option<&ModelEntry> {
        self.models.iter().find(|entry| !entry.is_pattern())
    }

    /// The default model, if the file names one.
    pub(crate) fn named_default(&self) -> Option<&str> {
        let first = || self.first_model().map(|entry| entry.name.as_str());
        self.default_model.as_deref().or_else(first)
    }

    /// The models and providers that names can lead to.
    pub(crate) fn reach<'a>(&'a self, around: Environment<'a>) -> Reach<'a> {
        let providers = self.providers.iter();
        let providers = providers.map(|it| (it.name.as_str(), it.extends.as_deref()));
        let models = self.models.iter().map(|it| (it.name.as_str(), it.provider.as_str()));
        Reach::configured(providers, models).within(around)
    }

    /// The model that plays a role (`reasoning`, `utility`), if one is named.
    pub(crate) fn role(&self, name: &str) -> Option<&str> {
        self.roles.iter().find(|(role, _)| role == name).map(|(_, model)| model.as_str())
    }
}

/// `[providers.NAME]`
#[derive(Clone, Debug)]
pub(crate) struct ProviderEntry {
    pub(crate) name: String,
    /// The built-in provider whose rules hold; `None` for a user-defined one.
    pub(crate) extends: Option<String>,
    pub(crate) wire: Option<WireId>,
    pub(crate) base_url: Option<String>,
    /// The credential: `api_key`, or the first of `api_keys` that is there.
    pub(crate) key: Option<Credential>,
    /// The source of the credential, as part of a sentence.
    pub(crate) key_from: Option<String>,
    /// The further ones of `api_keys`, which the gateway takes turns with.
    pub(crate) more_keys: Vec<Secret>,
    pub(crate) contract: Option<Contract>,
    /// The additional headers of every request.
    pub(crate) headers: Headers,
    /// The rate limits of requests to it.
    pub(crate) limits: RateLimits,
    /// The fate of its answers when their caller disconnects.
    pub(crate) on_disconnect: thinkthrough_gateway::OnDisconnect,
    /// The headers of the gateway's callers that go on to it besides those of its API.
    pub(crate) forward_headers: Vec<String>,
}

impl ModelEntry {
    /// Whether it is for all models whose names match: `claude-*`.
    pub(crate) fn is_pattern(&self) -> bool {
        self.name.contains('*')
    }
}

/// `[models.NAME]`
#[derive(Clone, Debug)]
pub(crate) struct ModelEntry {
    pub(crate) name: String,
    pub(crate) provider: String,
    /// The provider's own name for it; `None` passes the name through.
    pub(crate) model: Option<String>,
    pub(crate) contract: Option<Contract>,
    /// Further properties of its form.
    pub(crate) forms: forms::Forms,
    pub(crate) reasoning: Partial,
    /// Its price, in place of the known price.
    pub(crate) price: Option<Price>,
    /// How a gateway treats requests to it.
    pub(crate) handling: Handling,
    /// The models that the gateway asks in its place when it does not answer.
    pub(crate) fallback: Vec<String>,
}

/// `[profiles.NAME]`
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) name: String,
    pub(crate) model: Option<String>,
    pub(crate) reasoning: Partial,
    /// The user's instructions for a model.
    pub(crate) system: Option<String>,
}

//! The configuration file.

mod read;
mod table;

pub(crate) use read::read;

use std::path::PathBuf;
use thinkthrough_client::{ClientConfig, Secret};
use thinkthrough_core::contract::Contract;
use thinkthrough_core::settings::Partial;

/// What the file says.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// Where it stands; `None` when there is none.
    pub(crate) path: Option<PathBuf>,
    pub(crate) default_model: Option<String>,
    pub(crate) reasoning: Partial,
    pub(crate) providers: Vec<ProviderEntry>,
    /// In file order.
    pub(crate) models: Vec<ModelEntry>,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) client: ClientConfig,
}

/// `[providers.NAME]`
#[derive(Clone, Debug, Default)]
pub(crate) struct ProviderEntry {
    pub(crate) name: String,
    /// The built-in provider whose rules hold; `None` for one of the user's own.
    pub(crate) extends: Option<String>,
    pub(crate) wire: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) key: Option<Secret>,
    pub(crate) contract: Option<Contract>,
}

/// `[models.NAME]`
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelEntry {
    pub(crate) name: String,
    pub(crate) provider: String,
    /// The provider's own name for it; `None` passes the name through.
    pub(crate) model: Option<String>,
    pub(crate) contract: Option<Contract>,
    pub(crate) reasoning: Partial,
}

/// `[profiles.NAME]`
#[derive(Clone, Debug, Default)]
pub(crate) struct Profile {
    pub(crate) name: String,
    pub(crate) model: Option<String>,
    pub(crate) reasoning: Partial,
}

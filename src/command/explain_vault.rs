//! The tenant whose records a request is explained with, and the rights of its key.

use super::candidates;
use crate::config::Config;
use crate::failure::Failure;
use crate::gate::pass_of;
use crate::stored;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use std::sync::Arc;
use thinkthrough_core::plane::Tenant;
use thinkthrough_gateway::{Pass, ReadOnly, Vaults};
use thinkthrough_store::Store;

/// The caller that the request is explained for.
#[derive(Debug, Args)]
pub(crate) struct Claim {
    /// Look up this tenant's thoughts: the name of a gateway key, or `local` for callers without one
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// The session's name, as the client would send it
    #[arg(long, value_name = "ID", requires = "tenant", add = ArgValueCompleter::new(candidates::sessions))]
    pub(super) session: Option<String>,
}

/// The records of all tenants, and the key of one.
type Known = (Option<Arc<dyn Vaults>>, Option<Arc<Pass>>);

impl Claim {
    /// Opens the store for reading, and finds the tenant's key. Without a tenant the store is not opened.
    pub(super) async fn known(&self, config: &Config) -> Result<Known, Failure> {
        let Some(name) = &self.tenant else { return Ok((None, None)) };
        let tenant = Tenant::stored(name).map_err(|error| {
            Failure::Usage(format!("`{}` is no tenant: {error}", name.escape_debug()))
        })?;
        let store = stored::existing(config).await?;
        let is_local = tenant == Tenant::local();
        if !is_local && !is_known(config, store.as_ref(), &tenant).await? {
            let message = format!("the store has no tenant `{tenant}`; check the name");
            return Err(Failure::Failed(message));
        }
        let pass = (!is_local).then(|| Arc::new(pass_of(config.keys.iter(), tenant)));
        Ok((Some(Arc::new(ReadOnly::new(store))), pass))
    }
}

/// Whether the tenant has records, or a key.
async fn is_known(
    config: &Config,
    store: Option<&Store>,
    tenant: &Tenant,
) -> Result<bool, Failure> {
    if config.keys.iter().any(|key| key.tenant == *tenant && key.hash.is_some()) {
        return Ok(true);
    }
    let Some(store) = store else { return Ok(false) };
    if store.vault(tenant).known_secret().await?.is_some() {
        return Ok(true);
    }
    let keys = store.gateway_keys().list().await?;
    Ok(keys.iter().any(|key| key.name == tenant.as_str() && !key.is_revoked))
}

//! What the vault has for the answers of a request, and what a gateway would do with it.

use crate::choose::Chosen;
use crate::config::Config;
use crate::failure::Failure;
use crate::stored;
use clap::Args;
use std::time::{SystemTime, UNIX_EPOCH};
use thinkthrough_core::exchange::{Need, Owner, Repair, RequestContext, Restore};
use thinkthrough_core::json::Doc;
use thinkthrough_core::outgoing::{Outgoing, dressed};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::provider::Target;
use thinkthrough_core::restore::Secret;
use thinkthrough_core::settings::Resolved;
use thinkthrough_core::wire::{RequestError, Wire};
use thinkthrough_gateway::account;
use thinkthrough_store::{About, Store, StoreError, Vault};

/// Whose thoughts are looked up.
#[derive(Debug, Args)]
pub(crate) struct Claim {
    /// Look up this tenant's thoughts: the name of a gateway key, or `local` for callers without one
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// What the client would say about its session
    #[arg(long, value_name = "ID", requires = "tenant")]
    session: Option<String>,
}

/// One tenant's thoughts.
pub(super) struct Known {
    store: Store,
    vault: Vault,
    tenant: Tenant,
    secret: Secret,
    hint: Option<String>,
    /// Providers with several keys, of which nobody can say which one it would be.
    pools: Vec<String>,
}

/// What a gateway would send, and why.
pub(super) struct Explained {
    pub(super) request: Outgoing,
    /// The model with what its refusals taught.
    pub(super) target: Target,
}

impl Claim {
    /// The tenant's thoughts, if one is named.
    pub(super) async fn vault(&self, config: &Config) -> Result<Option<Known>, Failure> {
        let Some(name) = &self.tenant else { return Ok(None) };
        let tenant = Tenant::stored(name).map_err(|error| {
            Failure::Usage(format!("`{}` is no tenant: {error}", name.escape_debug()))
        })?;
        let nobody =
            || Failure::Failed(format!("the store has no tenant `{tenant}`; check the name"));
        let store = stored::existing(config).await?.ok_or_else(nobody)?;
        let vault = store.vault(&tenant);
        let secret = vault.known_secret().await?.ok_or_else(nobody)?;
        let pools = config.providers.iter().filter(|entry| !entry.more_keys.is_empty());
        let pools = pools.map(|entry| entry.name.clone()).collect();
        let hint = self.session.clone();
        Ok(Some(Known { store, vault, tenant, secret, hint, pools }))
    }
}

impl Known {
    /// What a gateway would send, and why.
    pub(super) async fn explain(
        self,
        from: &'static dyn Wire,
        doc: &Doc<'_>,
        chosen: &Chosen,
        settings: &Resolved,
    ) -> Result<Result<Explained, RequestError>, Failure> {
        let target = &chosen.target;
        let has_one_key = !self.pools.contains(&target.provider);
        let account = account(target, &chosen.auth).filter(|_| has_one_key);
        let learned = self.learned(chosen).await?;
        let Known { vault, tenant, secret, hint, .. } = self;
        // Nothing is kept, so that the record needs no name.
        let (record, has_old_records) = (String::new(), vault.has_old_records());
        let owner =
            Owner { tenant, secret, hint, account, record, has_old_records, is_kept: false };
        let asked = RequestContext::read(from, doc, target, settings, chosen.handling, Some(owner));
        let mut asked = match asked {
            Ok(asked) => asked,
            Err(error) => return Ok(Err(error)),
        };
        learned.into_iter().for_each(|repair| asked.repair(repair));
        let target = if learned.is_some() { asked.target() } else { target }.clone();
        let keys = match asked.need() {
            Need::Lookup(keys) => keys,
            Need::Nothing => Vec::new(),
        };
        let mut looked = vault.lookup(&keys).await?;
        // What only the answer behind it names.
        let mut more = vault.records(asked.more(&looked.found)).await?;
        while !more.found.is_empty() {
            looked.found.append(&mut more.found);
            more = vault.records(asked.more(&looked.found)).await?;
        }
        let prepared = asked.prepare(&looked.found, &looked.opener);
        let body = prepared.body.unwrap_or_else(|| doc.text().to_owned());
        let body = dressed(&body, &target).unwrap_or(body);
        let outgoing = Outgoing { body, ..prepared.exchange.outgoing().clone() };
        Ok(Ok(Explained { request: outgoing, target }))
    }

    /// What refusals taught about the model, where a gateway would heed it.
    async fn learned(&self, chosen: &Chosen) -> Result<Option<Repair>, StoreError> {
        if chosen.handling.dry_run || chosen.handling.restore != Restore::Recommended {
            return Ok(None);
        }
        let Target { base_url, model, .. } = &chosen.target;
        let (endpoint, model) = (base_url.clone(), model.clone());
        let about = About { tenant: self.tenant.clone(), endpoint, model };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let facts = self.store.facts().read(u64::try_from(now).unwrap_or(u64::MAX)).await?;
        let fact = facts.into_iter().flatten().find(|fact| fact.about == about);
        Ok(fact.and_then(|fact| Repair::taught(&fact.text)))
    }
}

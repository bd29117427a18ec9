//! `think erase`: a session or a tenant, with its keys.

use super::asking::Asking;
use crate::failure::{Failure, say};
use crate::stored;
use clap::{ArgGroup, Args};
use std::path::PathBuf;
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::StoreError;

/// Erase a session or a tenant: its keys are destroyed, and nothing brings it back
///
/// Without the keys no copy of the rows can be read. A copy of the whole store, made earlier, still holds the keys.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).multiple(false)))]
pub(crate) struct Erase {
    /// The session, by its ID or the first letters of it
    #[arg(long, value_name = "ID", group = "what")]
    session: Option<String>,
    /// Everything of a tenant; `local` is the user of this machine
    #[arg(long, value_name = "NAME", group = "what")]
    tenant: Option<String>,
    /// The configuration file, in place of the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Erase {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        stored::block_on(self.erase())
    }

    async fn erase(&self) -> Result<(), Failure> {
        let config = self.config.clone();
        let asking = Asking { model: None, config, profile: None, set: Vec::new() };
        let store = stored::existing(&asking.config()?).await?;
        if let Some(id) = &self.session {
            let gone = || StoreError::NoConversation(id.clone());
            let conversations = store.as_ref().ok_or_else(gone)?.conversations(&Tenant::local());
            let id = conversations.resolve(id).await?;
            conversations.delete(&id).await?;
            say(format_args!("session `{id}` is erased"));
        }
        if let Some(name) = &self.tenant {
            let tenant = Tenant::stored(name).map_err(|error| {
                Failure::Usage(format!("`{}` is no tenant: {error}", name.escape_debug()))
            })?;
            let sessions = match store {
                Some(store) => store.erase(&tenant).await?,
                None => None,
            };
            let sessions = sessions.ok_or_else(|| {
                Failure::Failed(format!("the store has no tenant `{tenant}`; check the name"))
            })?;
            let plural = if sessions == 1 { "" } else { "s" };
            say(format_args!("tenant `{tenant}` is erased, with {sessions} session{plural}"));
        }
        Ok(())
    }
}

//! `think erase`: a session or a tenant, with its keys.

use super::asking::Asking;
use super::candidates;
use super::sessions::in_words;
use crate::confirm::{confirm, may_ask};
use crate::failure::{Failure, say};
use crate::masking;
use crate::stored;
use clap::{ArgGroup, Args};
use clap_complete::engine::ArgValueCompleter;
use std::path::PathBuf;
use thinkthrough_chat::Cover;
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{Holding, Store, StoreError};

/// Erase a session or a tenant: its keys are destroyed, and nothing brings it back
///
/// Without the keys no copy of the rows can be read. A copy of the whole store, made earlier, still holds the keys.
/// On a terminal it asks first; elsewhere it wants `--yes`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).multiple(false)))]
pub(crate) struct Erase {
    /// The session, by its ID or the first letters of it
    #[arg(long, value_name = "ID", group = "what", add = ArgValueCompleter::new(candidates::sessions))]
    session: Option<String>,
    /// Everything of a tenant; `local` is the user of this machine
    #[arg(long, value_name = "NAME", group = "what")]
    tenant: Option<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// The configuration file, in place of the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Erase {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        stored::block_on(self.erase())
    }

    async fn erase(&self) -> Result<(), Failure> {
        may_ask("think erase", self.yes)?;
        let config = self.config.clone();
        let asking = Asking { model: None, config, profile: None, set: Vec::new() };
        let config = asking.config()?;
        let store = stored::existing(&config).await?;
        if let Some(id) = &self.session {
            self.session(store.as_ref(), id, &masking::of_output(&config)?).await?;
        }
        if let Some(name) = &self.tenant {
            self.tenant(store.as_ref(), name).await?;
        }
        Ok(())
    }

    async fn session(&self, store: Option<&Store>, id: &str, cover: &Cover) -> Result<(), Failure> {
        let gone = || StoreError::NoConversation(id.to_owned());
        let conversations = store.ok_or_else(gone)?.conversations(&Tenant::local());
        let id = conversations.resolve(id).await?;
        let session = in_words(&conversations, &id, cover).await?;
        confirm(&format!("Erase {session}?"), self.yes)?;
        conversations.delete(&id).await?;
        say(format_args!("session `{id}` is erased"));
        Ok(())
    }

    async fn tenant(&self, store: Option<&Store>, name: &str) -> Result<(), Failure> {
        let tenant = Tenant::stored(name).map_err(|error| {
            Failure::Usage(format!("`{}` is no tenant: {error}", name.escape_debug()))
        })?;
        let none =
            || Failure::Failed(format!("the store has no tenant `{tenant}`; check the name"));
        let store = store.ok_or_else(none)?;
        let Holding { conversations, records } = store.holding(&tenant).await?.ok_or_else(none)?;
        let sessions = counted(conversations, "session");
        let records = counted(records, "record");
        confirm(
            &format!(
                "Erase everything of tenant `{tenant}`, which is {sessions} and {records} of answers?"
            ),
            self.yes,
        )?;
        let sessions = counted(store.erase(&tenant).await?.ok_or_else(none)?, "session");
        say(format_args!("tenant `{tenant}` is erased, with {sessions}"));
        Ok(())
    }
}

/// `1 session`, `2 sessions`
fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

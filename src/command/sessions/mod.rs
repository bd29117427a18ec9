//! `think sessions`: the conversations that are kept.

mod list;
mod search;
mod show;
mod transfer;

use super::asking::Asking;
use crate::command::candidates;
use crate::config::Config;
use crate::confirm::{confirm, may_ask};
use crate::failure::Failure;
use crate::masking;
use crate::stored;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use std::io::Write;
use std::path::PathBuf;
use thinkthrough_chat::Cover;
use thinkthrough_chat::export::without_thoughts;
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{Conversation, ConversationId, Conversations};

/// List, show, search and move the conversations that are kept
///
/// Conversations of `think chat`, and of `think ask` with `--continue` or `--session`, are kept complete, with every
/// thought, and sealed with a key that only you have. Where an ID is asked for, its first few letters are enough.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think sessions list
  think sessions search --in thoughts \"race condition\"
  think sessions export k3f9 --format md > talk.md")]
pub(crate) struct Sessions {
    #[command(subcommand)]
    what: What,
    /// The configuration file, in place of the usual one
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum What {
    List(list::List),
    Show(show::Show),
    Search(search::Search),
    Export(transfer::Export),
    Import(transfer::Import),
    /// Delete conversations: their keys are overwritten, and nothing brings them back
    ///
    /// On a terminal it asks first; elsewhere it wants `--yes`.
    Delete {
        /// The conversations
        #[arg(value_name = "ID", required = true, add = ArgValueCompleter::new(candidates::sessions))]
        ids: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

impl Sessions {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        stored::block_on(self.act(out))
    }

    async fn act(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let asking =
            Asking { model: None, config: self.config.clone(), profile: None, set: Vec::new() };
        let config = asking.config()?;
        // `includeInResponse = false` hides thoughts everywhere, here too.
        let shows = asking.settings(&config, None)?.include_in_response.value;
        match &self.what {
            What::List(list) => list.run(&config, out).await,
            What::Show(show) => show.run(&config, shows, out).await,
            What::Search(search) => search.run(&config, shows, out).await,
            What::Export(export) => export.run(&config, shows, out).await,
            What::Import(import) => import.run(&config, out).await,
            What::Delete { ids, yes } => delete(&config, ids, *yes).await,
        }
    }
}

async fn delete(config: &Config, ids: &[String], yes: bool) -> Result<(), Failure> {
    may_ask("think sessions delete", yes)?;
    let Some(conversations) = existing(config).await? else { return Err(none(ids)) };
    // All are found before the first one goes.
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        found.push(conversations.resolve(id).await?);
    }
    found.sort();
    found.dedup();
    let cover = masking::of_output(config)?;
    let mut named = Vec::with_capacity(found.len());
    for id in &found {
        named.push(in_words(&conversations, id, &cover).await?);
    }
    confirm(&format!("Delete {}?", named.join(", ")), yes)?;
    for id in found {
        conversations.delete(&id).await?;
    }
    Ok(())
}

/// A conversation as a question names it: ``session `k3f9` "A title" with 12 messages``.
pub(super) async fn in_words(
    conversations: &Conversations,
    id: &ConversationId,
    cover: &Cover,
) -> Result<String, Failure> {
    let list = conversations.list().await?;
    let summary = list.iter().find(|summary| summary.id == *id);
    let title = summary.and_then(|it| it.meta.title.as_deref()).unwrap_or("(untitled)");
    let title = cover.text(title);
    let title = title.lines().next().unwrap_or_default();
    let messages = summary.map_or(0, |it| it.messages);
    let plural = if messages == 1 { "" } else { "s" };
    Ok(format!("session `{id}` \"{title}\" with {messages} message{plural}"))
}

/// The conversations, where a store is.
async fn existing(config: &Config) -> Result<Option<Conversations>, Failure> {
    Ok(stored::existing(config).await?.map(|store| store.conversations(&Tenant::local())))
}

/// Loads a conversation by the beginning of its id, with unfinished answers. Leaves thoughts out if they are not to
/// be shown.
async fn load(config: &Config, id: &str, shows: bool) -> Result<Conversation, Failure> {
    let found = existing(config).await?;
    let conversations = found.ok_or_else(|| none(&[id.to_owned()]))?;
    let id = conversations.resolve(id).await?;
    let mut whole = conversations.load(&id).await?;
    for position in &whole.damaged {
        crate::failure::say(format_args!(
            "warning: message {position} of session `{id}` is damaged and left out; \
             a backup of the store may still have it"
        ));
    }
    whole.contents.append(&mut whole.drafts);
    if !shows {
        whole.contents = without_thoughts(&whole.contents);
    }
    Ok(whole)
}

fn none(ids: &[String]) -> Failure {
    let first = ids.first().map_or("", String::as_str).to_owned();
    thinkthrough_store::StoreError::NoConversation(first).into()
}

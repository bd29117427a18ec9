//! Stores conversations: carries out the session's store operations in order.

use super::engine::Inbound;
use super::here::Here;
use super::teller::SoFar;
use crate::attachment::words;
use crate::cover::Cover;
use crate::instructions::without_changes;
use crate::search::search;
use crate::session::{Compression, Hit, Keep, Kept, Listed, Message, Stored};
use crate::wording::{ago, short_path};
use thinkthrough_core::content::{Content, Origin, Speaker};
use thinkthrough_json::{Raw, Writer};
use thinkthrough_store::{
    Conversation, ConversationId, Conversations, Draft, Found, Meta, Search, StoreError, Summary,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// An order for the store task.
#[derive(Debug)]
pub(super) enum Order {
    /// An order of the session.
    Keep(Keep),
    /// An answer begins.
    Begins(Origin),
    /// The partial answer so far.
    Draft(SoFar),
    /// A conversation from elsewhere.
    Import(String, Vec<Content>),
    /// Reports when all orders before this one are done.
    Done(tokio::sync::oneshot::Sender<()>),
}

/// The store task.
pub(super) struct Keeper {
    conversations: Conversations,
    inbox: mpsc::UnboundedSender<Inbound>,
    id: Option<ConversationId>,
    draft: Option<Draft>,
    compressions: Vec<Compression>,
    searching: Option<JoinHandle<()>>,
    here: Here,
    cover: Cover,
    folders: Folders,
}

/// The folders that a list of conversations is about.
#[derive(Clone, Debug, Default)]
pub(super) struct Folders {
    /// The working folder.
    pub(super) here: String,
    /// The user's home.
    pub(super) home: Option<String>,
}

impl Keeper {
    /// A keeper that continues a conversation, or begins one.
    pub(super) fn new(
        conversations: Conversations,
        inbox: mpsc::UnboundedSender<Inbound>,
        resumed: Option<&Stored>,
        (here, cover, folders): (Here, Cover, Folders),
    ) -> Self {
        let id = resumed.and_then(|stored| ConversationId::parse(&stored.id));
        here.set(id.as_ref());
        let compressions = resumed.map(|stored| stored.compressions.clone()).unwrap_or_default();
        let (draft, searching) = (None, None);
        Keeper { conversations, inbox, id, draft, compressions, searching, here, cover, folders }
    }

    /// Carries out orders until the channel is closed.
    pub(super) async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        tokio::spawn(remember(self.conversations.clone(), self.inbox.clone()));
        while let Some(order) = orders.recv().await {
            let done = match order {
                Order::Keep(keep) => self.keep(keep).await,
                Order::Begins(origin) => self.begins(origin).await,
                Order::Draft(so_far) => self.record(&so_far).await,
                Order::Import(title, contents) => self.import(title, &contents).await,
                Order::Done(sender) => {
                    let _ = sender.send(());
                    Ok(())
                }
            };
            if let Err(error) = done {
                self.tell(Message::Stored(Err(error.to_string())));
            }
        }
    }

    fn tell(&self, message: Message) {
        drop(self.inbox.send(Inbound::Message(message)));
    }

    fn kept(&self, kept: Kept) {
        self.tell(Message::Stored(Ok(kept)));
    }

    async fn keep(&mut self, keep: Keep) -> Result<(), StoreError> {
        match keep {
            Keep::Begin => {
                let folder = Some(self.folders.here.clone());
                let id = self.conversations.create(&Meta { folder, ..Meta::default() }).await?;
                self.kept(Kept::Begun(id.as_str().to_owned()));
                self.enter(Some(id), Vec::new());
                Ok(())
            }
            Keep::Leave => {
                self.enter(None, Vec::new());
                Ok(())
            }
            Keep::Message(content) => self.message(&content).await,
            Keep::Title(title) => match &self.id {
                Some(id) => self.conversations.rename(id, &title).await,
                None => Ok(()),
            },
            Keep::Model(model) => self.change(|meta| meta.state.model = Some(model)).await,
            Keep::Reasoning(said) => self.change(|meta| meta.state.reasoning = said).await,
            Keep::Cost(cost) => self.change(|meta| meta.state.cost += cost).await,
            Keep::Compressed(compression) => {
                match compression {
                    Some(compression) => self.compressions.push(compression),
                    None => drop(self.compressions.pop()),
                }
                let settings = said(&self.compressions);
                self.change(|meta| meta.settings = Some(settings)).await
            }
            Keep::Open(id) => {
                let id = self.conversations.resolve(&id).await?;
                let stored = open(&self.conversations, &id).await?;
                self.enter(Some(id), stored.compressions.clone());
                self.kept(Kept::Opened(Box::new(stored)));
                Ok(())
            }
            Keep::Fork(at) => self.fork(at).await,
            Keep::Delete(id) => self.delete(id).await,
            Keep::List => {
                let listed = self.conversations.list().await?;
                let lines = listed.iter().map(|it| line(it, &self.cover, &self.folders));
                self.kept(Kept::Sessions(lines.collect()));
                Ok(())
            }
            Keep::Search { words, within, shows_thoughts } => {
                let wanted = Search { text: words, within, only: None };
                // The search runs in its own task, so that messages are stored meanwhile. A newer search replaces an
                // older one.
                let shown = (shows_thoughts, self.cover.clone());
                let looks = look(self.conversations.clone(), self.inbox.clone(), wanted, shown);
                if let Some(before) = self.searching.replace(tokio::spawn(looks)) {
                    before.abort();
                }
                Ok(())
            }
        }
    }

    fn enter(&mut self, id: Option<ConversationId>, compressions: Vec<Compression>) {
        self.here.set(id.as_ref());
        self.id = id;
        self.draft = None;
        self.compressions = compressions;
    }

    async fn begins(&mut self, origin: Origin) -> Result<(), StoreError> {
        if let Some(id) = &self.id {
            self.draft = Some(self.conversations.draft(id, Some(&origin)).await?);
        }
        Ok(())
    }

    /// Stores the new part of an answer.
    async fn record(&mut self, so_far: &SoFar) -> Result<(), StoreError> {
        let Some(draft) = &mut self.draft else { return Ok(()) };
        let piece = draft.piece(&so_far.lock().so_far().blocks);
        match piece {
            Some(piece) => draft.keep(piece).await,
            None => Ok(()),
        }
    }

    async fn message(&mut self, content: &Content) -> Result<(), StoreError> {
        let Some(id) = &self.id else { return Ok(()) };
        let one = std::slice::from_ref(content);
        if content.speaker == Speaker::Ai
            && let Some(draft) = self.draft.take()
        {
            draft.finish(one).await?;
            return Ok(());
        }
        self.conversations.append(id, one).await?;
        Ok(())
    }

    async fn change(&self, change: impl FnOnce(&mut Meta)) -> Result<(), StoreError> {
        let Some(id) = &self.id else { return Ok(()) };
        self.conversations.change_meta(id, change).await
    }

    async fn fork(&mut self, at: usize) -> Result<(), StoreError> {
        let Some(id) = &self.id else { return Ok(()) };
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        let copy = self.conversations.fork(id, at).await?;
        self.kept(Kept::Forked(copy.as_str().to_owned()));
        let compressions = std::mem::take(&mut self.compressions);
        let fits = |it: &Compression| u32::try_from(it.made_at).is_ok_and(|made| made <= at);
        self.enter(Some(copy), compressions.into_iter().filter(fits).collect());
        let settings = said(&self.compressions);
        self.change(|meta| meta.settings = Some(settings)).await
    }

    async fn delete(&mut self, id: String) -> Result<(), StoreError> {
        let found = self.conversations.resolve(&id).await?;
        self.conversations.delete(&found).await?;
        if self.id.as_ref() == Some(&found) {
            self.enter(None, Vec::new());
        }
        self.kept(Kept::Deleted(id));
        Ok(())
    }

    async fn import(&mut self, title: String, contents: &[Content]) -> Result<(), StoreError> {
        let meta = Meta { title: Some(title), ..Meta::default() };
        let id = self.conversations.begin(&meta, contents).await?;
        let stored = open(&self.conversations, &id).await?;
        self.enter(Some(id), Vec::new());
        self.kept(Kept::Opened(Box::new(stored)));
        Ok(())
    }
}

/// Searches all conversations, and reports progress and hits.
async fn look(
    conversations: Conversations,
    inbox: mpsc::UnboundedSender<Inbound>,
    wanted: Search,
    (shows_thoughts, cover): (bool, Cover),
) {
    /// The most hits of one conversation.
    const EACH: usize = 3;
    /// The number of conversations between two progress reports.
    const STEP: usize = 16;
    let tell = |stored| drop(inbox.send(Inbound::Message(Message::Stored(stored))));
    let mut hits: Vec<Hit> = Vec::new();
    let found = |it: Found| {
        match it {
            Found::Progress { done, of } if of > STEP && done % STEP == 0 && done < of => {
                tell(Ok(Kept::Searching { done, all: of }));
            }
            Found::Progress { .. } => {}
            Found::Hit(hit) => {
                let of_it = hits.iter().rev().take_while(|it| it.id == hit.id.as_str()).count();
                if of_it < EACH {
                    hits.push(listed(&hit, &cover));
                }
            }
        }
        true
    };
    let done = search(&conversations, &wanted, (shows_thoughts, &cover), found).await;
    tell(done.map(|()| Kept::Found(hits)).map_err(|error| error.to_string()));
}

/// A hit as a row of a list.
fn listed(hit: &thinkthrough_store::Hit, cover: &Cover) -> Hit {
    let title = titled(hit.title.as_deref(), cover);
    let place = match hit.speaker {
        _ if hit.is_thought => "thought",
        Speaker::Ai => "answer",
        Speaker::Human => "question",
        Speaker::System => "system",
        Speaker::Tool => "tool",
    };
    Hit {
        id: hit.id.as_str().to_owned(),
        title,
        is_thought: hit.is_thought,
        excerpt: format!("{place}: {}", hit.excerpt),
    }
}

/// Sends the user's messages of the latest conversations to the session.
async fn remember(conversations: Conversations, inbox: mpsc::UnboundedSender<Inbound>) {
    const CONVERSATIONS: usize = 20;
    let Ok(list) = conversations.list().await else { return };
    let mut sent = Vec::new();
    for summary in list.iter().take(CONVERSATIONS).rev() {
        let Ok(whole) = conversations.load(&summary.id).await else { continue };
        let said = whole.contents.iter().filter(|content| content.speaker == Speaker::Human);
        sent.extend(said.map(|it| words(without_changes(&it.visible_text())).to_owned()));
    }
    drop(inbox.send(Inbound::Message(Message::Sent(sent))));
}

/// Opens a conversation for the session. Unfinished answers become messages of it.
///
/// # Errors
/// When there is no such conversation, or it cannot be read or written.
pub async fn open(
    conversations: &Conversations,
    id: &ConversationId,
) -> Result<Stored, StoreError> {
    let Conversation { id, meta, contents, .. } = conversations.resume(id).await?;
    let compressions = meta.settings.as_ref().map(read).unwrap_or_default();
    let Meta { title, state, .. } = meta;
    Ok(Stored { id: id.as_str().to_owned(), title, state, contents, compressions })
}

fn said(compressions: &[Compression]) -> Raw {
    Raw::build(|w: &mut Writer| {
        w.object(|w| {
            w.key("compressions").array(|w| {
                for Compression { upto, made_at, summary } in compressions {
                    w.object(|w| {
                        w.field_u64("upto", u64::try_from(*upto).unwrap_or(u64::MAX));
                        w.field_u64("madeAt", u64::try_from(*made_at).unwrap_or(u64::MAX));
                        w.field_str("summary", summary);
                    });
                }
            });
        });
    })
}

fn read(settings: &Raw) -> Vec<Compression> {
    let doc = settings.doc();
    let Some(list) = doc.root().some("compressions") else { return Vec::new() };
    list.items()
        .filter_map(|it| {
            let number = |key| it.u64(key).and_then(|number| usize::try_from(number).ok());
            let summary = it.string("summary")?;
            Some(Compression { upto: number("upto")?, made_at: number("madeAt")?, summary })
        })
        .collect()
}

/// A title as a list shows it.
fn titled(title: Option<&str>, cover: &Cover) -> String {
    title.map_or_else(|| "untitled".to_owned(), |title| cover.text(title).into_owned())
}

fn line(summary: &Summary, cover: &Cover, folders: &Folders) -> Listed {
    let model = summary.meta.state.model.as_ref();
    let model = model.map_or_else(String::new, |model| format!(", {model}"));
    let folder = summary.meta.folder.as_deref().filter(|it| *it != folders.here);
    let folder = folder.map(|it| short_path(it, folders.home.as_deref()));
    let folder = folder.map_or_else(String::new, |folder| format!(", in {folder}"));
    let plural = if summary.messages == 1 { "" } else { "s" };
    let since = std::time::UNIX_EPOCH
        .elapsed()
        .ok()
        .and_then(|now| u64::try_from(now.as_millis()).ok())
        .map_or(0, |now| now.saturating_sub(summary.updated_at) / 1_000);
    Listed {
        id: summary.id.as_str().to_owned(),
        title: titled(summary.meta.title.as_deref(), cover),
        detail: format!("{}{folder}{model}, {} message{plural}", ago(since), summary.messages),
    }
}

#[cfg(test)]
mod tests;

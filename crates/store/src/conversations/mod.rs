//! The conversations of a tenant: exact logs, each sealed with its own key.

mod draft;
mod log;
mod pieces;
mod search;

pub use draft::{Draft, Piece};
pub use search::{Found, Hit, Search, Within};

use crate::clock::now;
use crate::error::StoreError;
use crate::id::{self, ConversationId};
use crate::keys::TenantKeys;
use crate::meta::{Fork, Meta};
use crate::row::{Append, Appended, ConversationRow, NewConversation};
use crate::seal::{Key, random};
use crate::store::{Store, TRACES};
use log::Log;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thinkthrough_core::content::{Content, Origin};
use thinkthrough_core::plane::Tenant;

/// The conversations of one tenant. Clones are handles to the same ones.
#[derive(Clone, Debug)]
pub struct Conversations {
    store: Store,
    tenant: Tenant,
    opened: Arc<Mutex<HashMap<ConversationId, Arc<Opened>>>>,
}

/// An entry in the list of conversations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its id.
    pub id: ConversationId,
    /// Title and settings.
    pub meta: Meta,
    /// Number of contents.
    pub messages: u32,
    /// Time of the last append in Unix milliseconds.
    pub updated_at: u64,
}

/// A complete conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// Title and settings.
    pub meta: Meta,
    /// Time of the last append in Unix milliseconds.
    pub updated_at: u64,
    /// All contents, exactly as they were.
    pub contents: Vec<Content>,
    /// Unfinished answers, because the program ended in their middle. Each is marked partial.
    pub drafts: Vec<Content>,
    /// Positions of messages that cannot be opened, because the file is damaged.
    pub damaged: Vec<u32>,
}

/// A conversation with its opened key.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) nr: i64,
    pub(crate) log: Log,
    /// The last known number of messages.
    messages: AtomicU32,
}

/// Messages per step of loading.
pub(crate) const PAGE: u32 = 512;
/// The most attempts of an append that conflicts with other processes. Each append of another process costs two
/// attempts.
const ATTEMPTS: usize = 1_000;

impl Store {
    /// The conversations of a tenant.
    #[must_use]
    pub fn conversations(&self, tenant: &Tenant) -> Conversations {
        Conversations { store: self.clone(), tenant: tenant.clone(), opened: Arc::default() }
    }
}

impl Conversations {
    /// Creates an empty conversation.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn create(&self, meta: &Meta) -> Result<ConversationId, StoreError> {
        self.begin(meta, &[]).await
    }

    /// Creates a conversation with these contents in one step.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn begin(
        &self,
        meta: &Meta,
        contents: &[Content],
    ) -> Result<ConversationId, StoreError> {
        let id = self.new_id()?;
        self.begin_as(&id, meta, contents).await?;
        Ok(id)
    }

    /// A new unique id for a conversation that may be created later.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new_id(&self) -> Result<ConversationId, StoreError> {
        Ok(ConversationId::from_random(random().map_err(|_| self.store.no_random())?))
    }

    /// Creates a conversation with these contents under an id of [`Conversations::new_id`], in one step.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn begin_as(
        &self,
        id: &ConversationId,
        meta: &Meta,
        contents: &[Content],
    ) -> Result<(), StoreError> {
        for _ in 0..2 {
            let keys = self.store.keys_or_new(&self.tenant).await?;
            if self.begin_with(&keys, id, meta, contents).await? {
                return Ok(());
            }
            // The tenant was erased meanwhile. Create it again.
            self.store.forget(&self.tenant);
        }
        Err(StoreError::Closed)
    }

    /// Appends contents to a conversation, all or none. They are durable when this returns. Returns the new
    /// number of contents.
    ///
    /// # Errors
    /// When there is no such conversation or it cannot be written.
    pub async fn append(
        &self,
        id: &ConversationId,
        contents: &[Content],
    ) -> Result<u32, StoreError> {
        self.append_in_place_of(id, contents, &[]).await
    }

    /// Starts a draft, which stores an answer while it arrives, so that a crash of the program loses no text.
    ///
    /// # Errors
    /// When there is no such conversation.
    pub async fn draft(
        &self,
        id: &ConversationId,
        origin: Option<&Origin>,
    ) -> Result<Draft, StoreError> {
        let opened = self.opened(id).await?;
        let noise: [u8; 4] = random().map_err(|_| self.store.no_random())?;
        // The number contains the time, because drafts are read in the order of their start.
        let number = now() << 22 | i64::from(u32::from_le_bytes(noise) >> 10);
        Ok(Draft::new(self.clone(), id.clone(), opened, number, origin.cloned()))
    }

    /// Loads a complete conversation.
    ///
    /// # Errors
    /// When there is no such conversation or it cannot be read. Single damaged messages are no error.
    pub async fn load(&self, id: &ConversationId) -> Result<Conversation, StoreError> {
        let (row, opened) = self.find(id).await?;
        let drafts = self.drafts_of(&opened).await?;
        let drafts = drafts.into_iter().map(|(_, content)| content).collect();
        self.whole(id, &row, &opened, drafts).await
    }

    /// Loads a complete conversation and first turns unfinished answers into normal messages, marked partial.
    ///
    /// # Errors
    /// When there is no such conversation, or it cannot be read or written.
    pub async fn resume(&self, id: &ConversationId) -> Result<Conversation, StoreError> {
        let (_, opened) = self.find(id).await?;
        let drafts = self.drafts_of(&opened).await?;
        if !drafts.is_empty() {
            let numbers: Vec<i64> = drafts.iter().map(|(number, _)| *number).collect();
            let said: Vec<Content> = drafts.into_iter().map(|(_, content)| content).collect();
            let said: Vec<Content> = said.into_iter().filter(|it| !it.blocks.is_empty()).collect();
            self.append_in_place_of(id, &said, &numbers).await?;
        }
        let (row, opened) = self.find(id).await?;
        self.whole(id, &row, &opened, Vec::new()).await
    }

    /// All conversations, latest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn list(&self) -> Result<Vec<Summary>, StoreError> {
        let Some(keys) = self.store.keys(&self.tenant).await? else { return Ok(Vec::new()) };
        let rows = self.store.backend().conversations(keys.nr).await?;
        let ids = rows.iter().map(|row| row.key_id);
        let keys = self.store.keys_with(keys, &self.tenant, ids).await?;
        rows.iter().map(|row| self.summary(&keys, row)).collect()
    }

    /// The conversation with the latest append.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn latest(&self) -> Result<Option<Summary>, StoreError> {
        let Some(keys) = self.store.keys(&self.tenant).await? else { return Ok(None) };
        let rows = self.store.backend().conversations(keys.nr).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let keys = self.store.keys_with(keys, &self.tenant, std::iter::once(row.key_id)).await?;
        self.summary(&keys, row).map(Some)
    }

    /// The conversation with the latest append among those of this folder and those without a folder.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn latest_in(&self, folder: &str) -> Result<Option<Summary>, StoreError> {
        let all = self.list().await?;
        let is_here = |it: &Summary| it.meta.folder.as_deref().is_none_or(|it| it == folder);
        Ok(all.into_iter().find(is_here))
    }

    /// Finds the conversation whose id begins with this text.
    ///
    /// # Errors
    /// When no id or several ids begin with it.
    pub async fn resolve(&self, beginning: &str) -> Result<ConversationId, StoreError> {
        let none = || StoreError::NoConversation(beginning.to_owned());
        let text = beginning.to_ascii_lowercase();
        let keys = self.store.keys(&self.tenant).await?.ok_or_else(none)?;
        if !id::is_beginning(&text) {
            return Err(none());
        }
        let found = self.store.backend().ids(keys.nr, text).await?;
        match found.as_slice() {
            [] => Err(none()),
            [one] => ConversationId::parse(one).ok_or_else(none),
            _ => Err(StoreError::Ambiguous(beginning.to_owned())),
        }
    }

    /// Creates a copy of the first `at` messages of a conversation. The two share no data: each can be deleted alone.
    ///
    /// # Errors
    /// When there is no such conversation, it has fewer messages, or a message is damaged.
    pub async fn fork(&self, id: &ConversationId, at: u32) -> Result<ConversationId, StoreError> {
        let mut whole = self.load(id).await?;
        let messages = u32::try_from(whole.contents.len()).unwrap_or(u32::MAX);
        if let Some(damaged) = whole.damaged.iter().find(|damaged| **damaged < at) {
            return Err(log::damaged(id, *damaged));
        }
        if at > messages {
            return Err(StoreError::NoMessage { id: id.clone(), messages, at });
        }
        whole.contents.truncate(usize::try_from(at).unwrap_or(usize::MAX));
        whole.meta.fork = Some(Fork { from: id.as_str().to_owned(), at });
        self.begin(&whole.meta, &whole.contents).await
    }

    /// Reads the title and settings of a conversation.
    ///
    /// # Errors
    /// When there is no such conversation or it cannot be read.
    pub async fn meta(&self, id: &ConversationId) -> Result<Meta, StoreError> {
        let (row, opened) = self.find(id).await?;
        opened.log.open_meta(&row.meta)
    }

    /// Replaces the title and settings of a conversation.
    ///
    /// # Errors
    /// When there is no such conversation or it cannot be written.
    pub async fn set_meta(&self, id: &ConversationId, meta: &Meta) -> Result<(), StoreError> {
        let opened = self.opened(id).await?;
        let sealed = opened.log.seal_meta(meta).map_err(|_| self.store.no_random())?;
        let is_there = self.store.backend().set_meta(opened.nr, sealed).await?;
        if is_there { Ok(()) } else { Err(self.gone(id)) }
    }

    /// Changes parts of the title and settings of a conversation.
    ///
    /// # Errors
    /// When there is no such conversation or it cannot be written.
    pub async fn change_meta(
        &self,
        id: &ConversationId,
        change: impl FnOnce(&mut Meta),
    ) -> Result<(), StoreError> {
        let before = self.meta(id).await?;
        let mut meta = before.clone();
        change(&mut meta);
        if meta == before { Ok(()) } else { self.set_meta(id, &meta).await }
    }

    /// Changes the title of a conversation.
    ///
    /// # Errors
    /// When there is no such conversation or it cannot be written.
    pub async fn rename(&self, id: &ConversationId, title: &str) -> Result<(), StoreError> {
        self.change_meta(id, |meta| meta.title = Some(title.to_owned())).await
    }

    /// Deletes a conversation: overwrites its key and deletes its rows.
    ///
    /// # Errors
    /// When there is no such conversation or the store cannot be written.
    pub async fn delete(&self, id: &ConversationId) -> Result<(), StoreError> {
        let opened = self.opened(id).await?;
        // Delete the unsealed traces first, so that an interruption does not leave them without their conversation.
        self.store.flush_traces().await;
        let (backend, name) = (self.store.backend(), || self.tenant.as_str().to_owned());
        while backend.erase_session_traces(name(), id.as_str().to_owned(), TRACES).await? > 0 {}
        self.store.traces().forget_words().await?;
        let was_there = self.store.backend().remove_conversation(opened.nr).await?;
        let gone = self.gone(id);
        if was_there { Ok(()) } else { Err(gone) }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Appends contents and deletes the drafts that they replace.
    pub(crate) async fn append_in_place_of(
        &self,
        id: &ConversationId,
        contents: &[Content],
        drafts: &[i64],
    ) -> Result<u32, StoreError> {
        let opened = self.opened(id).await?;
        for _ in 0..ATTEMPTS {
            let at = opened.messages.load(Ordering::Acquire);
            let messages = opened.log.seal(at, contents).map_err(|_| self.store.no_random())?;
            let end = at.saturating_add(u32::try_from(messages.len()).unwrap_or(u32::MAX));
            let drafts = drafts.to_vec();
            let append = Append { conversation: opened.nr, at, messages, drafts, now: now() };
            match self.store.backend().append(append).await? {
                Appended::Done => {
                    opened.messages.fetch_max(end, Ordering::AcqRel);
                    return Ok(end);
                }
                Appended::Gone => return Err(self.gone(id)),
                // Messages are sealed for their positions, so they must be sealed again.
                Appended::Moved(messages) => {
                    opened.messages.fetch_max(messages, Ordering::AcqRel);
                }
            }
        }
        Err(StoreError::Busy(self.store.at().to_owned()))
    }

    /// Forgets a conversation that no longer exists, and returns the error for it.
    pub(crate) fn gone(&self, id: &ConversationId) -> StoreError {
        self.cache().remove(id);
        StoreError::NoConversation(id.as_str().to_owned())
    }

    /// Reads one page of messages as rows. The next page starts after the last one.
    pub(crate) async fn page(
        &self,
        opened: &Opened,
        from: u32,
    ) -> Result<Vec<(u32, Vec<u8>)>, StoreError> {
        self.store.backend().messages(opened.nr, from, PAGE).await
    }

    async fn begin_with(
        &self,
        keys: &TenantKeys,
        id: &ConversationId,
        meta: &Meta,
        contents: &[Content],
    ) -> Result<bool, StoreError> {
        let Some((key_id, data_key)) = keys.current() else { return Ok(false) };
        let no_random = |_| self.store.no_random();
        let key = Key::random().map_err(no_random)?;
        let wrapped_key = log::wrap(&key, data_key, &self.tenant, id, key_id).map_err(no_random)?;
        let log = Log::new(key, &self.tenant, id);
        let new = NewConversation {
            tenant: keys.nr,
            id: id.as_str().to_owned(),
            key_id,
            wrapped_key,
            meta: log.seal_meta(meta).map_err(no_random)?,
            messages: log.seal(0, contents).map_err(no_random)?,
            now: now(),
        };
        let messages = u32::try_from(contents.len()).unwrap_or(u32::MAX);
        let Some(nr) = self.store.backend().add_conversation(new).await? else { return Ok(false) };
        let opened = Opened { nr, log, messages: AtomicU32::new(messages) };
        self.cache().insert(id.clone(), Arc::new(opened));
        Ok(true)
    }

    /// Reads the current row of a conversation.
    pub(crate) async fn find(
        &self,
        id: &ConversationId,
    ) -> Result<(ConversationRow, Arc<Opened>), StoreError> {
        let keys = self.store.keys(&self.tenant).await?.ok_or_else(|| self.gone(id))?;
        let row = self.store.backend().conversation(keys.nr, id.as_str().to_owned()).await?;
        let row = row.ok_or_else(|| self.gone(id))?;
        let keys = self.store.keys_with(keys, &self.tenant, std::iter::once(row.key_id)).await?;
        let known = self.cache().get(id).filter(|opened| opened.nr == row.nr).map(Arc::clone);
        let opened = match known {
            Some(opened) => {
                opened.messages.fetch_max(row.messages, Ordering::AcqRel);
                opened
            }
            None => {
                let log = self.log(&keys, &row, id)?;
                let messages = AtomicU32::new(row.messages);
                let opened = Arc::new(Opened { nr: row.nr, log, messages });
                self.cache().insert(id.clone(), Arc::clone(&opened));
                opened
            }
        };
        Ok((row, opened))
    }

    async fn opened(&self, id: &ConversationId) -> Result<Arc<Opened>, StoreError> {
        let known = self.cache().get(id).map(Arc::clone);
        match known {
            Some(opened) => Ok(opened),
            None => self.find(id).await.map(|(_, opened)| opened),
        }
    }

    fn log(
        &self,
        keys: &TenantKeys,
        row: &ConversationRow,
        id: &ConversationId,
    ) -> Result<Log, StoreError> {
        let key = keys
            .data(row.key_id)
            .and_then(|data| log::unwrap(&row.wrapped_key, data, &self.tenant, id, row.key_id));
        let damaged = || StoreError::Damaged { what: format!("the key of session `{id}`") };
        Ok(Log::new(key.ok_or_else(damaged)?, &self.tenant, id))
    }

    fn summary(&self, keys: &TenantKeys, row: &ConversationRow) -> Result<Summary, StoreError> {
        let damaged = || StoreError::Damaged { what: "the id of a session".to_owned() };
        let id = ConversationId::parse(&row.id).ok_or_else(damaged)?;
        let meta = self.log(keys, row, &id)?.open_meta(&row.meta)?;
        Ok(Summary { id, meta, messages: row.messages, updated_at: millis(row.updated_at) })
    }

    async fn whole(
        &self,
        id: &ConversationId,
        row: &ConversationRow,
        opened: &Arc<Opened>,
        drafts: Vec<Content>,
    ) -> Result<Conversation, StoreError> {
        let meta = opened.log.open_meta(&row.meta)?;
        let mut whole = Conversation {
            id: id.clone(),
            meta,
            updated_at: millis(row.updated_at),
            contents: Vec::new(),
            drafts,
            damaged: Vec::new(),
        };
        let mut from = 0;
        loop {
            let page = self.page(opened, from).await?;
            let Some((last, _)) = page.last() else { break };
            let next = last.saturating_add(1);
            let opener = Arc::clone(opened);
            let read = tokio::task::spawn_blocking(move || opener.log.open_page(from, &page));
            let (contents, damaged) = read.await.map_err(|_| StoreError::Closed)?;
            whole.contents.extend(contents);
            whole.damaged.extend(damaged);
            from = next;
        }
        whole.damaged.extend(from..row.messages);
        Ok(whole)
    }

    async fn drafts_of(&self, opened: &Opened) -> Result<Vec<(i64, Content)>, StoreError> {
        let rows = self.store.backend().drafts(opened.nr).await?;
        Ok(opened.log.open_drafts(&rows))
    }

    fn cache(&self) -> MutexGuard<'_, HashMap<ConversationId, Arc<Opened>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn millis(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or_default()
}

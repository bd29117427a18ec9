//! What can go wrong, each in one sentence that says what to do.

use crate::id::ConversationId;
use std::path::PathBuf;
use thinkthrough_core::plane::Tenant;

/// Why the store could not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the store for longer than the time limit.
    #[error(
        "the store `{0}` is held by another process for more than 5 seconds; try again, or end that process"
    )]
    Busy(String),
    /// A row is not what was sealed for its place.
    #[error("{what} was altered or damaged and cannot be opened; restore the store from a backup")]
    Damaged {
        /// The row, in words.
        what: String,
    },
    /// The database says no.
    #[error("the store `{at}` cannot be used: {message}")]
    Database {
        /// The file or server.
        at: String,
        /// What the database says.
        message: String,
    },
    /// There is no room for what was to be written; nothing of it was.
    #[error("the disk of the store `{0}` is full, so nothing was written; make room and try again")]
    Full(String),
    /// A file or folder cannot be used.
    #[error("`{}` cannot be used: {message}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        message: String,
    },
    /// The marker that keys of the gateway were made cannot be written.
    #[error(
        "`{}` cannot be written: {message}; it says that gateway keys were made, so that a lost store lets nobody in: make \
         its folder writable, or set `[server] keyless = false`",
        path.display()
    )]
    Marker {
        /// The marker.
        path: PathBuf,
        /// The system's words.
        message: String,
    },
    /// The master key does not have the right form, or its source gives none.
    #[error("the master key from {from} cannot be used: {message}")]
    Key {
        /// Where it comes from, in words.
        from: String,
        /// What is wrong.
        message: String,
    },
    /// The store exists and the file of its key does not.
    #[error(
        "the key file `{}` of the store `{store}` is missing; put its key there, for the store cannot be read without it",
        path.display()
    )]
    KeyMissing {
        /// Where the key should be.
        path: PathBuf,
        /// The store that needs it.
        store: String,
    },
    /// A newer version of the program made the store.
    #[error(
        "the store `{at}` has schema {found} and this version knows up to {known}; use a newer `think`"
    )]
    Newer {
        /// The file or server.
        at: String,
        /// The store's schema.
        found: u32,
        /// The newest schema that this version knows.
        known: u32,
    },
    /// The SQLite in this program can damage what it writes.
    #[error(
        "SQLite {0} can lose pages of a store that two connections write (its WAL-reset bug); build `think` with SQLite \
         3.51.3 or later"
    )]
    OldSqlite(String),
    /// The tenant has no such conversation.
    #[error("there is no session `{0}`; `think sessions list` shows those there are")]
    NoConversation(String),
    /// The beginning of an id fits several conversations.
    #[error("`{0}` fits several sessions; write more of its id")]
    Ambiguous(String),
    /// There are fewer messages than were named.
    #[error("session `{id}` has {messages} messages, so it cannot be cut after {at}")]
    NoMessage {
        /// The conversation.
        id: ConversationId,
        /// How many messages it has.
        messages: u32,
        /// How many were asked for.
        at: u32,
    },
    /// The tenant was erased, or made, by another process meanwhile.
    #[error(
        "the tenant `{0}` was erased or made anew meanwhile, so this one record is not kept; the next one is"
    )]
    Erased(Tenant),
    /// A key cannot have this name.
    #[error("a key cannot be called `{name}`: {message}")]
    KeyName {
        /// The name.
        name: String,
        /// Why not.
        message: String,
    },
    /// The name has a key already.
    #[error("there is a key `{0}` already; revoke it first, or choose another name")]
    KeyThere(Tenant),
    /// The server does not answer.
    #[error(
        "the store `{0}` has not answered for 5 seconds; see whether its server is well, and try again"
    )]
    Silent(String),
    /// TLS cannot be set up.
    #[error("TLS to the store cannot be set up: {0}")]
    Tls(String),
    /// What was deleted is gone from the store, and stands in its log for as long as another process reads.
    #[error(
        "it is deleted, but another process reads the store `{0}`, so that its log holds a copy until that process \
         ends; end it, and delete anything once more"
    )]
    Lingers(String),
    /// The name has no key that holds.
    #[error("there is no key `{0}` that could be revoked; `think keys list` shows those there are")]
    NoKey(String),
    /// The master key was changed, and the source of this process gives the one that was before.
    #[error(
        "the master key of the store `{at}` was changed by `think keys rotate`, and {from} does not give the new one; put \
         the new key there"
    )]
    Rotated {
        /// Where the key comes from, in words.
        from: String,
        /// The file or server.
        at: String,
    },
    /// The keys cannot be rotated as things stand.
    #[error("the keys of the store `{at}` stay as they are: {message}")]
    NotRotated {
        /// The file or server.
        at: String,
        /// Why, and what to do.
        message: String,
    },
    /// The store has ended.
    #[error("the store has been closed")]
    Closed,
    /// The master key is not the one that the store was made with.
    #[error(
        "the master key from {from} is not the one that the store `{at}` was made with; give it the right key"
    )]
    WrongKey {
        /// Where the key comes from, in words.
        from: String,
        /// The file or server.
        at: String,
    },
}

impl StoreError {
    /// The system gave no random bytes.
    pub(crate) fn no_random(at: &str) -> Self {
        let message = "the system gives no random bytes".to_owned();
        Self::Database { at: at.to_owned(), message }
    }

    /// Whether it says something about the store, and nothing about what it was given.
    pub(crate) fn is_everybodys(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::Full(_) | Self::Silent(_) | Self::Closed)
    }

    /// Whether nothing more is to be written, though the database might take some of it: what a damaged file took is lost
    /// with it, once a backup is in its place, and what waits is taken then.
    pub(crate) fn stops_all(&self) -> bool {
        self.is_everybodys() || matches!(self, Self::Damaged { .. })
    }
}

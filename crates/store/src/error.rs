//! Errors of the store. Each message is one sentence that says what to do.

use crate::id::ConversationId;
use std::path::PathBuf;
use thinkthrough_core::plane::Tenant;

/// An error of the store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the store for longer than the time limit.
    #[error(
        "the store `{0}` is held by another process for more than 5 seconds; try again, or end that process"
    )]
    Busy(String),
    /// A row does not open at its place.
    #[error("{what} was altered or damaged and cannot be opened; restore the store from a backup")]
    Damaged {
        /// The row, as a phrase.
        what: String,
    },
    /// The database returned an error.
    #[error("the store `{at}` cannot be used: {message}")]
    Database {
        /// The file or server.
        at: String,
        /// The database's message.
        message: String,
    },
    /// The disk is full, so that the store wrote no part of the data.
    #[error("the disk of the store `{0}` is full, so nothing was written; make room and try again")]
    Full(String),
    /// A file or folder cannot be used.
    #[error("`{}` cannot be used: {message}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's message.
        message: String,
    },
    /// The marker of gateway keys cannot be written.
    #[error(
        "`{}` cannot be written: {message}; it says that gateway keys were made, so that a lost store lets nobody in: make \
         its folder writable, or set `[server] keyless = false`",
        path.display()
    )]
    Marker {
        /// The marker.
        path: PathBuf,
        /// The system's message.
        message: String,
    },
    /// The master key has the wrong form, or its source returned no key.
    #[error("the master key from {from} cannot be used: {message}")]
    Key {
        /// The source of the key, as a phrase.
        from: String,
        /// The reason.
        message: String,
    },
    /// The store exists, but its key file does not.
    #[error(
        "the key file `{}` of the store `{store}` is missing; put its key there, for the store cannot be read without it",
        path.display()
    )]
    KeyMissing {
        /// The expected place of the key.
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
    /// This release of SQLite can damage the store.
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
    /// A conversation has fewer messages than requested.
    #[error("session `{id}` has {messages} messages, so it cannot be cut after {at}")]
    NoMessage {
        /// The conversation.
        id: ConversationId,
        /// Its number of messages.
        messages: u32,
        /// The requested number.
        at: u32,
    },
    /// Another process erased or created the tenant meanwhile.
    #[error(
        "the tenant `{0}` was erased or made anew meanwhile, so this one record is not kept; the next one is"
    )]
    Erased(Tenant),
    /// This name is not allowed for a key.
    #[error("a key cannot be called `{name}`: {message}")]
    KeyName {
        /// The name.
        name: String,
        /// The reason.
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
    /// The deleted data is gone from the store, but its log holds a copy as long as another process reads.
    #[error(
        "it is deleted, but another process reads the store `{0}`, so that its log holds a copy until that process \
         ends; end it, and delete anything once more"
    )]
    Lingers(String),
    /// The name has no valid key.
    #[error("there is no key `{0}` that could be revoked; `think keys list` shows those there are")]
    NoKey(String),
    /// The master key was changed, and this process has the old one.
    #[error(
        "the master key of the store `{at}` was changed by `think keys rotate`, and {from} does not give the new one; put \
         the new key there"
    )]
    Rotated {
        /// The source of the key, as a phrase.
        from: String,
        /// The file or server.
        at: String,
    },
    /// The keys cannot be rotated now.
    #[error("the keys of the store `{at}` stay as they are: {message}")]
    NotRotated {
        /// The file or server.
        at: String,
        /// The reason, and what to do.
        message: String,
    },
    /// The store is closed.
    #[error("the store has been closed")]
    Closed,
    /// The store was made with another master key.
    #[error(
        "the master key from {from} is not the one that the store `{at}` was made with; give it the right key"
    )]
    WrongKey {
        /// The source of the key, as a phrase.
        from: String,
        /// The file or server.
        at: String,
    },
}

impl StoreError {
    pub(crate) fn no_random(at: &str) -> Self {
        let message = "the system gives no random bytes".to_owned();
        Self::Database { at: at.to_owned(), message }
    }

    /// Whether the store as a whole failed, independent of the written rows.
    pub(crate) fn is_everybodys(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::Full(_) | Self::Silent(_) | Self::Closed)
    }

    /// Whether writing has to stop, though the database might accept some rows. A damaged file would lose them when a
    /// backup replaces it. Rows that wait are committed to the backup then.
    pub(crate) fn stops_all(&self) -> bool {
        self.is_everybodys() || matches!(self, Self::Damaged { .. })
    }
}

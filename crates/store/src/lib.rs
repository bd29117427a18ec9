//! The persistent store: conversations, complete with every thought, and the vault.
//!
//! A [`Store`] is one façade over its databases. Its data belongs to a [`Tenant`](thinkthrough_core::plane::Tenant),
//! and all thoughts but those in traces are sealed. [`Conversations`] are exact logs, and [`Search`] searches them. A
//! [`Vault`] keeps the thoughts that clients drop, so that the gateway can restore them. [`Traces`] are for people
//! who read models' thoughts: masked, and in plain text.
//!
//! - Acknowledged data survives any end of the process, and a power cut. The exception is a record that
//!   [`Vault::hand_over`] accepted without a [`Commit`]: a power cut can lose it.
//! - Messages, titles, models and settings are sealed (XChaCha20-Poly1305) with a key per conversation, which is
//!   locked with the tenant's data key, which is locked with the master key. The master key is not in the database.
//! - A row opens at its own place only. It does not open at another position, conversation or tenant.
//! - Deleting a conversation deletes its key. In a file the key is overwritten. Several processes may use one store.
//! - [`Location`] is a file (SQLite) or a server (PostgreSQL); one suite of tests runs on both.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! use thinkthrough_core::content::{Block, Content, Speaker, Text};
//! use thinkthrough_core::plane::Tenant;
//! use thinkthrough_store::{KeySource, Location, Meta, Store};
//!
//! # let folder = std::env::temp_dir().join(format!("think-store-doc-{}", std::process::id()));
//! let (file, key) = (folder.join("thinkthrough.db"), folder.join("thinkthrough.key"));
//! let store = Store::open(&Location::Sqlite(file), &KeySource::File(key)).await?;
//! let conversations = store.conversations(&Tenant::local());
//!
//! let id = conversations.create(&Meta { title: Some("Skies".into()), ..Meta::default() }).await?;
//! conversations.append(&id, &[Content::text(Speaker::Human, "Why is the sky blue?")]).await?;
//!
//! // While the answer comes in, a few times a second:
//! let mut draft = conversations.draft(&id, None).await?;
//! draft.record(&[Block::text("Because")]).await?;
//! draft.record(&[Block::text("Because of scattering.")]).await?;
//! draft.finish(&[Content::text(Speaker::Ai, "Because of scattering.")]).await?;
//!
//! let whole = conversations.load(&id).await?;
//! assert_eq!(whole.contents.len(), 2);
//! # std::fs::remove_dir_all(folder).unwrap();
//! # Ok::<(), thinkthrough_store::StoreError>(())
//! # }).unwrap();
//! ```

mod aside;
mod backend;
mod clock;
mod conversation_state;
mod conversations;
mod cost;
mod credential;
mod draft;
mod early;
mod error;
mod facts;
mod gateway_keys;
mod held;
mod id;
mod import;
mod journal;
mod keys;
mod known_keys;
mod ledger_row;
mod ledgers;
mod location;
mod marker;
mod master;
mod meta;
mod notes;
mod postgres;
mod recent;
mod refusals;
mod relock;
mod responses;
mod retention;
mod rotation;
mod row;
mod seal;
mod sealed_items;
mod slices;
mod slicing;
mod spill;
mod spool;
mod spooling;
mod sqlite;
mod store;
mod taking;
mod touched;
mod trace;
mod trace_items;
mod traces;
mod unfinished;
mod unindexed;
mod unwritten;
mod vault;
mod waiting;
mod word;

pub use clock::Moment;
pub use conversation_state::ConversationState;
pub use conversations::{
    Conversation, Conversations, Draft, Found, Hit, Piece, Search, Summary, Within,
};
pub use cost::Cost;
pub use credential::stands_for_nobody;
pub use draft::{TraceCount, TraceDraft};
pub use early::EarlyTraces;
pub use error::StoreError;
pub use facts::{About, FACT_AGE, Fact, Facts};
pub use gateway_keys::{GatewayKey, GatewayKeys, KeyHash, KeyList, KeyState, NewKey};
pub use id::ConversationId;
pub use known_keys::KeyWatch;
pub use ledgers::{LedgerKey, Ledgers};
pub use location::Location;
pub use master::{KeySource, read_private};
pub use meta::{Fork, Meta};
pub use responses::{Owner, Responses};
pub use retention::{Holding, Limits, Pruned};
pub use rotation::Rotation;
pub use spill::{Spill, Spilled};
pub use spool::{LostTrace, TracePlace};
pub use store::{Markers, Store};
pub use taking::Backlog;
pub use trace::{
    DraftText, NewTrace, TRACE_AGE, Trace, TraceFilter, TraceHits, TraceNumbers, TraceSession,
    TraceState, TraceSum, TraceText, TraceTexts,
};
pub use trace_items::{TraceContent, TraceItem, TraceItemKind, TraceItems};
pub use traces::Traces;
pub use vault::{Commit, Looked, Opener, Vault};
pub use waiting::Lost;

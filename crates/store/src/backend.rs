//! The databases behind the façade. Both keep the same rows and answer to the same calls.

use crate::error::StoreError;
use crate::ledger_row::LedgerRow;
use crate::postgres::Postgres;
use crate::recent::Known;
use crate::relock::{Relock, Relocked};
use crate::row::{
    Append, Appended, ConversationRow, DraftRow, FactMark, FactRow, Hit, InstallRow, ItemsRow,
    KeyRow, NewConversation, NewFact, NewRecord, NewResponse, OwnerRow, RecordRow, ResponseRow,
    SessionRow, SumRow, TenantRow, ThreadRow, TraceRow, Usage,
};
use crate::sqlite::Sqlite;
use crate::trace::{TraceFilter, TraceText};
use std::sync::Arc;

/// A database that keeps rows.
#[derive(Clone)]
pub(crate) enum Backend {
    Postgres(Postgres),
    Sqlite(Sqlite),
}

/// Declares calls that each database answers.
macro_rules! calls {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        impl Backend {
            $(pub(crate) async fn $name(&self, $($argument: $kind),*) -> Result<$result, StoreError> {
                match self {
                    // Much larger than the other, which would else make as much room.
                    Backend::Postgres(database) => Box::pin(database.$name($($argument),*)).await,
                    Backend::Sqlite(database) => database.$name($($argument),*).await,
                }
            })*
        }
    };
}

calls! {
    install() -> Option<InstallRow>;
    keep_install(check: Vec<u8>, install_key: Vec<u8>) -> Option<InstallRow>;
    tenant(name: String) -> Option<TenantRow>;
    add_tenant(name: String, lookup_key: Vec<u8>, data_key: Vec<u8>, check: Vec<u8>) -> Option<TenantRow>;
    add_data_key(tenant: i64, id: u32, wrapped: Vec<u8>, check: Vec<u8>) -> ();
    relock(change: Relock) -> Relocked;
    forget_log() -> ();
    remove_tenant(name: String) -> Option<u64>;
    add_conversation(new: NewConversation) -> Option<i64>;
    conversation(tenant: i64, id: String) -> Option<ConversationRow>;
    conversations(tenant: i64) -> Vec<ConversationRow>;
    ids(tenant: i64, beginning: String) -> Vec<String>;
    append(append: Append) -> Appended;
    messages(conversation: i64, from: u32, limit: u32) -> Vec<(u32, Vec<u8>)>;
    set_meta(conversation: i64, meta: Vec<u8>) -> bool;
    remove_conversation(conversation: i64) -> bool;
    add_draft(row: DraftRow) -> bool;
    drafts(conversation: i64) -> Vec<DraftRow>;
    remove_draft(conversation: i64, draft: i64) -> ();
    records(tenant: i64, keys: Vec<i64>, known: Vec<Known>) -> (Vec<Hit>, usize);
    records_named(tenant: i64, ids: Vec<String>) -> (Vec<RecordRow>, usize);
    add_records(records: Vec<Arc<NewRecord>>) -> Vec<bool>;
    poison(tenant: i64, ids: Vec<String>) -> u64;
    usage(before: i64) -> Vec<Usage>;
    oldest(tenant: i64, limit: u32) -> Vec<ThreadRow>;
    remove_threads(threads: Vec<ThreadRow>) -> u64;
    touch(threads: Vec<i64>, now: i64) -> ();
    put_response(new: NewResponse) -> bool;
    responses(tenant: i64, id: Vec<u8>, limit: u32) -> Vec<ResponseRow>;
    resource_owners(resources: Vec<Vec<u8>>) -> Vec<OwnerRow>;
    remove_response(tenant: i64, id: Vec<u8>) -> bool;
    put_fact(new: NewFact) -> bool;
    remove_fact(tenant: i64, name: Vec<u8>, until: i64) -> ();
    fact_mark() -> FactMark;
    facts(after: i64, before: i64, limit: u32) -> Vec<FactRow>;
    prune_facts(after: i64, before: i64) -> ();
    add_traces(traces: Vec<Arc<TraceRow>>) -> ();
    trace(id: String) -> Option<TraceRow>;
    trace_items(tenant: Option<String>, ids: Vec<String>, most: i32) -> Vec<ItemsRow>;
    traces(filter: TraceFilter) -> Vec<TraceRow>;
    search_traces(words: Vec<String>, within: TraceText, filter: TraceFilter) -> Vec<TraceRow>;
    trace_sums(filter: TraceFilter, bucket: i64) -> Vec<SumRow>;
    trace_sessions(filter: TraceFilter) -> Vec<SessionRow>;
    traces_unindexed() -> Option<i64>;
    index_traces(limit: u32) -> u64;
    prune_traces(before: i64, limit: u32) -> u64;
    give_back_words() -> bool;
    forget_words() -> bool;
    older_traces(before: i64) -> u64;
    tenants_with_many_traces(most: i64) -> Vec<(String, i64)>;
    prune_traces_of(tenant: String, limit: u32) -> u64;
    erase_traces(tenant: String, limit: u32) -> u64;
    erase_session_traces(tenant: String, session: String, limit: u32) -> u64;
    ledger(tenant: String, name: String) -> (i64, Option<(i64, String)>);
    swap_ledger(row: LedgerRow) -> bool;
    prune_ledgers(before: i64) -> ();
    prune_many_ledgers(most: i64, before: i64) -> ();
    erase_ledgers(tenant: String) -> ();
    add_key(name: String, hash: Vec<u8>, now: i64) -> bool;
    revoke_key(name: String, now: i64) -> bool;
    keys() -> Vec<KeyRow>;
    key_changes() -> i64;
    is_in_place() -> bool;
}

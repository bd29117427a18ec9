//! Tables of traces that another program made: no row is lost, and none is read before it is masked.

use super::Folder;
use super::trace_sessions::{execute, without_sessions};
use super::traces::{ids, trace};
use std::fs;
use thinkthrough_core::mask::{Masker, Tiers};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{Store, StoreError, Trace, TraceFilter, TraceText};

on_each_database! {
    a_database_with_nothing_but_such_a_table_becomes_a_store,
    a_table_beside_those_of_a_store_keeps_its_rows,
    rows_that_an_older_version_took_over_are_masked_too,
    rows_are_masked_in_steps_and_go_with_this_machines_user,
}

const TABLE: &str = "CREATE TABLE reasoning_traces (id INTEGER PRIMARY KEY, session_key TEXT NOT NULL, \
    run_id TEXT NOT NULL, model TEXT DEFAULT '', provider TEXT DEFAULT '', \
    reasoning_text TEXT NOT NULL DEFAULT '', reasoning_tokens INTEGER DEFAULT 0, \
    total_tokens INTEGER DEFAULT 0, duration_ms INTEGER DEFAULT 0, metadata TEXT DEFAULT '{}', \
    created_at BIGINT NOT NULL); \
    CREATE INDEX traces_of_run ON reasoning_traces (run_id)";
/// In two parts, because it is nobody's.
const TOKEN: [&str; 2] = ["ghp_", "Zk3vRt8mQw1xYb6nLd4sHc9fJg2pTe7uAa5K"];

fn row(id: u32) -> String {
    let thought = format!("old words {}", TOKEN.concat());
    format!(
        "INSERT INTO reasoning_traces (id, session_key, run_id, model, provider, reasoning_text, created_at) \
         VALUES ({id}, 's', 'r', '', '', '{thought}', {id})"
    )
}

fn masker(store: &Store) -> Masker {
    Masker::new(Tiers::ALL, &store.mask_key())
}

async fn all(store: &Store) -> Vec<Trace> {
    let filter = TraceFilter { limit: 1_000, ..TraceFilter::default() };
    store.traces().list(filter).await.unwrap()
}

/// The row is hidden until it is masked, and then as any other.
async fn becomes_a_trace(store: &Store, id: &str) {
    assert_eq!(ids(&all(store).await), [""; 0]);
    assert_eq!(store.traces().get(id).await.unwrap(), None);
    while store.mask_taken_over(&masker(store)).await.unwrap() {}
    while store.traces().index().await.unwrap() > 0 {}
    let found = all(store).await;
    assert_eq!(ids(&found), [id]);
    let thought = &found[0].thought;
    assert!(thought.starts_with("old words [masked:") && !thought.contains(TOKEN[1]), "{thought}");
    assert_eq!(found[0].tenant, "local");
    let search = |words: &'static str| {
        let traces = store.traces();
        async move {
            let found = traces.search(words, TraceText::Thoughts, TraceFilter::default()).await;
            found.unwrap().traces.len()
        }
    };
    assert_eq!((search("old words").await, search(TOKEN[1]).await), (1, 0));
    assert_eq!(store.traces().sessions(TraceFilter::default()).await.unwrap().len(), 1);
    let filter = TraceFilter { session: Some("s".to_owned()), ..TraceFilter::default() };
    assert_eq!(store.traces().list(filter).await.unwrap().len(), 1);
}

async fn a_database_with_nothing_but_such_a_table_becomes_a_store(folder: Folder) {
    fs::create_dir_all(&folder.path).unwrap();
    let meta = "CREATE TABLE meta (key TEXT, value TEXT); INSERT INTO meta VALUES ('v', '1')";
    execute(&folder, &[TABLE, &row(41), meta]).await;
    if folder.server.is_none() {
        let numbered = "PRAGMA user_version = 99";
        execute(&folder, &["UPDATE reasoning_traces SET model = NULL", numbered]).await;
    }
    let store = folder.open().await.unwrap();
    becomes_a_trace(&store, "41").await;
    drop(store);
    let store = folder.open().await.unwrap();
    assert!(!store.mask_taken_over(&masker(&store)).await.unwrap());
    assert_eq!(ids(&all(&store).await), ["41"]);
    // It is the other program's.
    execute(&folder, &["UPDATE meta SET value = '2' WHERE key = 'v'"]).await;
}

async fn a_table_beside_those_of_a_store_keeps_its_rows(folder: Folder) {
    drop(folder.open().await.unwrap());
    without_sessions(&folder).await;
    let undo = "DROP TABLE ledger; DROP TABLE reasoning_traces; \
                ALTER TABLE old_record DROP COLUMN anchored";
    let back = match folder.server {
        Some(_) => "DELETE FROM thinkthrough_schema WHERE version >= 5",
        None => "DROP TABLE trace_words; DROP TABLE trace_indexed; PRAGMA user_version = 5",
    };
    execute(&folder, &[undo, back, TABLE, &row(41)]).await;
    let store = folder.open().await.unwrap();
    becomes_a_trace(&store, "41").await;
}

async fn rows_that_an_older_version_took_over_are_masked_too(folder: Folder) {
    drop(folder.open().await.unwrap());
    let back = match folder.server {
        Some(_) => "DELETE FROM thinkthrough_schema WHERE version > 12",
        None => "PRAGMA user_version = 12",
    };
    let nobodys = row(41).replace("(41", "('41'");
    execute(&folder, &[&nobodys, back]).await;
    let store = folder.open().await.unwrap();
    becomes_a_trace(&store, "41").await;
}

async fn rows_are_masked_in_steps_and_go_with_this_machines_user(folder: Folder) {
    fs::create_dir_all(&folder.path).unwrap();
    let rows: Vec<String> = (1..=150).map(row).collect();
    let rows = rows.iter().map(String::as_str);
    execute(&folder, &std::iter::once(TABLE).chain(rows).collect::<Vec<_>>()).await;
    let store = folder.open().await.unwrap();
    assert!(store.mask_taken_over(&masker(&store)).await.unwrap(), "one step is not all");
    let some = all(&store).await.len();
    assert!(some > 0 && some < 150, "{some}");
    drop(store);
    let store = folder.open().await.unwrap();
    assert!(store.mask_taken_over(&masker(&store)).await.unwrap());
    store.traces().add(vec![trace("ours", 1, "", "")]).await.unwrap();
    assert_eq!(all(&store).await.len(), 2 * some + 1);
    store.erase(&Tenant::local()).await.unwrap();
    assert!(!store.mask_taken_over(&masker(&store)).await.unwrap());
    assert_eq!(all(&store).await.len(), 0);
}

#[tokio::test]
async fn a_file_with_more_than_such_a_table_is_left_alone() {
    let without_text = TABLE.replace("reasoning_text", "thought");
    for more in
        ["CREATE TABLE users (id)", "CREATE VIEW v AS SELECT 1", "PRAGMA application_id = 7", ""]
    {
        let folder = Folder::new();
        fs::create_dir_all(&folder.path).unwrap();
        let table = if more.is_empty() { &without_text } else { TABLE };
        execute(&folder, &[table, more]).await;
        let before = fs::read(folder.file()).unwrap();
        let error = folder.open().await.unwrap_err();
        assert!(matches!(error, StoreError::Database { .. }), "{error}");
        assert!(error.to_string().contains("another program"), "{error}");
        assert_eq!(fs::read(folder.file()).unwrap(), before, "{more}");
    }
}

//! Tables of traces that another program made: no row is lost, and none is read before it is masked.

use super::trace_sessions::execute;
use super::traces::{ids, trace};
use super::{Folder, holds};
use std::fs;
use thinkthrough_core::mask::{Masker, Tiers};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{Store, StoreError, Trace, TraceFilter, TraceText};

on_each_database! {
    a_database_with_nothing_but_such_a_table_becomes_a_store,
    rows_are_masked_in_steps_and_go_with_this_machines_user,
    whatever_stands_in_such_a_table_is_taken_over,
    a_table_that_lacks_a_column_is_named,
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

/// Rows of no type, without ids, with one id for two, with texts that are none, and with times of all kinds.
async fn whatever_stands_in_such_a_table_is_taken_over(folder: Folder) {
    fs::create_dir_all(&folder.path).unwrap();
    let is_file = folder.server.is_none();
    let date = if is_file { "TEXT" } else { "TIMESTAMPTZ" };
    let bytes = if is_file { "CAST(x'6f6c6420ff' AS TEXT)" } else { "'old'" };
    let table = format!(
        "CREATE TABLE reasoning_traces (id TEXT, session_key TEXT, run_id TEXT, model TEXT, \
         provider TEXT, reasoning_text TEXT, reasoning_tokens REAL, total_tokens TEXT, \
         duration_ms NUMERIC, metadata TEXT, created_at {date})"
    );
    let row = |id: &str, text: &str, number: &str, time: &str| {
        format!(
            "INSERT INTO reasoning_traces VALUES ({id}, 's', NULL, NULL, NULL, {text}, {number}, \
             '12', {number}, NULL, {time})"
        )
    };
    let date = "'2026-01-02 03:04:05+00:00'";
    let rows = [
        row("NULL", "NULL", "NULL", "NULL"),
        row("NULL", "'second'", "-5", date),
        row("'twice'", bytes, "1e30", "'2999-01-01 00:00:00+00:00'"),
        row("'twice'", "'other'", "7", "'1969-01-01 00:00:00+00:00'"),
    ];
    let rows = rows.iter().map(String::as_str);
    execute(&folder, &std::iter::once(&*table).chain(rows).collect::<Vec<_>>()).await;
    let store = folder.open().await.unwrap();
    let mut steps = 0;
    while store.mask_taken_over(&masker(&store)).await.unwrap() {
        steps += 1;
        assert!(steps < 9, "each is taken once");
    }
    while store.traces().index().await.unwrap() > 0 {}
    let found = all(&store).await;
    let texts = |it: &Trace| it.thought.clone();
    let by = |thought: &str| found.iter().find(|it| texts(it).starts_with(thought)).unwrap();
    assert_eq!(found.len(), 4);
    assert_eq!(ids(&found).iter().filter(|id| **id == "twice").count(), 1);
    assert!(found.iter().all(|it| !it.id.is_empty()));
    assert_eq!(by("second").numbers.created_at, 1_767_323_045_000);
    assert_eq!(by("second").numbers.reasoning_tokens, 0);
    assert_eq!(by("second").numbers.total_tokens, 12);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis();
    assert!(u128::from(by("old").numbers.created_at) <= now, "it grows old");
    assert_eq!(by("other").numbers.created_at, 0);
    let filter = TraceFilter::default();
    let search = store.traces().search("second", TraceText::All, filter).await.unwrap();
    assert_eq!(search.traces.len(), 1);
}

async fn a_table_that_lacks_a_column_is_named(folder: Folder) {
    fs::create_dir_all(&folder.path).unwrap();
    execute(&folder, &[&TABLE.replace("reasoning_text", "thought")]).await;
    for _ in 0..2 {
        let error = folder.open().await.unwrap_err();
        assert!(matches!(error, StoreError::Database { .. }), "{error}");
        let said = "the table `reasoning_traces` of another program has no column `reasoning_text`";
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[tokio::test]
async fn a_file_with_more_than_such_a_table_is_left_alone() {
    for more in
        ["CREATE TABLE users (id)", "CREATE VIEW v AS SELECT 1", "PRAGMA application_id = 7"]
    {
        let folder = Folder::new();
        fs::create_dir_all(&folder.path).unwrap();
        execute(&folder, &[TABLE, more]).await;
        let before = fs::read(folder.file()).unwrap();
        let error = folder.open().await.unwrap_err();
        assert!(matches!(error, StoreError::Database { .. }), "{error}");
        assert!(error.to_string().contains("another program"), "{error}");
        assert_eq!(fs::read(folder.file()).unwrap(), before, "{more}");
    }
}

/// While somebody reads the log keeps what was there, which is told and done again.
#[tokio::test]
async fn nothing_of_such_a_table_stands_in_the_file_or_its_log_once_it_is_masked() {
    let folder = Folder::new();
    fs::create_dir_all(&folder.path).unwrap();
    let long = row(1000).replace("old words", &"old words ".repeat(2_000));
    let rows: Vec<String> = (1..=300).map(row).chain([long]).collect();
    let rows = rows.iter().map(String::as_str);
    execute(&folder, &std::iter::once(TABLE).chain(rows).collect::<Vec<_>>()).await;
    let store = folder.open().await.unwrap();
    assert!(holds(&folder.bytes(), TOKEN[1].as_bytes()));
    let reader = rusqlite::Connection::open(folder.file()).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM reasoning_traces", [], |_| Ok(())).unwrap();
    let error = loop {
        match store.mask_taken_over(&masker(&store)).await {
            Ok(is_more) => assert!(is_more, "it is done while somebody reads"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Unmasked(_)), "{error}");
    drop(reader);
    assert!(!store.mask_taken_over(&masker(&store)).await.unwrap());
    while store.traces().index().await.unwrap() > 0 {}
    assert_eq!(all(&store).await.len(), 301);
    assert!(!holds(&folder.bytes(), TOKEN[1].as_bytes()), "it stands there in the clear");
    // Nobody waits for the log again.
    let database = rusqlite::Connection::open(folder.file()).unwrap();
    assert!(!database.table_exists(None, "trace_unmasked").unwrap());
}

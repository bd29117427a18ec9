//! Import of traces of another program: opening its file changes no byte, and the import loses no row.

use super::trace_sessions::execute;
use super::traces::ids;
use super::{Folder, holds};
use std::fs;
use std::path::PathBuf;
use thinkthrough_mask::{Masker, Tiers};
use thinkthrough_store::{Store, StoreError, Trace, TraceFilter, TraceText};

on_each_database! {
    rows_are_masked_and_added_once,
    whatever_stands_in_such_a_table_is_read,
    a_file_without_such_a_table_or_a_column_of_it_is_refused,
    a_database_with_such_a_table_is_no_store,
}

const TABLE: &str = "CREATE TABLE reasoning_traces (id INTEGER PRIMARY KEY, session_key TEXT NOT NULL, \
    run_id TEXT NOT NULL, model TEXT DEFAULT '', provider TEXT DEFAULT '', \
    reasoning_text TEXT NOT NULL DEFAULT '', reasoning_tokens INTEGER DEFAULT 0, \
    total_tokens INTEGER DEFAULT 0, duration_ms INTEGER DEFAULT 0, metadata TEXT DEFAULT '{}', \
    created_at BIGINT NOT NULL)";
/// A made-up token, split in two so that secret scanners ignore it.
const TOKEN: [&str; 2] = ["ghp_", "Zk3vRt8mQw1xYb6nLd4sHc9fJg2pTe7uAa5K"];

fn row(id: u32) -> String {
    let thought = format!("old words {}", TOKEN.concat());
    format!(
        "INSERT INTO reasoning_traces (id, session_key, run_id, model, provider, reasoning_text, created_at) \
         VALUES ({id}, 's', 'r', '', '', '{thought}', {id})"
    )
}

/// A file of another program with these statements in it.
fn other(folder: &Folder, statements: &[String]) -> PathBuf {
    fs::create_dir_all(&folder.path).unwrap();
    let path = folder.path.join("other.db");
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch(&statements.join(";")).unwrap();
    path
}

async fn import(store: &Store, file: &std::path::Path) -> Result<u64, StoreError> {
    let masker = Masker::new(Tiers::ALL, &store.mask_key());
    let mut last = 0;
    let count = store.import_traces(file, &masker, &mut |count| last = count).await?;
    assert_eq!(last, count);
    Ok(count)
}

async fn all(store: &Store) -> Vec<Trace> {
    let filter = TraceFilter { limit: 1_000, ..TraceFilter::default() };
    store.traces().list(filter).await.unwrap()
}

async fn rows_are_masked_and_added_once(folder: Folder) {
    let rows = std::iter::once(TABLE.to_owned()).chain((1..=150).map(row));
    let file = other(&folder, &rows.collect::<Vec<_>>());
    let before = fs::read(&file).unwrap();
    let store = folder.open().await.unwrap();
    for _ in 0..2 {
        assert_eq!(import(&store, &file).await, Ok(150));
        let found = all(&store).await;
        assert_eq!((found.len(), &*found[0].id, &*found[0].tenant), (150, "150", "local"));
        let thought = &found[0].thought;
        assert!(
            thought.starts_with("old words [masked:") && !thought.contains(TOKEN[1]),
            "{thought}"
        );
        let filter = || TraceFilter { limit: 1_000, ..TraceFilter::default() };
        let traces = store.traces();
        let search = |words| traces.search(words, TraceText::Thoughts, filter());
        assert_eq!(search("old words").await.unwrap().traces.len(), 150);
        assert_eq!(search(TOKEN[1]).await.unwrap().traces.len(), 0);
        assert_eq!(store.traces().sessions(TraceFilter::default()).await.unwrap().len(), 1);
    }
    assert_eq!(fs::read(&file).unwrap(), before);
    fs::remove_file(&file).unwrap();
    assert!(!holds(&folder.bytes(), TOKEN[1].as_bytes()), "it stands there in the clear");
}

/// Untyped rows, missing and duplicate ids, texts that are not UTF-8 or null, and times of all kinds.
async fn whatever_stands_in_such_a_table_is_read(folder: Folder) {
    let table = "CREATE TABLE reasoning_traces (id TEXT, session_key TEXT, run_id TEXT, model TEXT, \
         provider TEXT, reasoning_text TEXT, reasoning_tokens REAL, total_tokens TEXT, \
         duration_ms NUMERIC, metadata TEXT, created_at TEXT)";
    let row = |id: &str, text: &str, number: &str, time: &str| {
        format!(
            "INSERT INTO reasoning_traces VALUES ({id}, 's', NULL, NULL, NULL, {text}, {number}, \
             '12', {number}, NULL, {time})"
        )
    };
    let rows = [
        table.to_owned(),
        row("NULL", "NULL", "NULL", "NULL"),
        row("NULL", "'second'", "-5", "'2026-01-02 03:04:05+00:00'"),
        row("'twice'", "CAST(x'6f6c6420ff' AS TEXT)", "1e30", "'2999-01-01 00:00:00+00:00'"),
        row("'twice'", "'other'", "7", "'1969-01-01 00:00:00+00:00'"),
    ];
    let file = other(&folder, &rows);
    let store = folder.open().await.unwrap();
    for _ in 0..2 {
        assert_eq!(import(&store, &file).await, Ok(4));
        assert_eq!(all(&store).await.len(), 4);
    }
    let found = all(&store).await;
    let by = |thought: &str| found.iter().find(|it| it.thought.starts_with(thought)).unwrap();
    assert_eq!(ids(&found).iter().filter(|id| **id == "twice").count(), 1);
    assert!(found.iter().all(|it| !it.id.is_empty()));
    assert_eq!(by("second").numbers.created_at, 1_767_323_045_000);
    assert_eq!(by("second").numbers.reasoning_tokens, 0);
    assert_eq!(by("second").numbers.total_tokens, 12);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis();
    assert!(u128::from(by("old").numbers.created_at) <= now, "it grows old");
    assert_eq!(by("other").numbers.created_at, 0);
}

async fn a_file_without_such_a_table_or_a_column_of_it_is_refused(folder: Folder) {
    for (table, said) in [
        (TABLE.replace("reasoning_text", "thought"), "has no column `reasoning_text`"),
        ("CREATE TABLE users (id)".to_owned(), "it has no table `reasoning_traces`"),
    ] {
        let file = other(&folder, &[table]);
        let store = folder.open().await.unwrap();
        let error = import(&store, &file).await.unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        fs::remove_file(file).unwrap();
    }
}

async fn a_database_with_such_a_table_is_no_store(folder: Folder) {
    fs::create_dir_all(&folder.path).unwrap();
    execute(&folder, &[TABLE, &row(41)]).await;
    for _ in 0..2 {
        let error = folder.open().await.unwrap_err();
        assert!(matches!(error, StoreError::Database { .. }), "{error}");
        assert!(error.to_string().contains("of another program; name another"), "{error}");
        let is_file = folder.server.is_none();
        assert_eq!(error.to_string().contains("`think traces import "), is_file, "{error}");
    }
}

#[tokio::test]
async fn a_file_of_another_program_is_left_alone() {
    for table in
        [TABLE, "CREATE TABLE users (id)", "CREATE VIEW v AS SELECT 1", "PRAGMA application_id = 7"]
    {
        let folder = Folder::new();
        fs::create_dir_all(&folder.path).unwrap();
        execute(&folder, &[table]).await;
        let before = fs::read(folder.file()).unwrap();
        let error = folder.open().await.unwrap_err();
        assert!(matches!(error, StoreError::Database { .. }), "{error}");
        assert!(error.to_string().contains("another program"), "{error}");
        assert_eq!(fs::read(folder.file()).unwrap(), before, "{table}");
    }
}

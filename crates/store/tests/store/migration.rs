//! Stores that an older version made.

use super::Folder;
use super::talk::Talk;
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{Limits, Moment};

/// Turns the tables into those of the second schema, with the same rows. Every conversation had a name then.
const TO_SECOND: &str = "
    PRAGMA foreign_keys = OFF;
    BEGIN;
    DROP TABLE ledger;
    DROP TABLE trace_session;
    DROP TABLE trace_session_fill;
    DROP TABLE trace_words;
    DROP TABLE trace_indexed;
    DROP TABLE reasoning_traces;
    DROP TABLE fact;
    DROP TABLE old_record;
    DROP INDEX response_resource;
    ALTER TABLE response DROP COLUMN resource;
    CREATE TABLE old_key (
        tenant INTEGER NOT NULL,
        key INTEGER NOT NULL,
        record INTEGER NOT NULL,
        PRIMARY KEY (tenant, key, record)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO old_key SELECT tenant, key, record FROM record_key;
    DROP TABLE record_key;
    ALTER TABLE old_key RENAME TO record_key;
    CREATE TABLE old_thread (
        nr INTEGER PRIMARY KEY AUTOINCREMENT,
        tenant INTEGER NOT NULL,
        name BLOB NOT NULL,
        records INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        used_at INTEGER NOT NULL,
        UNIQUE (tenant, name)
    ) STRICT;
    INSERT INTO old_thread
        SELECT nr, tenant, coalesce(name, randomblob(32)), records, bytes, used_at FROM thread;
    DROP TABLE thread;
    ALTER TABLE old_thread RENAME TO thread;
    CREATE INDEX thread_used ON thread (tenant, used_at);
    PRAGMA user_version = 2;
    COMMIT;
";

#[tokio::test]
async fn a_store_of_the_second_schema_opens_with_all_it_had() {
    let folder = Folder::new();
    let tenant = Tenant::local();
    let store = folder.open().await.unwrap();
    let mut talks = Vec::new();
    for n in 0..3 {
        let mut talk = Talk::new(&store, &tenant, &format!("talk {n}"));
        for turn in 0..4 {
            talk.turn(&format!("{n}, {turn}?"), &format!("thought {turn}"), "yes").await;
        }
        talks.push(talk);
    }
    drop(store);
    let sql = |sql: &str| {
        let connection = rusqlite::Connection::open(folder.file()).unwrap();
        connection.execute_batch(sql).unwrap();
    };
    let number = |sql: &str| -> i64 {
        let connection = rusqlite::Connection::open(folder.file()).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    sql(TO_SECOND);
    // The latest conversation is gone, and its number is not given to another.
    sql("DELETE FROM record_key WHERE record IN (SELECT nr FROM record WHERE thread = 3);
         DELETE FROM record WHERE thread = 3;
         DELETE FROM thread WHERE nr = 3;");
    let bytes = number("SELECT sum(bytes) FROM thread");
    let store = folder.open().await.unwrap();
    assert_eq!(number("PRAGMA user_version"), 17);
    assert_eq!(number("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert_eq!(number("SELECT sum(bytes) FROM thread"), bytes);
    for (talk, restored) in talks.iter_mut().zip([4, 4, 0]) {
        talk.vault = store.vault(&tenant);
        assert_eq!(talk.restored().await, restored);
    }
    // What goes on joins its conversation, and what begins gets a new one.
    talks[0].turn("more?", "more", "yes").await;
    assert_eq!(talks[0].restored().await, 5);
    assert_eq!(number("SELECT records FROM thread WHERE nr = 1"), 5);
    let mut new = Talk::new(&store, &tenant, "new");
    new.turn("new?", "new", "yes").await;
    assert_eq!(number("SELECT max(nr) FROM thread"), 4);
    let all = Limits { records: 0, ..Limits::default() };
    assert_eq!(store.prune(&all, Moment::now()).await.unwrap().conversations, 3);
    assert_eq!(number("SELECT count(*) FROM record_key"), 0);
}

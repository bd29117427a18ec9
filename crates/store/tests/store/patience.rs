//! Stores that do not answer: each call ends, with an error that says so.

use super::talk::Talk;
use super::{Folder, question, server, titled};
use std::time::{Duration, Instant};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{KeySource, Location, Store, StoreError};

/// What no call takes, also where other programs keep the machine busy.
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_server_that_takes_connections_and_says_nothing_is_told_apart() {
    let folder = Folder::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://me@{}/db", listener.local_addr().unwrap());
    let began = Instant::now();
    let opened = Store::open(&Location::Postgres(url), &KeySource::File(folder.key())).await;
    assert!(matches!(opened, Err(StoreError::Silent(_))), "{opened:?}");
    assert!(began.elapsed() < LONG);
    drop(listener);
}

#[tokio::test]
async fn a_statement_that_waits_for_ever_is_given_up_and_the_next_one_works() {
    let Some(folder) = Folder::on_server().await else { return };
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("one", "hm", "first").await;
    let keys = talk.keys().await;
    talk.said.push(question("two"));
    let record = talk.record("well", "second").await;
    let client = server::connect(&folder.server.as_ref().unwrap().url).await.unwrap();
    client.batch_execute("BEGIN; LOCK TABLE record_key IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let began = Instant::now();
    let (looked, kept) =
        tokio::join!(talk.vault.lookup(&keys), talk.vault.append(vec![record.clone()]));
    assert!(matches!(looked, Err(StoreError::Silent(_))), "{looked:?}");
    assert!(matches!(kept, Err(StoreError::Silent(_))), "{kept:?}");
    assert!(began.elapsed() < LONG);
    client.batch_execute("ROLLBACK").await.unwrap();
    talk.vault.append(vec![record]).await.unwrap();
    assert_eq!(talk.vault.lookup(&keys).await.unwrap().found.len(), 1);
}

#[tokio::test]
async fn d_1_a_process_that_holds_the_file_stops_writers_for_a_while_and_no_readers() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("one", "hm", "first").await;
    talk.said.push(question("two"));
    let record = talk.record("well", "second").await;
    let holder = rusqlite::Connection::open(folder.file()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    // A reader that waited would be told at last that the file is busy.
    assert_eq!(talk.restored().await, 1);
    let began = Instant::now();
    let held = talk.vault.append(vec![record.clone()]).await;
    assert!(matches!(held, Err(StoreError::Busy(_))), "{held:?}");
    assert!(began.elapsed() < LONG);
    holder.execute_batch("ROLLBACK").unwrap();
    talk.vault.append(vec![record]).await.unwrap();
    assert_eq!(talk.restored().await, 1);
}

#[tokio::test]
async fn what_is_deleted_while_somebody_reads_is_said_to_linger() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let conversations = store.conversations(&Tenant::local());
    let id = conversations.begin(&titled("t"), &[question("q")]).await.unwrap();
    let other = conversations.begin(&titled("u"), &[question("q")]).await.unwrap();
    let reader = rusqlite::Connection::open(folder.file()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM message").unwrap();
    let deleted = conversations.delete(&id).await;
    assert!(matches!(deleted, Err(StoreError::Lingers(_))), "{deleted:?}");
    assert!(matches!(conversations.load(&id).await, Err(StoreError::NoConversation(_))));
    reader.execute_batch("COMMIT").unwrap();
    conversations.delete(&other).await.unwrap();
}

//! Databases on a PostgreSQL server, one for each test.

use super::{Folder, answer, holds, question, titled};
use std::sync::atomic::{AtomicU32, Ordering};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{KeySource, Location, Store, StoreError};
use tokio_postgres::{Client, NoTls};

/// Where the server is looked for; the variable names another one.
const USUAL: &str = "postgres://postgres@127.0.0.1:5432";
const VARIABLE: &str = "THINKTHROUGH_POSTGRES";

/// A database that goes with the test.
pub(super) struct Database {
    name: String,
    pub(super) url: String,
}

fn base() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| USUAL.to_owned())
}

pub(super) async fn connect(url: &str) -> Option<Client> {
    match tokio_postgres::connect(url, NoTls).await {
        Ok((client, connection)) => {
            tokio::spawn(async move { drop(connection.await) });
            Some(client)
        }
        Err(error) => {
            println!(
                "skipped: no PostgreSQL server answers at {url} ({error}); {VARIABLE} names one"
            );
            None
        }
    }
}

impl Database {
    pub(super) async fn new() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mark = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("think_test_{}_{mark}", std::process::id());
        let client = connect(&format!("{}/postgres", base())).await?;
        // One of a process with the same number, which was killed.
        let sql = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
        client.batch_execute(&sql).await.unwrap();
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        let url = format!("{}/{name}", base());
        Some(Database { name, url })
    }

    /// Does this in it, as another program might.
    pub(super) async fn execute(&self, statements: &[&str]) {
        let client = connect(&self.url).await.unwrap();
        client.batch_execute(&statements.join(";")).await.unwrap();
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                if let Some(client) = connect(&format!("{}/postgres", base())).await {
                    drop(client.batch_execute(&sql).await);
                }
            });
        });
        drop(dropping.join());
    }
}

#[tokio::test]
async fn a_server_needs_a_key_from_outside_and_the_right_one() {
    let Some(folder) = Folder::on_server().await else { return };
    let absent = KeySource::File(folder.path.join("absent.key"));
    let error = Store::open(&folder.location(), &absent).await.unwrap_err();
    assert!(matches!(error, StoreError::KeyMissing { .. }), "{error}");
    assert!(!folder.path.join("absent.key").exists(), "no key is made");
    folder.open().await.unwrap();
    std::fs::write(folder.key(), "aa".repeat(32)).unwrap();
    let error = folder.open().await.unwrap_err();
    assert!(matches!(error, StoreError::WrongKey { .. }), "{error}");
}

#[tokio::test]
async fn nothing_that_was_said_stands_on_the_server() {
    let Some(folder) = Folder::on_server().await else { return };
    let conversations = folder.open().await.unwrap().conversations(&Tenant::local());
    let said = [question("canary"), answer("canary", "canary")];
    let id = conversations.begin(&titled("canary"), &said).await.unwrap();
    let mut draft = conversations.draft(&id, None).await.unwrap();
    draft.record(&said[1].blocks).await.unwrap();
    let client = connect(&folder.server.as_ref().unwrap().url).await.unwrap();
    let sql = "SELECT wrapped_key || meta FROM conversation UNION ALL \
               SELECT sealed FROM message UNION ALL SELECT sealed FROM draft";
    let rows = client.query_typed(sql, &[]).await.unwrap();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| !holds(row.get(0), b"canary")));
}

#[tokio::test]
async fn a_lost_connection_is_made_again() {
    let Some(folder) = Folder::on_server().await else { return };
    let conversations = folder.open().await.unwrap().conversations(&Tenant::local());
    let id = conversations.begin(&titled("t"), &[question("a")]).await.unwrap();
    let client = connect(&folder.server.as_ref().unwrap().url).await.unwrap();
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let ended = client.query_typed(sql, &[]).await.unwrap();
    assert_eq!(ended.len(), 1, "one process has one connection");
    // The first call may be the one that notices.
    let first = conversations.append(&id, &[question("b")]).await;
    let messages = match first {
        Ok(messages) => messages,
        Err(StoreError::Database { .. }) => {
            conversations.append(&id, &[question("b")]).await.unwrap()
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(messages, 2);
    assert_eq!(conversations.load(&id).await.unwrap().contents, [question("a"), question("b")]);
}

#[tokio::test]
async fn a_newer_schema_on_the_server_is_refused() {
    let Some(folder) = Folder::on_server().await else { return };
    folder.open().await.unwrap();
    let client = connect(&folder.server.as_ref().unwrap().url).await.unwrap();
    let newest = "SELECT max(version) FROM thinkthrough_schema";
    let known: i64 = client.query_one(newest, &[]).await.unwrap().get(0);
    client.batch_execute("INSERT INTO thinkthrough_schema VALUES (99)").await.unwrap();
    assert!(matches!(folder.open().await, Err(StoreError::Newer { found: 99, .. })));
    // Unless it says that this version works on it.
    for (from, opens) in [(known, true), (known + 1, false)] {
        let sql = format!("UPDATE thinkthrough_schema SET works_from = {from} WHERE version = 99");
        client.batch_execute(&sql).await.unwrap();
        assert_eq!(folder.open().await.is_ok(), opens, "{from}");
    }
}

#[tokio::test]
async fn two_that_begin_at_once_make_one_store() {
    let Some(folder) = Folder::on_server().await else { return };
    let (a, b) = tokio::join!(folder.open(), folder.open());
    let (a, b) = (a.unwrap(), b.unwrap());
    let (a, b) = (a.conversations(&Tenant::local()), b.conversations(&Tenant::local()));
    let meta = titled("t");
    let (one, two) = tokio::join!(a.create(&meta), b.create(&meta));
    assert!(one.is_ok() && two.is_ok());
    assert_eq!(a.list().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.path).unwrap();
    let location = Location::Postgres("postgres://me:secret@127.0.0.1:1/db".into());
    let error = Store::open(&location, &KeySource::File(folder.key())).await.unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("the store `postgres://127.0.0.1:1/db` cannot be used: "), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

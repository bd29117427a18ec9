//! Files that were damaged, and disks that are full.

use super::talk::Talk;
use super::{Folder, answer, local, question, titled};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use thinkthrough_core::content::Content;
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{Store, StoreError};

/// The first leaf of a tree, and where it stands in the file.
fn leaf(file: &[u8], root: usize) -> usize {
    let at = (root - 1) * 4096;
    let number = |at: usize, bytes: usize| {
        file[at..at + bytes].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    };
    match file[at] {
        // An inner page, whose first cell begins with the page below it.
        2 | 5 => leaf(file, number(at + number(at + 12, 2), 4)),
        _ => at,
    }
}

/// A damaged page may be met by one record and not by the next. Whoever puts a backup back loses what the damaged file
/// took, so that it takes nothing more.
#[tokio::test]
async fn d_4_of_a_file_that_takes_some_and_refuses_others_for_damage_everything_waits_for_a_backup()
{
    takes_some_of_a_damaged_file(None).await;
    // They are written one by one, because the first of them is refused for what it is.
    let refuses = "CREATE TRIGGER refuses BEFORE INSERT ON record WHEN new.id LIKE '300-%' \
                   BEGIN SELECT raise(ABORT, 'no'); END";
    takes_some_of_a_damaged_file(Some(refuses)).await;
}

async fn takes_some_of_a_damaged_file(refuses: Option<&str>) {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let lost = Arc::new(AtomicUsize::new(0));
    let keep = async |store: &Store, record| {
        let (vault, lost) = (store.vault(&Tenant::local()), Arc::clone(&lost));
        let lost = Box::new(move |_: &StoreError| _ = lost.fetch_add(1, Ordering::Relaxed));
        assert!(vault.hand_over(vec![record], lost).await.unwrap().is_none());
    };
    let mut records = Vec::new();
    for n in 0..340 {
        let mut talk = Talk::new(&store, &Tenant::local(), &format!("{n}"));
        talk.said.push(question(&format!("{n}")));
        records.push(talk.record("hm", &format!("answer {n}")).await);
    }
    let later = records.split_off(300);
    for record in records {
        keep(&store, record).await;
    }
    store.close().await;
    drop(store);
    let whole = std::fs::read(folder.file()).unwrap();
    let rows = |folder: &Folder| {
        let database = rusqlite::Connection::open(folder.file()).unwrap();
        let sql = "SELECT (SELECT count(*) FROM record), rootpage FROM sqlite_schema WHERE name = 'record_key'";
        database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    let (count, root): (i64, u32) = rows(&folder);
    assert_eq!(count, 300);
    if let Some(sql) = refuses {
        tamper(&folder, sql);
    }
    let mut damaged = std::fs::read(folder.file()).unwrap();
    let at = leaf(&damaged, root.try_into().unwrap());
    assert_ne!(at, (root as usize - 1) * 4096, "it has one page only");
    damaged[at..at + 4096].fill(0x5A);
    std::fs::write(folder.file(), damaged).unwrap();
    let store = folder.open().await.unwrap();
    for record in later {
        keep(&store, record).await;
        if refuses.is_none() {
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
    }
    store.close().await;
    let lost = lost.load(Ordering::Relaxed);
    assert!(lost <= usize::from(refuses.is_some()), "{lost} that were acknowledged");
    let lost = i64::try_from(lost).unwrap();
    let notes = store.notes().join("\n");
    let (taken, _) = rows(&folder);
    assert!(notes.contains(&format!("{} thoughts wait in ", 340 - taken - lost)), "{notes}");
    // In another folder, because this process goes on trying, and holds its journal.
    let backup = Folder::new();
    std::fs::create_dir_all(&backup.path).unwrap();
    for entry in std::fs::read_dir(&folder.path).unwrap() {
        let (from, name) = entry.map(|it| (it.path(), it.file_name())).unwrap();
        if from == folder.key() || name.to_str().unwrap().contains(".journal-") {
            std::fs::copy(from, backup.path.join(name)).unwrap();
        }
    }
    std::fs::write(backup.file(), whole).unwrap();
    backup.open().await.unwrap().close().await;
    assert_eq!(
        rows(&backup).0,
        640 - taken - lost,
        "all that the damaged file did not take is there"
    );
}

/// Changes the database as no version of ours would.
fn tamper(folder: &Folder, sql: &str) {
    let connection = rusqlite::Connection::open(folder.file()).unwrap();
    connection.execute_batch(sql).unwrap();
}

fn said(n: usize) -> Vec<Content> {
    (0..n).map(|n| answer("hm", &format!("answer {n}"))).collect()
}

#[tokio::test]
async fn a_damaged_message_is_named_and_the_others_are_there() {
    let folder = Folder::new();
    let conversations = local(&folder).await;
    let id = conversations.begin(&titled("t"), &said(6)).await.unwrap();
    tamper(
        &folder,
        "UPDATE message SET sealed = substr(sealed, 1, length(sealed) - 1) WHERE position = 1;
         DELETE FROM message WHERE position = 3;
         DELETE FROM message WHERE position = 5;",
    );
    let whole = conversations.load(&id).await.unwrap();
    let expected = said(6);
    assert_eq!(whole.contents, [0, 2, 4].map(|n| expected[n].clone()));
    assert_eq!(whole.damaged, [1, 3, 5]);
    assert!(matches!(conversations.fork(&id, 2).await, Err(StoreError::Damaged { .. })));
    assert!(conversations.fork(&id, 1).await.is_ok());
    assert_eq!(conversations.append(&id, &[question("on?")]).await, Ok(7));
}

#[tokio::test]
async fn rows_that_change_places_stay_shut() {
    let folder = Folder::new();
    let conversations = local(&folder).await;
    let one = conversations.begin(&titled("one"), &said(2)).await.unwrap();
    let two = conversations.begin(&titled("two"), &said(2)).await.unwrap();
    tamper(
        &folder,
        "UPDATE message SET position = 9 WHERE conversation = 1 AND position = 0;
         UPDATE message SET position = 0 WHERE conversation = 1 AND position = 1;
         UPDATE message SET position = 1 WHERE conversation = 1 AND position = 9;
         UPDATE message SET sealed = (SELECT sealed FROM message WHERE conversation = 1 AND position = 0)
            WHERE conversation = 2 AND position = 1;",
    );
    assert_eq!(conversations.load(&one).await.unwrap().damaged, [0, 1]);
    let two = conversations.load(&two).await.unwrap();
    assert_eq!((two.contents, two.damaged), (said(1), vec![1]));
}

#[tokio::test]
async fn keys_of_another_tenant_open_nothing() {
    let folder = Folder::new();
    let conversations = local(&folder).await;
    conversations.begin(&titled("t"), &said(1)).await.unwrap();
    drop(conversations);
    tamper(&folder, "UPDATE tenant SET name = 'mallory'");
    let store = folder.open().await.unwrap();
    let mallory = Tenant::named("mallory").unwrap();
    let error = store.conversations(&mallory).list().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "a key of the tenant `mallory` was altered or damaged and cannot be opened; restore the store from a backup"
    );
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let folder = Folder::new();
    drop(local(&folder).await);
    tamper(&folder, "PRAGMA user_version = 99");
    let error = folder.open().await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("has schema 99 and this version knows up to 1; use a newer `think`"),
        "{error}"
    );
    let connection = rusqlite::Connection::open(folder.file()).unwrap();
    let version: i64 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 99);
}

/// One may go back from a version that only added to the tables, and its tables stay as they are.
#[tokio::test]
async fn a_newer_schema_opens_where_it_says_that_this_version_works_on_it() {
    let folder = Folder::new();
    let id = local(&folder).await.begin(&titled("t"), &said(1)).await.unwrap();
    for (from, opens) in [(1, true), (2, false), (1, true)] {
        tamper(
            &folder,
            &format!(
                "PRAGMA user_version = 99; INSERT OR REPLACE INTO thinkthrough_schema VALUES (99, {from})"
            ),
        );
        assert_eq!(folder.open().await.is_ok(), opens, "{from}");
    }
    assert_eq!(local(&folder).await.load(&id).await.unwrap().contents, said(1));
    let connection = rusqlite::Connection::open(folder.file()).unwrap();
    let version: i64 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 99);
}

#[tokio::test]
async fn a_database_of_somebody_else_is_left_alone() {
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.path).unwrap();
    tamper(&folder, "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
    let before = folder.bytes();
    let error = folder.open().await.unwrap_err().to_string();
    assert!(error.contains("a database of another program"), "{error}");
    assert_eq!(folder.bytes(), before);
}

/// The log of a process that was killed, cut anywhere as a crash of the machine may do, opens with some first part
/// of what was written.
#[tokio::test]
async fn a_log_that_was_cut_opens_with_what_was_complete() {
    let folder = Folder::new();
    let conversations = local(&folder).await;
    let id = conversations.create(&titled("t")).await.unwrap();
    let expected = said(8);
    for content in &expected {
        conversations.append(&id, std::slice::from_ref(content)).await.unwrap();
    }
    let log = |folder: &Folder| folder.path.join("thinkthrough.db-wal");
    let whole = std::fs::metadata(log(&folder)).unwrap().len();
    assert!(whole > 10_000, "everything is in the log still: {whole}");
    let mut found = std::collections::BTreeSet::new();
    for cut in (0..whole).step_by(1777) {
        let copy = Folder::new();
        std::fs::create_dir_all(&copy.path).unwrap();
        std::fs::copy(folder.file(), copy.file()).unwrap();
        std::fs::copy(folder.key(), copy.key()).unwrap();
        let bytes = std::fs::read(log(&folder)).unwrap();
        let cut = usize::try_from(cut).unwrap();
        std::fs::write(log(&copy), &bytes[..cut]).unwrap();
        let Ok(store) = copy.open().await else {
            panic!("cut at {cut} the store does not open");
        };
        let conversations = store.conversations(&Tenant::local());
        let contents = match conversations.load(&id).await {
            Ok(whole) => {
                assert_eq!(whole.damaged, [], "cut at {cut}");
                whole.contents
            }
            Err(StoreError::NoConversation(_)) => continue,
            Err(error) => panic!("cut at {cut}: {error}"),
        };
        assert_eq!(contents, expected[..contents.len()], "cut at {cut}");
        found.insert(contents.len());
    }
    assert!(found.len() >= 8, "every length was met: {found:?}");
}

/// The folder that the process with little room works in; set in that process only.
const FOLDER: &str = "THINK_STORE_TEST_FULL";

/// Runs in a process whose files cannot grow beyond a limit: writes until the disk is full, and says what it is told.
#[tokio::test]
async fn writes_until_the_disk_is_full() {
    let folder = match std::env::var_os(FOLDER) {
        Some(folder) => Folder::at(folder.into()),
        // Without a limit: what follows must not depend on it.
        None => Folder::new(),
    };
    let conversations = local(&folder).await;
    let id = conversations.create(&titled("t")).await.unwrap();
    let long = question(&"x".repeat(20_000));
    let mut safe = 0;
    let mut failure = None;
    for _ in 0..200 {
        match conversations.append(&id, std::slice::from_ref(&long)).await {
            Ok(messages) => safe = messages,
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    // What was acknowledged can be read on a full disk too.
    let whole = conversations.load(&id).await.unwrap();
    assert_eq!(u32::try_from(whole.contents.len()).unwrap(), safe);
    match failure {
        None => assert_eq!(safe, 200),
        Some(error) => println!("full after {safe}: {error}"),
    }
}

#[tokio::test]
async fn a_full_disk_refuses_and_loses_nothing_and_recovers() {
    let folder = Folder::new();
    let program = std::env::current_exe().unwrap();
    // A signal ends whoever passes the limit unless it is ignored; then the write fails.
    let script = "trap '' XFSZ; ulimit -f 1500; exec \"$0\" --exact damage::writes_until_the_disk_is_full --nocapture";
    let output = Command::new("/bin/bash")
        .args(["-c", script])
        .arg(program)
        .env(FOLDER, &folder.path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let line = text.lines().find(|line| line.contains("full after ")).expect("it became full");
    let safe: u32 =
        line.split("full after ").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
    assert!(safe > 10, "{line}");
    // SQLite meets a limit of the process as an I/O error; it is told as a disk without room is.
    assert!(line.contains("is full, so nothing was written; make room"), "{line}");
    let conversations = local(&folder).await;
    let id = conversations.latest().await.unwrap().unwrap().id;
    let whole = conversations.load(&id).await.unwrap();
    assert_eq!((u32::try_from(whole.contents.len()).unwrap(), whole.damaged), (safe, vec![]));
    assert_eq!(conversations.append(&id, &[question("room again")]).await, Ok(safe + 1));
}

/// Breaks the chain of pages that hold `content`, which is in the file and not in its log.
fn break_pages(folder: &Folder, content: &[u8]) {
    const PAGE: usize = 4096;
    tamper(folder, "PRAGMA wal_checkpoint(TRUNCATE)");
    let mut bytes = std::fs::read(folder.file()).unwrap();
    let at = bytes.windows(64).position(|window| window == &content[20_000..20_064]).unwrap();
    // The first bytes of such a page are the number of the next one.
    let page = at / PAGE * PAGE;
    bytes[page..page + 4].fill(0xff);
    std::fs::write(folder.file(), bytes).unwrap();
}

fn content_of(folder: &Folder, sql: &str) -> Vec<u8> {
    let connection = rusqlite::Connection::open(folder.file()).unwrap();
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn d_4_a_damaged_page_takes_one_message_and_no_other() {
    let folder = Folder::new();
    let conversations = local(&folder).await;
    let said = [question("a"), question(&"b".repeat(60_000)), question("c")];
    let id = conversations.begin(&titled("t"), &said).await.unwrap();
    drop(conversations);
    let content = content_of(&folder, "SELECT sealed FROM message WHERE position = 1");
    break_pages(&folder, &content);
    let whole = local(&folder).await.load(&id).await.unwrap();
    assert_eq!((whole.contents, whole.damaged), (vec![question("a"), question("c")], vec![1]));
}

#[tokio::test]
async fn d_4_a_damaged_page_takes_one_thought_and_no_other() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let tenant = Tenant::local();
    let mut talk = Talk::new(&store, &tenant, "a");
    for (ask, thought) in [("one", "hm"), ("two", &"b".repeat(60_000)), ("three", "ah")] {
        talk.turn(ask, thought, "yes").await;
    }
    drop(store);
    let content = content_of(&folder, "SELECT kept FROM record WHERE length(kept) > 60000");
    break_pages(&folder, &content);
    let store = folder.open().await.unwrap();
    let looked = store.vault(&tenant).lookup(&talk.keys().await).await.unwrap();
    let thoughts = talk.thoughts(&looked);
    assert_eq!(thoughts, [Some("hm".to_owned()), Some("ah".to_owned())]);
    assert_eq!(looked.damaged, 1);
}

/// The folder that the process with little room keeps thoughts in; set in that process only.
const VAULT: &str = "THINK_STORE_TEST_FULL_VAULT";

/// Runs in a process whose files cannot grow beyond a limit: keeps thoughts until the disk is full, and says so.
#[tokio::test]
async fn thinks_until_the_disk_is_full() {
    let folder = match std::env::var_os(VAULT) {
        Some(folder) => Folder::at(folder.into()),
        // Without a limit: what follows must not depend on it.
        None => Folder::new(),
    };
    let store = folder.open().await.unwrap();
    let tenant = Tenant::local();
    let mut talk = Talk::new(&store, &tenant, "a");
    let (mut safe, mut failure) = (0, None);
    for n in 0..60 {
        talk.said.push(question(&format!("{n}")));
        let record = talk.record(&"x".repeat(40_000), "yes").await;
        if let Err(error) = talk.vault.append(vec![record]).await {
            talk.said.pop();
            failure = Some(error);
            break;
        }
        talk.said.push(Content::text(thinkthrough_core::content::Speaker::Ai, "yes"));
        safe = n + 1;
    }
    // Look-ups go on, and find all that was acknowledged.
    assert_eq!(talk.restored().await, safe);
    match failure {
        None => assert_eq!(safe, 60),
        Some(error) => println!("full after {safe}: {error}"),
    }
}

#[tokio::test]
async fn d_2_a_full_disk_keeps_no_more_thoughts_and_finds_all_it_had() {
    let folder = Folder::new();
    let script = "trap '' XFSZ; ulimit -f 1500; exec \"$0\" --exact damage::thinks_until_the_disk_is_full --nocapture";
    let output = Command::new("/bin/bash")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(VAULT, &folder.path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("full after "), "{text}");
    let store = folder.open().await.unwrap();
    let tenant = Tenant::local();
    let mut talk = Talk::new(&store, &tenant, "b");
    talk.turn("room again", "hm", "yes").await;
    assert_eq!(talk.restored().await, 1);
}

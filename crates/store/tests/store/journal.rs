//! The journal: what was handed over is there after any end of the process, before the database has it.

use super::talk::Talk;
use super::{Folder, question};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use thinkthrough_core::content::{Block, Content, Speaker};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::restore::{Head, Kept};
use thinkthrough_store::{KeySource, Limits, Location, Lost, Moment, Store};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn nobody() -> Lost {
    Box::new(|_| {})
}

/// Another process that writes to the database now.
fn writer(folder: &Folder) -> rusqlite::Connection {
    let writer = rusqlite::Connection::open(folder.file()).unwrap();
    writer.busy_timeout(PATIENCE).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    writer
}

/// The journals that hold something; whoever looks for records has one.
fn journals(folder: &Path) -> Vec<PathBuf> {
    let mut found = files(folder);
    found.retain(|path| path.metadata().is_ok_and(|file| file.len() > 32));
    found
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.contains(".journal-") && !name.contains(".aside-")
    });
    found.sort();
    found
}

/// How many records stand in the database.
fn rows(folder: &Folder) -> i64 {
    let connection = rusqlite::Connection::open(folder.file()).unwrap();
    connection.query_row("SELECT count(*) FROM record", [], |row| row.get(0)).unwrap()
}

/// Whoever names the file by a link has the journals that stand beside it, as its log does.
#[tokio::test]
async fn a_store_that_is_named_by_a_link_finds_what_was_written_down() {
    let (folder, talk, _alive) = killed(3).await;
    let elsewhere = Folder::new();
    std::fs::create_dir_all(&elsewhere.path).unwrap();
    std::os::unix::fs::symlink(folder.file(), elsewhere.file()).unwrap();
    let location = Location::Sqlite(elsewhere.file());
    let store = Store::open(&location, &KeySource::File(folder.key())).await.unwrap();
    assert_eq!(rows(&folder), 4);
    assert_eq!(talk.found(&store).await, 4);
    assert_eq!(journals(&folder.path), [""; 0].map(PathBuf::from));
    store.close().await;
    let names = |folder: &Path| std::fs::read_dir(folder).unwrap().count();
    assert_eq!(names(&elsewhere.path), 1, "nothing stands beside the link");
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

impl Talk {
    /// A turn as the gateway keeps it; whether that waits for nothing.
    async fn handed_over(&mut self, ask: &str, thought: &str, text: &str) -> bool {
        self.said.push(question(ask));
        let record = self.record(thought, text).await;
        let commit = self.vault.hand_over(vec![record], nobody()).await.unwrap();
        self.answered(text);
        commit.is_none()
    }

    /// The client heard this.
    fn answered(&mut self, text: &str) {
        self.said.push(Content::new(Speaker::Ai, vec![Block::text(text)]));
    }

    /// How many records of the conversation are found by this store.
    async fn found(&self, store: &Store) -> usize {
        let mut there = Talk::new(store, &self.tenant, "x");
        there.said.clone_from(&self.said);
        there.looks().await.unwrap().found.len()
    }
}

/// A store whose process ended while another one wrote to the database: what it had handed over stands in its journal
/// only. Everything is a copy, because this process holds the locks of the one that did the work.
async fn killed(turns: usize) -> (Folder, Talk, Folder) {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("zero", "before", "committed").await;
    let writer = writer(&folder);
    for n in 0..turns {
        assert!(
            talk.handed_over(&format!("{n}"), &format!("thought {n}"), &format!("said {n}")).await
        );
    }
    let copy = Folder::new();
    std::fs::create_dir_all(copy.file().parent().unwrap()).unwrap();
    for entry in std::fs::read_dir(folder.file().parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        // The log of the database is in use; all that is of interest is in the file.
        if !path.to_str().unwrap().ends_with("-shm") {
            let there = copy.file().with_file_name(path.file_name().unwrap());
            std::fs::copy(path, there).unwrap();
        }
    }
    drop(writer);
    (copy, talk, folder)
}

async fn opened(folder: &Folder) -> Store {
    folder.open().await.unwrap()
}

#[tokio::test]
async fn what_was_handed_over_waits_for_no_commit_and_is_found_here_at_once() {
    let folder = Folder::new();
    let (store, other) = (opened(&folder).await, opened(&folder).await);
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("one", "hm", "first").await;
    let writer = writer(&folder);
    let began = Instant::now();
    assert!(talk.handed_over("two", "well", "second").await);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!((talk.found(&store).await, talk.found(&other).await), (2, 1));
    assert_eq!(talk.restored().await, 2);
    writer.execute_batch("ROLLBACK").unwrap();
    until("the database never has it", || rows(&folder) == 2).await;
    assert_eq!((talk.found(&store).await, talk.found(&other).await), (2, 2));
}

#[tokio::test]
async fn what_a_dead_process_left_is_taken_by_the_next_that_opens_and_only_once() {
    let (folder, talk, _alive) = killed(5).await;
    assert_eq!((rows(&folder), journals(&folder.path).len()), (1, 1));
    let kept = std::fs::read(&journals(&folder.path)[0]).unwrap();
    let store = opened(&folder).await;
    assert_eq!((rows(&folder), journals(&folder.path).len()), (6, 0));
    assert_eq!(talk.found(&store).await, 6);
    assert_eq!(store.notes(), [""; 0]);
    // As if it had been killed before the file was gone.
    let again = folder.file().with_file_name("thinkthrough.db.journal-00000000000000000000");
    std::fs::write(&again, kept).unwrap();
    drop(store);
    let store = opened(&folder).await;
    assert_eq!((rows(&folder), journals(&folder.path).len()), (6, 0));
    assert_eq!(talk.found(&store).await, 6);
}

#[tokio::test]
async fn what_a_dead_process_left_is_found_while_the_database_cannot_take_it() {
    let (folder, talk, _alive) = killed(3).await;
    let writer = writer(&folder);
    let store = opened(&folder).await;
    assert_eq!(rows(&folder), 1);
    assert_eq!(talk.found(&store).await, 4);
    drop(writer);
    until("the database never has it", || rows(&folder) == 4).await;
    until("the journal stays", || journals(&folder.path).is_empty()).await;
}

#[tokio::test]
async fn nobody_takes_the_journal_of_a_process_that_lives() {
    let folder = Folder::new();
    let store = opened(&folder).await;
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("zero", "hm", "yes").await;
    let writer = writer(&folder);
    assert!(talk.handed_over("one", "well", "no").await);
    let before = journals(&folder.path);
    let bytes = std::fs::read(&before[0]).unwrap();
    let other = opened(&folder).await;
    other.prune(&Limits::default(), Moment::now()).await.unwrap();
    assert_eq!(journals(&folder.path), before);
    assert_eq!(std::fs::read(&before[0]).unwrap(), bytes);
    assert_eq!(talk.found(&other).await, 1);
    drop(writer);
    // Each has its own.
    assert_eq!(files(&folder.path).len(), 2);
    for store in [&store, &other] {
        store.close().await;
    }
    assert_eq!((rows(&folder), files(&folder.path).len()), (2, 0));
}

#[tokio::test]
async fn while_two_look_for_records_each_finds_at_once_what_the_other_kept() {
    let folder = Folder::new();
    let (one, two) = (opened(&folder).await, opened(&folder).await);
    let mut talk = Talk::new(&one, &Tenant::local(), "a");
    // Whoever only opened the file is no gateway.
    assert!(talk.handed_over("zero", "hm", "yes").await);
    assert_eq!(talk.found(&two).await, 1, "it came while the second one appeared");
    for n in 1..10 {
        talk.said.push(question(&format!("{n}")));
        let record = talk.record("well", "no").await;
        let commit = talk.vault.hand_over(vec![record], nobody()).await.unwrap();
        commit.unwrap().done().await.unwrap();
        talk.answered("no");
        assert_eq!(talk.found(&two).await, n + 1, "right behind it");
    }
    two.close().await;
    assert!(talk.handed_over("eleven", "ah", "yes").await, "nobody else is here");
}

#[tokio::test]
async fn a_gateway_that_goes_on_takes_what_another_left() {
    let (folder, talk, _alive) = killed(2).await;
    let aside = folder.file().with_file_name("for now");
    let journal = journals(&folder.path).remove(0);
    std::fs::rename(&journal, &aside).unwrap();
    let store = opened(&folder).await;
    std::fs::rename(&aside, &journal).unwrap();
    assert_eq!(talk.found(&store).await, 1);
    store.prune(&Limits::default(), Moment::now()).await.unwrap();
    assert_eq!((talk.found(&store).await, journals(&folder.path).len()), (3, 0));
}

#[tokio::test]
async fn what_was_erased_before_it_was_taken_does_not_come_back() {
    let (folder, talk, _alive) = killed(3).await;
    let journal = std::fs::read(&journals(&folder.path)[0]).unwrap();
    let store = opened(&folder).await;
    assert!(store.erase(&Tenant::local()).await.unwrap().is_some());
    assert_eq!(rows(&folder), 0);
    drop(store);
    let again = folder.file().with_file_name("thinkthrough.db.journal-00000000000000000000");
    std::fs::write(again, journal).unwrap();
    let store = opened(&folder).await;
    assert_eq!((rows(&folder), talk.found(&store).await, journals(&folder.path).len()), (0, 0, 0));
}

#[tokio::test]
async fn what_waits_is_gone_once_its_tenant_is_erased() {
    let folder = Folder::new();
    let (one, two) = (opened(&folder).await, opened(&folder).await);
    let alice = Tenant::named("alice").unwrap();
    let mut talk = Talk::new(&one, &alice, "a");
    talk.turn("one", "hm", "first").await;
    assert_eq!(two.erase(&alice).await, Ok(Some(0)));
    let lost = Arc::<AtomicUsize>::default();
    talk.said.push(question("two"));
    let record = talk.record("hm", "second").await;
    let told = super::vault::counts(&lost);
    // It cannot know yet; the record is refused a moment later, which is counted.
    talk.vault.hand_over(vec![record], told).await.unwrap();
    until("nobody is told", || lost.load(Ordering::Relaxed) == 1).await;
    assert_eq!(rows(&folder), 0);
}

#[tokio::test]
async fn what_was_taken_and_then_evicted_does_not_come_back() {
    let folder = Folder::new();
    let store = opened(&folder).await;
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    for n in 0..10 {
        assert!(talk.handed_over(&format!("{n}"), "hm", "yes").await);
    }
    store.flush().await;
    let journal = std::fs::read(&journals(&folder.path)[0]).unwrap();
    let none = Limits { records: 0, ..Limits::default() };
    store.prune(&none, Moment::now()).await.unwrap();
    assert_eq!(rows(&folder), 0);
    drop(store);
    let left = folder.file().with_file_name("thinkthrough.db.journal-00000000000000000000");
    std::fs::write(&left, journal).unwrap();
    opened(&folder).await;
    assert_eq!((rows(&folder), left.exists()), (0, false));
}

#[tokio::test]
async fn what_a_provider_refused_while_it_waited_is_found_no_more() {
    let folder = Folder::new();
    let store = opened(&folder).await;
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    assert!(talk.handed_over("one", "hm", "yes").await);
    let looked = talk.looks().await.unwrap();
    let id = looked.found[0].head.id.clone();
    assert_eq!(talk.vault.poison(vec![id]).await, Ok(1));
    assert_eq!(talk.found(&store).await, 0);
}

#[tokio::test]
async fn keys_that_were_rotated_meanwhile_open_it() {
    let (folder, talk, _alive) = killed(3).await;
    let aside = folder.file().with_file_name("for now");
    let journal = journals(&folder.path).remove(0);
    std::fs::rename(&journal, &aside).unwrap();
    let store = opened(&folder).await;
    store.rotate_keys(&folder.location()).await.unwrap();
    drop(store);
    std::fs::rename(&aside, &journal).unwrap();
    let store = opened(&folder).await;
    let looked = {
        let mut there = Talk::new(&store, &Tenant::local(), "x");
        there.said.clone_from(&talk.said);
        (there.restored().await, there.looks().await.unwrap().damaged)
    };
    assert_eq!(looked, (4, 0));
}

#[tokio::test]
async fn a_journal_that_was_changed_gives_what_is_whole_and_is_put_aside() {
    let (folder, talk, _alive) = killed(6).await;
    let journal = journals(&folder.path).remove(0);
    let mut bytes = std::fs::read(&journal).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&journal, &bytes).unwrap();
    let store = opened(&folder).await;
    // One of them is not whole.
    assert_eq!((talk.found(&store).await, rows(&folder)), (6, 6));
    let said = store.notes();
    assert!(said.len() == 1 && said[0].contains("5 records"), "{said:?}");
    let aside: Vec<PathBuf> = std::fs::read_dir(&folder.path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().contains(".aside-"))
        .collect();
    assert_eq!(aside.len(), 1);
    assert_eq!(std::fs::read(&aside[0]).unwrap(), bytes);
    drop(store);
    assert_eq!(opened(&folder).await.notes(), [""; 0], "it is said once");
}

#[tokio::test]
async fn a_journal_that_ends_in_the_middle_of_an_entry_is_as_a_kill_leaves_it() {
    let (folder, talk, _alive) = killed(4).await;
    let journal = journals(&folder.path).remove(0);
    let bytes = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &bytes[..bytes.len() - 7]).unwrap();
    let store = opened(&folder).await;
    assert_eq!((talk.found(&store).await, rows(&folder)), (4, 4));
    assert_eq!(store.notes(), [""; 0]);
    assert_eq!(journals(&folder.path).len(), 0);
}

#[tokio::test]
async fn the_journal_of_another_store_is_not_taken() {
    let (folder, _talk, _alive) = killed(2).await;
    let (other, _, _alive) = killed(0).await;
    let journal = journals(&folder.path).remove(0);
    let there = other.file().with_file_name(journal.file_name().unwrap());
    std::fs::copy(&journal, &there).unwrap();
    let store = opened(&other).await;
    assert_eq!(rows(&other), 1);
    let said = store.notes();
    assert!(said.len() == 1 && said[0].contains("another store"), "{said:?}");
    assert!(!there.exists());
}

#[tokio::test]
async fn a_journal_is_its_owners_and_shows_nothing_that_was_thought() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let store = opened(&folder).await;
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    let said = ("question-canary", "thought-canary", "answer-canary");
    // Its keys are made with its first record.
    talk.turn("zero", "hm", "yes").await;
    let _held = writer(&folder);
    assert!(talk.handed_over(said.0, said.1, said.2).await);
    let journal = journals(&folder.path).remove(0);
    assert_eq!(journal.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let bytes = std::fs::read(&journal).unwrap();
    assert!(bytes.len() > 200);
    for canary in [said.0, said.1, said.2, "p.example", "local"] {
        assert!(!super::holds(&bytes, canary.as_bytes()), "{canary}");
    }
}

#[tokio::test]
async fn where_no_journal_can_be_written_the_answer_waits_for_the_commit() {
    let folder = Folder::new();
    let store = opened(&folder).await;
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("zero", "hm", "yes").await;
    talk.said.push(question("one"));
    let record = talk.record("well", "no").await;
    // Its file is gone. Whoever is root may write anywhere, so that the folder of the next one has another name.
    store.close().await;
    let away = folder.path.with_extension("away");
    std::fs::rename(&folder.path, &away).unwrap();
    let commit = talk.vault.hand_over(vec![record], nobody()).await.unwrap();
    std::fs::rename(&away, &folder.path).unwrap();
    talk.answered("no");
    assert_eq!((talk.found(&store).await, rows(&folder)), (2, 1), "it is found meanwhile");
    commit.unwrap().done().await.unwrap();
    assert_eq!((talk.found(&store).await, rows(&folder)), (2, 2));
}

#[tokio::test]
async fn a_journal_of_which_all_was_taken_is_short() {
    let folder = Folder::new();
    let store = opened(&folder).await;
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    for n in 0..5 {
        assert!(talk.handed_over(&format!("{n}"), &"at length ".repeat(20_000), "yes").await);
    }
    store.flush().await;
    let journal = files(&folder.path).remove(0);
    until("it stays long", || journal.metadata().unwrap().len() < 300_000).await;
    assert_eq!(talk.found(&store).await, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_journal_stays_small_whatever_goes_through_it() {
    let folder = Folder::new();
    let store = opened(&folder).await;
    let vault = store.vault(&Tenant::local());
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("zero", "hm", "yes").await;
    talk.said.push(question("one"));
    let (head, kept) = talk.record(&"a thought of some length. ".repeat(400), "yes").await;
    let (mut most, mut all) = (0, 0);
    for round in 0..3_000 {
        let head = Head { id: format!("record-{round}"), ..head.clone() };
        all += 10_000;
        let record: Vec<(Head, Kept)> = vec![(head, kept.clone())];
        let commit = vault.hand_over(record, nobody()).await.unwrap();
        assert!(commit.is_none(), "{round}");
        if round % 50 == 0 {
            // There is always something that was not taken, and never much.
            until("they are not taken", || rows(&folder) >= round - 100).await;
            let size = |path: PathBuf| path.metadata().map_or(0, |file| file.len());
            most = most.max(journals(&folder.path).into_iter().map(size).sum::<u64>());
        }
    }
    store.flush().await;
    assert_eq!(rows(&folder), 3_001);
    println!("{most} bytes at most, of {all}");
    assert!(most < 10 << 20, "{most} bytes at most, of {all}");
    store.close().await;
    assert_eq!(files(&folder.path).len(), 0);
}

#[tokio::test]
async fn a_store_that_stands_still_takes_records_up_to_a_bound() {
    let folder = Folder::new();
    let store = opened(&folder).await;
    let vault = store.vault(&Tenant::local());
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("zero", "hm", "yes").await;
    talk.said.push(question("one"));
    let (head, kept) = talk.record(&"x".repeat(500_000), "yes").await;
    let writer = writer(&folder);
    let (mut taken, mut refused) = (0, 0);
    for n in 0..100 {
        let head = Head { id: format!("record-{n}"), ..head.clone() };
        let record = vec![(head, kept.clone())];
        match vault.hand_over(record, nobody()).await.unwrap() {
            None => taken += 1,
            Some(_) => refused += 1,
        }
    }
    assert!((60..70).contains(&taken) && refused == 100 - taken, "{taken}");
    // One file would have to be read as a whole, and shrinks only when all of it is taken.
    assert!(journals(&folder.path).len() >= 7, "{:?}", journals(&folder.path));
    drop(writer);
    until("they are not taken", || rows(&folder) == 1 + taken).await;
    until("the files stay", || files(&folder.path).len() == 1).await;
    let head = Head { id: "one more".to_owned(), ..head };
    assert!(vault.hand_over(vec![(head, kept)], nobody()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_server_has_no_journal_and_commits_what_is_wanted() {
    let Some(folder) = Folder::on_server().await else { return };
    let store = opened(&folder).await;
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    assert!(!talk.handed_over("one", "hm", "yes").await);
    assert_eq!(journals(&folder.path).len(), 0);
}

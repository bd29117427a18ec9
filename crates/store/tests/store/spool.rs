//! Traces that were handed over: they are there after any end of the process, before the database has them, and once.

use super::Folder;
use super::traces::{ids, trace};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use thinkthrough_core::plane::{Masked, Tenant};
use thinkthrough_store::{LostTrace, NewTrace, Store, TraceFilter, TracePlace, TraceText, Traces};

on_each_database! {
    what_was_handed_over_is_in_the_database_soon_and_found,
    what_was_handed_over_goes_with_its_tenant,
}

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whoever hears of lost traces, and what was heard.
pub(crate) fn ear() -> (LostTrace, Arc<Mutex<Vec<String>>>) {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let hears = Arc::clone(&heard);
    (Arc::new(move |_, id| hears.lock().unwrap().push(id.to_owned())), heard)
}

pub(crate) async fn until_taken(traces: &Traces) {
    let began = Instant::now();
    while traces.waiting() > 0 {
        assert!(began.elapsed() < PATIENCE, "{} wait for ever", traces.waiting());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The journals of traces beside a store.
fn journals(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.to_str().unwrap().contains(".traces-")).collect()
}

/// Another process that writes to the database now.
fn writer(folder: &Folder) -> rusqlite::Connection {
    let writer = rusqlite::Connection::open(folder.file()).unwrap();
    writer.busy_timeout(PATIENCE).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    writer
}

async fn all(store: &Store) -> Vec<String> {
    let listed = store.traces().list(TraceFilter::default()).await.unwrap();
    let mut all: Vec<String> = ids(&listed).into_iter().map(str::to_owned).collect();
    all.sort();
    all
}

async fn what_was_handed_over_is_in_the_database_soon_and_found(folder: Folder) {
    let store = folder.open().await.unwrap();
    let (traces, (lost, heard)) = (store.traces(), ear());
    for n in 0..300 {
        traces.hand_over(vec![trace(&format!("{n:03}"), n, "a zebra", "")], &lost).await;
    }
    until_taken(&traces).await;
    assert_eq!(traces.place("000"), None);
    assert_eq!(all(&store).await.len(), 300.min(TraceFilter::default().limit as usize));
    let began = Instant::now();
    loop {
        let hits = traces.search("zebra", TraceText::All, TraceFilter::default()).await.unwrap();
        if hits.indexed_to.is_none() {
            assert!(!hits.traces.is_empty());
            break;
        }
        assert!(began.elapsed() < PATIENCE, "they are not indexed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(*heard.lock().unwrap(), [""; 0]);
    store.close().await;
    assert_eq!(journals(&folder.path), Vec::<PathBuf>::new());
}

async fn what_was_handed_over_goes_with_its_tenant(folder: Folder) {
    let store = folder.open().await.unwrap();
    let (lost, _) = ear();
    let alice = Tenant::named("alice").unwrap();
    let its = NewTrace { tenant: alice.clone(), ..trace("a", 1, "", "") };
    store.traces().hand_over(vec![its, trace("b", 1, "", "")], &lost).await;
    store.erase(&alice).await.unwrap();
    assert_eq!(all(&store).await, ["b"]);
}

/// A copy of everything in a folder: what a process leaves that is killed now.
fn killed(folder: &Folder) -> Folder {
    let copy = Folder::new();
    std::fs::create_dir_all(&copy.path).unwrap();
    for entry in std::fs::read_dir(&folder.path).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_str().unwrap().ends_with("-shm") {
            std::fs::copy(&path, copy.path.join(path.file_name().unwrap())).unwrap();
        }
    }
    copy
}

#[tokio::test]
async fn d_1_while_another_process_holds_the_database_traces_are_spooled_and_a_kill_loses_none() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let (traces, (lost, heard)) = (store.traces(), ear());
    let writer = writer(&folder);
    for n in 0..7 {
        let began = Instant::now();
        traces.hand_over(vec![trace(&format!("{n}"), n, "hm", "ha")], &lost).await;
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        assert_eq!(traces.place(&format!("{n}")), Some((TracePlace::Spooled, "local".to_owned())));
    }
    let copy = killed(&folder);
    let next = copy.open().await.unwrap();
    let names: Vec<String> = (0..7).map(|n| n.to_string()).collect();
    assert_eq!(all(&next).await, names);
    let whole = next.traces().get("3").await.unwrap().unwrap();
    assert_eq!((whole.thought.as_str(), whole.answer.as_str()), ("hm", "ha"));
    assert_eq!(journals(&copy.path), Vec::<PathBuf>::new());
    // The one that lives goes on, and takes each once.
    writer.execute_batch("ROLLBACK").unwrap();
    until_taken(&traces).await;
    assert_eq!(all(&store).await, names);
    assert_eq!(*heard.lock().unwrap(), [""; 0]);
}

#[tokio::test]
async fn what_is_met_twice_is_there_once() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let (lost, _) = ear();
    let writer = writer(&folder);
    store.traces().hand_over(vec![trace("a", 1, "hm", "")], &lost).await;
    let left = killed(&folder);
    writer.execute_batch("ROLLBACK").unwrap();
    until_taken(&store.traces()).await;
    store.close().await;
    // As if the kill had come between the commit and its mark.
    for journal in journals(&left.path) {
        let there = folder.path.join(journal.file_name().unwrap());
        std::fs::copy(journal, there).unwrap();
    }
    assert_eq!(journals(&folder.path).len(), 1);
    drop(store);
    let store = folder.open().await.unwrap();
    assert_eq!(all(&store).await, ["a"]);
    assert_eq!(journals(&folder.path), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn d_5_where_no_journal_can_be_written_traces_wait_in_memory_and_it_is_said() {
    let mut folder = Folder::new();
    // The names of journals are longer than that of the store, and no system takes names of more than 255 bytes.
    folder.name = format!("{}.db", "s".repeat(230));
    let store = folder.open().await.unwrap();
    let (traces, (lost, heard)) = (store.traces(), ear());
    let writer = writer(&folder);
    traces.hand_over(vec![trace("a", 1, "hm", "")], &lost).await;
    assert_eq!(traces.place("a"), Some((TracePlace::Waiting, "local".to_owned())));
    let said = store.notes().join("\n");
    assert!(said.contains("journal of traces") && said.contains("wait in memory"), "{said}");
    writer.execute_batch("ROLLBACK").unwrap();
    until_taken(&traces).await;
    assert_eq!((all(&store).await, heard.lock().unwrap().len()), (vec!["a".to_owned()], 0));
}

#[tokio::test]
async fn d_5_what_waits_in_memory_goes_into_the_journal_as_soon_as_that_can_be_written() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let (traces, (lost, _)) = (store.traces(), ear());
    let writer = writer(&folder);
    // No file can be made in a folder that is not there.
    let away = folder.path.with_extension("away");
    std::fs::rename(&folder.path, &away).unwrap();
    for id in ["a", "b"] {
        traces.hand_over(vec![trace(id, 1, "hm", "")], &lost).await;
        assert_eq!(traces.place(id), Some((TracePlace::Waiting, "local".to_owned())));
    }
    std::fs::rename(&away, &folder.path).unwrap();
    let began = Instant::now();
    for id in ["a", "b"] {
        while traces.place(id) != Some((TracePlace::Spooled, "local".to_owned())) {
            assert!(began.elapsed() < PATIENCE, "it waits in memory for ever");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    traces.hand_over(vec![trace("c", 1, "hm", "")], &lost).await;
    let next = killed(&folder).open().await.unwrap();
    assert_eq!(all(&next).await, ["a", "b", "c"]);
    writer.execute_batch("ROLLBACK").unwrap();
    until_taken(&traces).await;
    assert_eq!(all(&store).await, ["a", "b", "c"]);
    store.close().await;
    assert_eq!(journals(&folder.path), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn d_2_what_finds_no_room_is_told_and_nothing_else_is_lost() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let (traces, (lost, heard)) = (store.traces(), ear());
    let writer = writer(&folder);
    let text = "a long thought ".repeat(60_000);
    for n in 0..90 {
        let thought = Masked::by(
            &thinkthrough_mask::Masker::new(thinkthrough_mask::Tiers::REGISTERED, &[7; 32]),
            &text,
        );
        traces
            .hand_over(vec![NewTrace { thought, ..trace(&format!("{n:02}"), n, "", "") }], &lost)
            .await;
    }
    let gone = heard.lock().unwrap().clone();
    // 64 MiB of 900 kB each.
    assert!(gone.len() > 5 && gone.len() < 25 && traces.waiting() == 90 - gone.len(), "{gone:?}");
    let next = killed(&folder).open().await.unwrap();
    until_taken(&next.traces()).await;
    let there = next.traces().older_than(u64::MAX).await.unwrap();
    assert_eq!(there, 90 - gone.len() as u64);
    drop(writer);
}

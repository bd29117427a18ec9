//! The vault: what was appended is found by its keys, whole, by its own tenant only.

use super::talk::Talk;
use super::{Folder, holds, question, server};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::restore::{Head, Kept, Key};
use thinkthrough_store::{KeySource, Lost, Store, StoreError};

on_each_database! {
    what_was_appended_is_found_and_opened_whole,
    a_long_thought_comes_back_whole_and_so_do_those_around_it,
    a_second_process_finds_it_at_once,
    an_answer_that_was_appended_twice_is_there_once,
    what_was_never_said_is_not_found,
    t_10_no_tenant_finds_anything_of_another,
    t_11_the_same_conversation_of_two_tenants_shares_nothing,
    an_erased_tenant_finds_nothing_and_begins_anew,
    many_appends_at_once_are_all_found,
    what_is_kept_is_found_here_at_once_and_by_others_soon,
    what_waits_is_written_before_the_end,
    what_waited_and_cannot_be_kept_is_told,
    the_same_exchange_any_number_of_times_finds_the_first,
    two_stores_that_meet_a_new_tenant_at_once_make_one_secret,
    a_credential_that_nothing_is_kept_for_is_not_written_down,
    t_13_keys_rotate_while_everybody_appends,
    a_credential_names_the_same_tenant_for_every_process,
    any_number_of_processes_make_one_new_store_at_once,
}

fn some(thoughts: &[&str]) -> Vec<Option<String>> {
    thoughts.iter().map(|it| Some((*it).to_owned())).collect()
}

async fn what_was_appended_is_found_and_opened_whole(folder: Folder) {
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.said.push(question("one"));
    let expected = talk.record("hm", "first").await;
    talk.vault.append(vec![expected.clone()]).await.unwrap();
    talk.said.push(thinkthrough_core::content::Content::new(
        thinkthrough_core::content::Speaker::Ai,
        vec![thinkthrough_core::content::Block::text("first")],
    ));
    let looked = talk.looks().await.unwrap();
    assert_eq!(looked.found.len(), 1);
    assert_eq!(*looked.found[0].head, expected.0, "the head is the same in every field");
    assert_eq!((talk.thoughts(&looked), looked.damaged), (some(&["hm"]), 0));
    talk.turn("two", "well", "second").await;
    talk.turn("three", "ah", "third").await;
    let looked = talk.looks().await.unwrap();
    assert_eq!(talk.thoughts(&looked), some(&["hm", "well", "ah"]));
    assert_eq!(talk.restored().await, 3);
}

async fn a_long_thought_comes_back_whole_and_so_do_those_around_it(folder: Folder) {
    let long = "what follows, and what does not\n".repeat(150_000);
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("one", "hm", "first").await;
    talk.turn("two", &long, "second").await;
    talk.turn("three", "well", "third").await;
    let again = folder.open().await.unwrap();
    for reader in [&store, &again] {
        let mut reads = Talk::new(reader, &Tenant::local(), "a");
        reads.said.clone_from(&talk.said);
        let looked = reads.looks().await.unwrap();
        assert!(reads.thoughts(&looked) == some(&["hm", &long, "well"]), "it is another");
    }
}

async fn a_second_process_finds_it_at_once(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let mut talk = Talk::new(&one, &Tenant::local(), "a");
    let mut other = Talk::new(&two, &Tenant::local(), "b");
    for n in 0..10 {
        talk.turn(&format!("{n}"), &format!("thought {n}"), "yes").await;
        other.said.clone_from(&talk.said);
        assert_eq!(other.restored().await, n + 1, "right after the append");
        other.turn(&format!("{n}, too"), "hm", "no").await;
        talk.said.clone_from(&other.said);
        talk.said.truncate(2 * n + 2);
    }
}

async fn an_answer_that_was_appended_twice_is_there_once(folder: Folder) {
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.said.push(question("one"));
    let record = talk.record("hm", "first").await;
    talk.vault.append(vec![record.clone(), record.clone()]).await.unwrap();
    talk.vault.append(vec![record]).await.unwrap();
    talk.said.push(super::answer("", "first"));
    assert_eq!(talk.looks().await.unwrap().found.len(), 1);
}

async fn what_was_never_said_is_not_found(folder: Folder) {
    let store = folder.open().await.unwrap();
    let tenant = Tenant::named("alice").unwrap();
    let vault = store.vault(&tenant);
    let keys = [Key::stored([7; 32])];
    assert!(vault.lookup(&keys).await.unwrap().found.is_empty(), "a tenant that never was");
    assert!(vault.lookup(&[]).await.unwrap().found.is_empty());
    vault.append(Vec::new()).await.unwrap();
    assert_eq!(store.erase(&tenant).await, Ok(None), "looking made no tenant");
    let mut talk = Talk::new(&store, &tenant, "a");
    talk.turn("one", "hm", "first").await;
    // The same eight bytes as a key that is there, and others behind them.
    let mut alike = *talk.keys().await[0].bytes();
    alike[31] ^= 1;
    assert!(vault.lookup(&[Key::stored(alike)]).await.unwrap().found.is_empty());
}

async fn t_10_no_tenant_finds_anything_of_another(folder: Folder) {
    let store = folder.open().await.unwrap();
    let mut talks = Vec::new();
    for n in 0..20 {
        let tenant = Tenant::named(&format!("tenant {n}")).unwrap();
        let mut talk = Talk::new(&store, &tenant, "r");
        for turn in 0..5 {
            talk.turn(&format!("question {turn}"), &format!("{tenant} thinks"), "yes").await;
        }
        talks.push(talk);
    }
    let mut all: Vec<Key> = Vec::new();
    for talk in &talks {
        all.extend(talk.keys().await);
    }
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "no key is two tenants'");
    for talk in &talks {
        let looked = talk.vault.lookup(&all).await.unwrap();
        assert_eq!((looked.found.len(), looked.damaged), (5, 0));
        let own = Some(format!("{} thinks", talk.tenant));
        assert!(talk.thoughts(&looked).iter().all(|thought| *thought == own));
    }
}

async fn t_11_the_same_conversation_of_two_tenants_shares_nothing(folder: Folder) {
    let store = folder.open().await.unwrap();
    let [alice, bob] = ["alice", "bob"].map(|name| Tenant::named(name).unwrap());
    let mut hers = Talk::new(&store, &alice, "a");
    hers.turn("the same", "hers", "words").await;
    let mut his = Talk::new(&store, &bob, "b");
    his.said.clone_from(&hers.said);
    assert_eq!(his.restored().await, 0, "he said the same, and gets a miss");
    his.said.clear();
    his.turn("the same", "his", "words").await;
    assert_eq!(his.thoughts(&his.looks().await.unwrap()), some(&["his"]));
    assert_eq!(hers.thoughts(&hers.looks().await.unwrap()), some(&["hers"]));
}

async fn an_erased_tenant_finds_nothing_and_begins_anew(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let alice = Tenant::named("alice").unwrap();
    let mut talk = Talk::new(&one, &alice, "a");
    talk.turn("one", "hm", "first").await;
    let keys = talk.keys().await;
    assert_eq!(two.erase(&alice).await, Ok(Some(0)));
    assert!(one.vault(&alice).lookup(&keys).await.unwrap().found.is_empty());
    // The first process has the old keys still; what it would keep under them nobody could find.
    talk.said.push(question("two"));
    let record = talk.record("hm", "second").await;
    let refused = talk.vault.append(vec![record]).await;
    assert_eq!(refused, Err(StoreError::Erased(alice.clone())));
    let mut talk = Talk::new(&one, &alice, "a");
    talk.turn("one", "again", "first").await;
    assert_eq!(talk.thoughts(&talk.looks().await.unwrap()), some(&["again"]));
}

/// Counts what is lost.
pub(super) fn counts(lost: &Arc<AtomicUsize>) -> Lost {
    let lost = Arc::clone(lost);
    Box::new(move |_| {
        lost.fetch_add(1, Ordering::Relaxed);
    })
}

/// Keeps a record as a gateway does: what the store does not take upon itself is committed.
async fn keeps(talk: &Talk, record: (Head, Kept), lost: Lost) -> Result<(), StoreError> {
    match talk.vault.hand_over(vec![record], lost).await? {
        Some(commit) => commit.done().await,
        None => Ok(()),
    }
}

async fn what_is_kept_is_found_here_at_once_and_by_others_soon(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let lost = Arc::default();
    let mut talk = Talk::new(&one, &Tenant::local(), "a");
    for n in 0..300 {
        talk.said.push(question(&format!("question {n}")));
        let record = talk.record("hm", "first").await;
        keeps(&talk, record, counts(&lost)).await.unwrap();
        if n % 100 == 0 {
            assert_eq!(talk.look_for("first").await.found.len(), 1, "right after it, here");
        }
    }
    let mut other = Talk::new(&two, &Tenant::local(), "b");
    other.said.clone_from(&talk.said);
    let begun = Instant::now();
    while other.look_for("first").await.found.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is not found elsewhere");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(lost.load(Ordering::Relaxed), 0);
}

/// An answer does not wait long for its record, and the next request may come before a slow disk is done.
#[tokio::test]
async fn a_record_is_found_here_while_it_is_being_written() {
    let folder = Folder::new();
    let (store, other) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("one", "hm", "first").await;
    talk.said.push(question("two"));
    let record = talk.record("well", "second").await;
    let writer = rusqlite::Connection::open(folder.file()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let vault = talk.vault.clone();
    let writing = tokio::spawn(async move { vault.append(vec![record]).await });
    let begun = Instant::now();
    while talk.look_for("second").await.found.len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(4), "it is not found");
        tokio::task::yield_now().await;
    }
    assert!(!writing.is_finished());
    let looked = talk.look_for("second").await;
    assert_eq!(talk.thoughts(&looked), some(&["hm", "well"]));
    let mut there = Talk::new(&other, &Tenant::local(), "b");
    there.said.clone_from(&talk.said);
    assert_eq!(there.look_for("second").await.found.len(), 1, "it is not in the database");
    writer.execute_batch("ROLLBACK").unwrap();
    writing.await.unwrap().unwrap();
    assert_eq!(there.look_for("second").await.found.len(), 2);
    assert_eq!(talk.look_for("second").await.found.len(), 2, "each is found once");
}

async fn what_waits_is_written_before_the_end(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let mut talk = Talk::new(&one, &Tenant::local(), "a");
    talk.said.push(question("one"));
    let record = talk.record("hm", "first").await;
    let lost = Arc::default();
    keeps(&talk, record, counts(&lost)).await.unwrap();
    one.flush().await;
    let mut other = Talk::new(&two, &Tenant::local(), "b");
    other.said.clone_from(&talk.said);
    assert_eq!(other.look_for("first").await.found.len(), 1);
}

async fn what_waited_and_cannot_be_kept_is_told(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let alice = Tenant::named("alice").unwrap();
    let mut talk = Talk::new(&one, &alice, "a");
    talk.turn("one", "hm", "first").await;
    talk.said.push(question("two"));
    let record = talk.record("well", "second").await;
    assert_eq!(two.erase(&alice).await, Ok(Some(0)));
    let (told, heard) = tokio::sync::oneshot::channel();
    let lost: Lost = Box::new(move |error| told.send(error.clone()).unwrap());
    let error = match keeps(&talk, record, lost).await {
        Ok(()) => heard.await.unwrap(),
        Err(error) => error,
    };
    assert_eq!(error, StoreError::Erased(alice));
}

async fn many_appends_at_once_are_all_found(folder: Folder) {
    let store = folder.open().await.unwrap();
    let tenants = ["alice", "bob", "carol"].map(|name| Tenant::named(name).unwrap());
    let mut tasks = Vec::new();
    for n in 0..120 {
        let (store, tenant) = (store.clone(), tenants[n % 3].clone());
        tasks.push(tokio::spawn(async move {
            let mut talk = Talk::new(&store, &tenant, &format!("talk {n}"));
            talk.turn("hello", &format!("thought {n}"), &format!("answer {n}")).await;
            talk.turn("and?", "more", "yes").await;
            (talk.restored().await, n)
        }));
    }
    for task in tasks {
        let (restored, n) = task.await.unwrap();
        assert_eq!(restored, 2, "talk {n}");
    }
}

async fn the_same_exchange_any_number_of_times_finds_the_first(folder: Folder) {
    let store = folder.open().await.unwrap();
    let mut last = None;
    for n in 0..100 {
        let mut talk = Talk::new(&store, &Tenant::local(), &format!("talk {n:03}"));
        talk.turn("ping", &format!("thought {n}"), "pong").await;
        last = Some(talk);
    }
    let talk = last.unwrap();
    let looked = talk.looks().await.unwrap();
    assert_eq!(looked.found.len(), 32, "as many as are of use, whatever there is");
    let thoughts = talk.thoughts(&looked);
    assert!(thoughts.contains(&Some("thought 0".to_owned())), "{thoughts:?}");
}

async fn two_stores_that_meet_a_new_tenant_at_once_make_one_secret(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    for n in 0..20 {
        let tenant = Tenant::named(&format!("tenant {n}")).unwrap();
        let (first, second) = (one.vault(&tenant), two.vault(&tenant));
        let (first, second) = tokio::join!(first.secret(), second.secret());
        let (first, second) = (first.unwrap(), second.unwrap());
        let keys = |secret| {
            let said = [question("x"), super::answer("", "y")];
            let about = thinkthrough_core::restore::About::default();
            let version = thinkthrough_core::restore::Version::CURRENT;
            thinkthrough_core::restore::Question::read(&said, about, secret, version).keys()
        };
        assert_eq!(keys(&first), keys(&second), "tenant {n}");
    }
}

#[tokio::test]
async fn nothing_that_was_thought_stands_in_the_files() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    talk.turn("question-canary", "thought-canary", "answer-canary").await;
    for canary in ["question-canary", "thought-canary", "answer-canary", "p.example"] {
        assert!(!holds(&folder.bytes(), canary.as_bytes()), "{canary}");
    }
}

#[tokio::test]
async fn t_13_rows_that_change_places_stay_shut() {
    let folder = Folder::new();
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    for n in 0..4 {
        talk.turn(&format!("{n}"), &format!("thought {n}"), &format!("answer {n}")).await;
    }
    let connection = rusqlite::Connection::open(folder.file()).unwrap();
    // Thoughts of two records for each other; a head for another one; one byte of a head.
    let sql = "CREATE TEMP TABLE was AS SELECT nr, head, kept FROM record;
        UPDATE record SET kept = (SELECT kept FROM was WHERE nr = 3 - record.nr) WHERE nr < 3;
        UPDATE record SET head = (SELECT head FROM was WHERE nr = 1) WHERE nr = 3;
        UPDATE record SET head = CAST(substr(head, 1, 60) || x'0001' || substr(head, 63) AS BLOB) WHERE nr = 4;";
    connection.execute_batch(sql).unwrap();
    // Somebody who has none of them at hand.
    talk.vault = folder.open().await.unwrap().vault(&talk.tenant);
    let looked = talk.looks().await.unwrap();
    assert_eq!(talk.thoughts(&looked), [None, None], "the heads are theirs, the thoughts not");
    assert_eq!(looked.damaged, 2);
}

#[tokio::test]
async fn t_13_rows_that_change_places_on_the_server_stay_shut() {
    let Some(folder) = Folder::on_server().await else { return };
    let store = folder.open().await.unwrap();
    let mut talk = Talk::new(&store, &Tenant::local(), "a");
    for n in 0..3 {
        talk.turn(&format!("{n}"), &format!("thought {n}"), &format!("answer {n}")).await;
    }
    let client = server::connect(&folder.server.as_ref().unwrap().url).await.unwrap();
    let sql = "UPDATE record SET kept = was.kept FROM record was WHERE was.nr = 3 - record.nr;
        UPDATE record SET head = was.head FROM record was WHERE was.nr = 1 AND record.nr = 3;";
    client.batch_execute(sql).await.unwrap();
    talk.vault = folder.open().await.unwrap().vault(&talk.tenant);
    let looked = talk.looks().await.unwrap();
    assert_eq!((talk.thoughts(&looked), looked.damaged), (vec![None, None], 1));
}

async fn a_credential_names_the_same_tenant_for_every_process(folder: Folder) {
    let (one, two) = tokio::join!(folder.open(), folder.open());
    let (one, two) = (one.unwrap(), two.unwrap());
    let name = |store: &Store, endpoint: &str, credential: &str| {
        let tenant = store.pass_through_tenant(endpoint, credential);
        tenant.map(|tenant| tenant.as_str().to_owned())
    };
    let (endpoint, credential) = ("https://p.example/v1", "sk-0123456789abcdef");
    let first = name(&one, endpoint, credential).unwrap();
    assert!(first.starts_with("credential:") && !first.contains("0123456789abcdef"), "{first}");
    assert_eq!(name(&two, &format!("{endpoint}/"), &format!(" {credential}")), Some(first.clone()));
    assert_ne!(name(&one, "https://q.example/v1", credential), Some(first.clone()));
    assert_ne!(name(&one, endpoint, "sk-0123456789abcdee"), Some(first.clone()));
    assert_eq!(name(&one, endpoint, "EMPTY"), None);
    let elsewhere = Folder::new();
    let other = elsewhere.open().await.unwrap();
    assert_ne!(name(&other, endpoint, credential), Some(first), "of another installation");
}

async fn any_number_of_processes_make_one_new_store_at_once(folder: Folder) {
    let rounds = if folder.server.is_none() { 10 } else { 0 };
    for folder in std::iter::once(folder).chain((0..rounds).map(|_| Folder::new())) {
        let opened = (0..8).map(|_| {
            let (location, key) = (folder.location(), KeySource::File(folder.key()));
            tokio::spawn(async move { Store::open(&location, &key).await.map(drop) })
        });
        for opened in opened.collect::<Vec<_>>() {
            assert_eq!(opened.await.unwrap(), Ok(()));
        }
    }
}

async fn t_13_keys_rotate_while_everybody_appends(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let alice = Tenant::named("alice").unwrap();
    assert_eq!(one.rotate(&alice).await, Ok(None), "there is nobody to rotate for yet");
    let mut first = Talk::new(&one, &alice, "first");
    first.turn("before", "old", "answer").await;
    let mut tasks = Vec::new();
    for n in 0..8 {
        let (store, alice) = (if n % 2 == 0 { one.clone() } else { two.clone() }, alice.clone());
        tasks.push(tokio::spawn(async move {
            let mut talk = Talk::new(&store, &alice, &format!("talk {n}"));
            for turn in 0..12 {
                talk.turn(&format!("talk {n}, turn {turn}"), "thought", "answer").await;
                assert_eq!(talk.restored().await, turn + 1, "talk {n}");
            }
        }));
    }
    for expected in [2, 3] {
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(one.rotate(&alice).await, Ok(Some(expected)));
    }
    for task in tasks {
        task.await.unwrap();
    }
    first.turn("after", "new", "answer").await;
    let fresh = folder.open().await.unwrap();
    let looked = fresh.vault(&alice).lookup(&first.keys().await).await.unwrap();
    assert_eq!(first.thoughts(&looked), some(&["old", "new"]));
    let keys: BTreeSet<u32> = looked.found.iter().map(|found| found.kept.key()).collect();
    assert_eq!(keys, BTreeSet::from([1, 3]));
}

async fn a_credential_that_nothing_is_kept_for_is_not_written_down(folder: Folder) {
    let (one, two) = (folder.open().await.unwrap(), folder.open().await.unwrap());
    let tenant = one.pass_through_tenant("https://p.example", "sk-0123456789abcdef").unwrap();
    let [mut first, mut second] =
        [(&one, "first"), (&two, "second")].map(|(store, mark)| Talk::new(store, &tenant, mark));
    first.said.push(question("one"));
    second.said.push(question("two"));
    let records = [first.record("hm", "yes").await, second.record("hm", "yes").await];
    assert_eq!(one.erase(&tenant).await, Ok(None), "nothing was written down");
    let [a, b] = records;
    assert_eq!(first.vault.append(vec![a]).await, Ok(()));
    // The other process made keys of its own, and learns that it was second.
    let refused = second.vault.append(vec![b]).await;
    assert_eq!(refused, Err(StoreError::Erased(tenant.clone())));
    second.said.clear();
    second.turn("three", "well", "yes").await;
    let mut again = Talk::new(&one, &tenant, "third");
    again.said.clone_from(&second.said);
    assert_eq!(again.restored().await, 1);
}

//! Items of traces: what was asked, called and refused, sealed beside the rows of traces.

use super::traces::trace;
use super::{Folder, holds, server};
use std::sync::Arc;
use thinkthrough_core::content::{Block, Content, Speaker, ToolCall};
use thinkthrough_core::plane::{Masked, Tenant};
use thinkthrough_mask::{Masker, Tiers};
use thinkthrough_store::{LostTrace, NewTrace, Store, Trace, TraceFilter, TraceItems, Traces};

on_each_database! {
    items_are_read_with_their_trace_and_in_no_list,
    items_go_with_their_trace,
    items_stay_readable_under_a_new_data_key_and_are_gone_with_their_tenant,
    t_13_items_stay_shut_elsewhere,
    a_session_has_the_title_and_the_client_of_its_first_trace,
    items_that_are_handed_over_arrive,
}

fn asked(question: &str) -> Option<Masked<TraceItems>> {
    let mut items = TraceItems::asked(&[Content::text(Speaker::Human, question)]);
    items.add_calls(&[Block::ToolCall(ToolCall::new(Some("call_1"), "grep"))]);
    Some(Masked::by(&Masker::new(Tiers::ALL, &[7; 32]), &items))
}

pub(super) fn with_items(id: &str, at: u64, question: &str) -> NewTrace {
    NewTrace { items: asked(question), ..trace(id, at, "a zebra", "yes") }
}

fn texts(trace: &Trace) -> Vec<&str> {
    trace.items.all().iter().map(|item| item.text.as_str()).collect()
}

async fn read(traces: &Traces, id: &str) -> Vec<String> {
    let found = traces.get(id).await.unwrap().unwrap();
    texts(&found).into_iter().map(str::to_owned).collect()
}

/// Runs this statement in the database.
async fn run(folder: &Folder, sql: &str) {
    match &folder.server {
        Some(server) => {
            server::connect(&server.url).await.unwrap().batch_execute(sql).await.unwrap();
        }
        None => rusqlite::Connection::open(folder.file()).unwrap().execute_batch(sql).unwrap(),
    }
}

/// The number of rows with items.
async fn count(folder: &Folder) -> i64 {
    let sql = "SELECT count(*) FROM trace_items";
    match &folder.server {
        Some(server) => {
            let client = server::connect(&server.url).await.unwrap();
            client.query_one(sql, &[]).await.unwrap().get(0)
        }
        None => {
            let file = rusqlite::Connection::open(folder.file()).unwrap();
            file.query_row(sql, [], |row| row.get(0)).unwrap()
        }
    }
}

async fn items_are_read_with_their_trace_and_in_no_list(folder: Folder) {
    let store = folder.open().await.unwrap();
    let traces = store.traces();
    let new = with_items("a", 5, "canary-question");
    traces.add(vec![new.clone(), new, trace("b", 6, "", "")]).await.unwrap();
    assert_eq!(read(&traces, "a").await, ["canary-question", "{}"]);
    assert_eq!(read(&traces, "b").await, [""; 0]);
    let mut listed = traces.list(TraceFilter::default()).await.unwrap();
    assert!(listed.iter().all(|it| it.items.is_empty()));
    traces.read_items(&mut listed).await.unwrap();
    assert_eq!(listed.iter().map(|it| texts(it).len()).collect::<Vec<_>>(), [0, 2]);
    let hits = traces.search("canary-question", <_>::default(), TraceFilter::default()).await;
    assert_eq!(hits.unwrap().traces, [], "no search reads them");
    assert!(!holds(&folder.bytes(), b"canary-question"));
}

async fn items_go_with_their_trace(folder: Folder) {
    let store = folder.open().await.unwrap();
    let traces = store.traces();
    let new: Vec<NewTrace> = (0..9).map(|n| with_items(&n.to_string(), n, "why?")).collect();
    traces.add(new).await.unwrap();
    assert_eq!(count(&folder).await, 9);
    traces.prune_older_than(3).await.unwrap();
    assert_eq!(count(&folder).await, 6);
    while traces.index().await.unwrap() > 0 {}
    traces.prune_to(4).await.unwrap();
    assert_eq!(count(&folder).await, 4);
    traces.erase_tenant(&Tenant::local()).await.unwrap();
    assert_eq!(count(&folder).await, 0);
}

async fn items_stay_readable_under_a_new_data_key_and_are_gone_with_their_tenant(folder: Folder) {
    let (store, alice) = (folder.open().await.unwrap(), Tenant::named("alice").unwrap());
    let its = |id: &str| NewTrace { tenant: alice.clone(), ..with_items(id, 5, "why?") };
    store.traces().add(vec![its("a")]).await.unwrap();
    assert_eq!(store.rotate(&alice).await.unwrap(), Some(2));
    store.traces().add(vec![its("b")]).await.unwrap();
    let other = folder.open().await.unwrap().traces();
    for id in ["a", "b"] {
        assert_eq!(read(&other, id).await, ["why?", "{}"], "{id}");
    }
    // Without the keys of the tenant its items open nowhere, even if their rows were still there.
    run(&folder, "CREATE TABLE kept_items AS SELECT * FROM trace_items").await;
    store.erase(&alice).await.unwrap();
    assert_eq!(count(&folder).await, 0);
    store.traces().add(vec![NewTrace { items: None, ..its("a") }, its("c")]).await.unwrap();
    run(&folder, "INSERT INTO trace_items SELECT * FROM kept_items").await;
    assert_eq!(read(&store.traces(), "a").await, [""; 0]);
    assert_eq!(read(&store.traces(), "c").await, ["why?", "{}"]);
}

async fn t_13_items_stay_shut_elsewhere(folder: Folder) {
    let (store, alice) = (folder.open().await.unwrap(), Tenant::named("alice").unwrap());
    let hers = NewTrace { tenant: alice.clone(), ..with_items("hers", 5, "her question") };
    let bare = |id: &str| NewTrace { items: None, ..with_items(id, 5, "") };
    let all = vec![hers, with_items("his", 6, "his question"), bare("x"), bare("y")];
    store.traces().add(all).await.unwrap();
    // Another trace of the same tenant, and a trace of another tenant that claims to be its own.
    run(
        &folder,
        "INSERT INTO trace_items SELECT 'x', tenant, key_id, sealed FROM trace_items WHERE trace = 'his';
         INSERT INTO trace_items SELECT 'y', tenant, key_id, sealed FROM trace_items WHERE trace = 'hers';
         UPDATE reasoning_traces SET tenant = 'local' WHERE id = 'hers'",
    )
    .await;
    let traces = folder.open().await.unwrap().traces();
    for id in ["x", "y", "hers"] {
        assert_eq!(read(&traces, id).await, [""; 0], "{id}");
    }
    assert_eq!(read(&traces, "his").await, ["his question", "{}"]);
}

async fn a_session_has_the_title_and_the_client_of_its_first_trace(folder: Folder) {
    let traces = folder.open().await.unwrap().traces();
    let client = |name: &str| {
        let text = format!("{{\"client\":\"{name}\"}}");
        Masked::by(&Masker::new(Tiers::ALL, &[7; 32]), &text)
    };
    let first = NewTrace { metadata: client("editor"), ..with_items("b", 5, "Fix\nthe test") };
    let later = NewTrace { metadata: client("other"), ..with_items("a", 6, "and now?") };
    let bare = NewTrace { session: "bare".to_owned(), ..trace("c", 7, "", "") };
    traces.add(vec![later, first, bare]).await.unwrap();
    let sessions = traces.sessions(TraceFilter::default()).await.unwrap();
    let seen: Vec<_> = sessions.into_iter().map(|it| (it.session, it.title, it.client)).collect();
    let some = |text: &str| Some(text.to_owned());
    let expected =
        [("bare".into(), None, None), ("s".into(), some("Fix the test"), some("editor"))];
    assert_eq!(seen, expected);
}

async fn items_that_are_handed_over_arrive(folder: Folder) {
    let store = folder.open_with_spool().await;
    let lost: LostTrace = Arc::new(|_, id| assert_eq!(id, "", "a trace is lost"));
    let traces = store.traces();
    traces.hand_over(vec![with_items("a", 5, "canary-question")], &lost).await;
    assert!(!holds(&folder.bytes(), b"canary-question"), "nor in a journal");
    while traces.waiting() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(read(&traces, "a").await, ["canary-question", "{}"]);
}

/// A record and a trace are a tenant's first data at once: both are found afterwards.
#[tokio::test]
async fn first_data_of_a_tenant_may_come_twice_at_once() {
    let folder = Folder::new();
    let store: Store = folder.open().await.unwrap();
    for n in 0..20 {
        let name = format!("sk-a1B2c3D4e5F6g7H8i9{n}");
        let tenant = store.pass_through_tenant("https://p.example/v1", &name).unwrap();
        let mut talk = super::talk::Talk::new(&store, &tenant, "x");
        let new = NewTrace { tenant: tenant.clone(), ..with_items(&format!("t{n}"), 5, "why?") };
        let (traces, lost) = (store.traces(), Arc::new(|_: &str, _: &str| {}));
        let add =
            tokio::spawn(async move { traces.hand_over(vec![new], &(lost as LostTrace)).await });
        talk.turn("one", "hm", "first").await;
        add.await.unwrap();
        assert_eq!(talk.restored().await, 1, "{n}");
        while store.traces().waiting() > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(read(&store.traces(), &format!("t{n}")).await, ["why?", "{}"], "{n}");
    }
}

//! Counts that no provider means: they keep nobody from searching and summing up.

use super::Folder;
use super::spool::{ear, until_taken};
use super::trace_sessions::execute;
use super::traces::trace;
use std::time::{Duration, Instant};
use thinkthrough_store::{NewTrace, Store, TraceFilter, TraceNumbers, TraceText, Traces};

on_each_database! {
    counts_without_measure_stop_neither_search_nor_sums,
    where_words_cannot_be_indexed_it_is_said_once,
}

/// No count is larger.
const MOST: u64 = 1 << 40;

/// A trace of a session of its own, whose counts are all this.
fn counted(id: &str, session: &str, count: u64) -> NewTrace {
    let numbers = TraceNumbers {
        reasoning_tokens: count,
        total_tokens: count,
        input_tokens: Some(count),
        output_tokens: Some(count),
        cached_tokens: Some(count),
        cost: Some(count),
        duration: 7,
        created_at: 5,
        ..TraceNumbers::default()
    };
    NewTrace { session: session.to_owned(), numbers, ..trace(id, 5, "a zebra", "") }
}

/// Sessions with the number of their traces and their tokens, and the tokens and the cost of all.
async fn sums(traces: &Traces) -> (Vec<(String, u64, u64)>, Vec<[u64; 2]>) {
    let filter = TraceFilter::default;
    let mut sessions: Vec<_> = traces.sessions(filter()).await.unwrap();
    sessions.sort_by(|one, other| one.session.cmp(&other.session));
    let sessions = sessions.into_iter().map(|it| (it.session, it.requests, it.total_tokens));
    let all = traces.sums(filter(), 1_000).await.unwrap();
    (sessions.collect(), all.iter().map(|it| [it.total_tokens, it.cost]).collect())
}

async fn found(traces: &Traces) -> usize {
    let hits = traces.search("zebra", TraceText::All, TraceFilter::default()).await.unwrap();
    assert_eq!(hits.indexed_to, None, "all are looked at");
    hits.traces.len()
}

async fn counts_without_measure_stop_neither_search_nor_sums(folder: Folder) {
    let traces = folder.open().await.unwrap().traces();
    let huge = |id: &str| counted(id, "huge", u64::MAX);
    traces.add(vec![huge("a"), huge("b"), counted("c", "usual", 3)]).await.unwrap();
    while traces.index().await.unwrap() > 0 {}
    assert_eq!(found(&traces).await, 3);
    let session = |name: &str, requests, tokens| (name.to_owned(), requests, tokens);
    let all = 2 * MOST + 3;
    let expected = vec![session("huge", 2, 2 * MOST), session("usual", 1, 3)];
    assert_eq!(sums(&traces).await, (expected, vec![[all, all]]));
    // No gateway writes such counts.
    traces.add(vec![huge("d"), huge("e")]).await.unwrap();
    let sql = "UPDATE reasoning_traces SET reasoning_tokens = 9223372036854775807, \
               total_tokens = 9223372036854775807, duration_ms = 9223372036854775807, \
               input_tokens = 9223372036854775807, cost_micro_usd = 9223372036854775807 \
               WHERE id IN ('d', 'e')";
    execute(&folder, &[sql]).await;
    while traces.index().await.unwrap() > 0 {}
    assert_eq!(found(&traces).await, 5);
    let expected = vec![session("huge", 4, 4 * MOST), session("usual", 1, 3)];
    assert_eq!(sums(&traces).await, (expected, vec![[1 << 62, 1 << 62]]));
    // What goes takes away what it brought.
    execute(&folder, &["DELETE FROM reasoning_traces WHERE id IN ('a', 'd', 'e')"]).await;
    let expected = vec![session("huge", 1, MOST), session("usual", 1, 3)];
    assert_eq!(sums(&traces).await.0, expected);
}

async fn notes(store: &Store) -> Vec<String> {
    let began = Instant::now();
    loop {
        let notes = store.notes();
        if !notes.is_empty() || began.elapsed() > Duration::from_secs(20) {
            return notes;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn where_words_cannot_be_indexed_it_is_said_once(folder: Folder) {
    let store = folder.open().await.unwrap();
    let (traces, (lost, _)) = (store.traces(), ear());
    let [breaks, mends] = match folder.server {
        Some(_) => {
            ["ALTER TABLE trace_session RENAME TO away", "ALTER TABLE away RENAME TO trace_session"]
        }
        None => [
            "CREATE TRIGGER broken BEFORE INSERT ON trace_session \
             BEGIN SELECT raise(ABORT, 'no'); END",
            "DROP TRIGGER broken",
        ],
    };
    execute(&folder, &[breaks]).await;
    traces.hand_over(vec![counted("0", "s", 1)], &lost).await;
    until_taken(&traces).await;
    let said = notes(&store).await.join(" ");
    assert!(said.contains("not found by a search"), "{said:?}");
    for n in 1..4 {
        traces.hand_over(vec![counted(&n.to_string(), "s", 1)], &lost).await;
        until_taken(&traces).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(store.notes(), [""; 0]);
    execute(&folder, &[mends]).await;
    while traces.index().await.unwrap() > 0 {}
    assert_eq!(found(&traces).await, 4);
}

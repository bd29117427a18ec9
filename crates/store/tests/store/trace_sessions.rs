//! The sums of sessions follow the traces that come and go.

use super::Folder;
use super::traces::trace;
use std::collections::{BTreeMap, BTreeSet};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{Meta, NewTrace, Trace, TraceFilter, TraceNumbers, TraceSession, Traces};

on_each_database! {
    sums_of_sessions_are_those_of_their_traces_whatever_comes_and_goes,
    sessions_are_found_by_their_newest_trace,
}

/// A number that looks drawn, and is the same each time.
fn drawn(at: u64, below: u64) -> u64 {
    ((at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % below.max(1)
}

fn new(at: u64, session: &str) -> NewTrace {
    let numbers = TraceNumbers {
        reasoning_tokens: drawn(at, 100),
        total_tokens: drawn(at, 900),
        duration: drawn(at, 77),
        // They do not come in the order of their times, and some have the same.
        created_at: drawn(at, 64),
        ..TraceNumbers::default()
    };
    let tenant = Tenant::named(["alice", "bob"][usize::try_from(drawn(at * 3, 2)).unwrap()]);
    NewTrace {
        tenant: tenant.unwrap(),
        session: session.to_owned(),
        model: format!("m{}", drawn(at * 5, 3)),
        provider: format!("p{}", drawn(at * 5, 3)),
        numbers,
        ..trace(&format!("{at:04}"), 0, "a thought", "an answer")
    }
}

fn everything() -> TraceFilter {
    TraceFilter { limit: 100_000, ..TraceFilter::default() }
}

/// The sessions as their traces say, the newest first. Models stay as long as their session.
fn summed(all: &[Trace]) -> Vec<TraceSession> {
    let mut sessions: BTreeMap<(&str, &str), Vec<&Trace>> = BTreeMap::new();
    for one in all {
        sessions.entry((&one.tenant, &one.session)).or_default().push(one);
    }
    let sum = |((tenant, session), mut all): ((&str, &str), Vec<&Trace>)| {
        all.sort_by_key(|it| (it.numbers.created_at, &it.id));
        let total = |of: fn(&TraceNumbers) -> u64| all.iter().map(|it| of(&it.numbers)).sum();
        let models: BTreeSet<&String> = all.iter().map(|it| &it.model).collect();
        TraceSession {
            session: session.to_owned(),
            tenant: tenant.to_owned(),
            last_id: all[all.len() - 1].id.clone(),
            last: all[all.len() - 1].numbers.created_at,
            first: all[0].numbers.created_at,
            models: models.into_iter().cloned().collect(),
            requests: all.len() as u64,
            reasoning_tokens: total(|it| it.reasoning_tokens),
            total_tokens: total(|it| it.total_tokens),
            duration: total(|it| it.duration),
            title: None,
            client: None,
        }
    };
    let mut summed: Vec<_> = sessions.into_iter().map(sum).collect();
    summed.sort_by(|one, other| (other.last, &other.last_id).cmp(&(one.last, &one.last_id)));
    summed
}

/// The list of sessions is what their traces say; a model whose last trace went may still be named.
async fn agree(traces: &Traces) {
    let expected = summed(&traces.list(everything()).await.unwrap());
    let mut found = traces.sessions(everything()).await.unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter_mut().zip(expected) {
        assert!(expected.models.iter().all(|it| found.models.contains(it)), "{found:?}");
        found.models.clone_from(&expected.models);
        assert_eq!(*found, expected);
    }
}

async fn sums_of_sessions_are_those_of_their_traces_whatever_comes_and_goes(folder: Folder) {
    let store = folder.open().await.unwrap();
    let traces = store.traces();
    let conversations = store.conversations(&Tenant::named("alice").unwrap());
    let id = conversations.create(&Meta::default()).await.unwrap();
    let session = |at: u64| match drawn(at * 7, 9) {
        0 => id.as_str().to_owned(),
        n => format!("s{n}"),
    };
    for step in 0..12_u64 {
        // A part of them is there already, and stays as it is.
        let all = (step * 30..step * 30 + 40).map(|at| new(at, &session(at + step / 3)));
        traces.add(all.collect()).await.unwrap();
        agree(&traces).await;
        // Some come and go before they are summed up.
        traces
            .add((900 + step * 5..905 + step * 5).map(|at| new(at, &session(at))).collect())
            .await
            .unwrap();
        traces.prune_older_than(step * 3).await.unwrap();
        agree(&traces).await;
    }
    conversations.delete(&id).await.unwrap();
    agree(&traces).await;
    store.erase(&Tenant::named("bob").unwrap()).await.unwrap();
    assert!(!traces.sessions(everything()).await.unwrap().is_empty());
    agree(&traces).await;
    // The newest one goes before the others, and the number of its row is given again.
    let newest = traces.list(TraceFilter { limit: 1, ..everything() }).await.unwrap().remove(0);
    let gone = format!("DELETE FROM reasoning_traces WHERE id = '{}'", newest.id);
    execute(&folder, &[&gone]).await;
    agree(&traces).await;
    traces.add((2_000..2_010).map(|at| new(at, "anew")).collect()).await.unwrap();
    agree(&traces).await;
    let rows = "DELETE FROM reasoning_traces WHERE session_key = 'anew'";
    execute(&folder, &[rows]).await;
    traces.add((2_010..2_020).map(|at| new(at, "anew")).collect()).await.unwrap();
    agree(&traces).await;
    traces.prune_older_than(1_000).await.unwrap();
    assert_eq!(traces.sessions(everything()).await.unwrap(), []);
}

async fn sessions_are_found_by_their_newest_trace(folder: Folder) {
    let traces = folder.open().await.unwrap().traces();
    traces.add((0..300).map(|at| new(at, &format!("s{}", at / 7))).collect()).await.unwrap();
    let all = summed(&traces.list(everything()).await.unwrap());
    let mut newest = BTreeMap::new();
    for one in traces.list(everything()).await.unwrap() {
        newest.insert(one.id.clone(), one);
    }
    let newest = |it: &TraceSession| &newest[&it.last_id];
    let some = |text: &str| Some(text.to_owned());
    let none = everything;
    type Wanted<'a> = &'a dyn Fn(&TraceSession) -> bool;
    let asked: [(TraceFilter, Wanted<'_>); 7] = [
        (TraceFilter { tenant: some("bob"), ..none() }, &|it| it.tenant == "bob"),
        (TraceFilter { session: some("s3"), ..none() }, &|it| it.session == "s3"),
        (TraceFilter { model: some("m1"), ..none() }, &|it| newest(it).model == "m1"),
        (TraceFilter { provider: some("p2"), ..none() }, &|it| newest(it).provider == "p2"),
        (TraceFilter { since: Some(40), ..none() }, &|it| it.last >= 40),
        (TraceFilter { until: Some(50), ..none() }, &|it| it.last < 50),
        (TraceFilter { model: some("nobody's"), ..none() }, &|_| false),
    ];
    for (filter, wanted) in asked {
        let found = traces.sessions(filter.clone()).await.unwrap();
        let found: Vec<&str> = found.iter().map(|it| it.last_id.as_str()).collect();
        let expected: Vec<&str> =
            all.iter().filter(|it| wanted(it)).map(|it| it.last_id.as_str()).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
    // Page by page, behind whatever came last.
    for tenant in [None, some("alice")] {
        let (mut paged, mut after) = (0, None);
        let its: Vec<_> =
            all.iter().filter(|it| tenant.as_ref().is_none_or(|own| *own == it.tenant)).collect();
        loop {
            let filter = TraceFilter { limit: 4, after, tenant: tenant.clone(), ..none() };
            let page = traces.sessions(filter).await.unwrap();
            let Some(last) = page.last() else { break };
            after = Some((last.last, last.last_id.clone()));
            for (found, expected) in page.iter().zip(&its[paged..]) {
                assert_eq!(found.last_id, expected.last_id);
            }
            paged += page.len();
        }
        assert_eq!(paged, its.len());
    }
}

pub(crate) async fn execute(folder: &Folder, sql: &[&str]) {
    match &folder.server {
        Some(server) => server.execute(sql).await,
        None => {
            let file = rusqlite::Connection::open(folder.file()).unwrap();
            file.execute_batch(&sql.join(";")).unwrap();
        }
    }
}

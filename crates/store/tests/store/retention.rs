//! How long the vault keeps what, and how much of it.

use super::Folder;
use super::talk::Talk;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use thinkthrough_core::plane::Tenant;
use thinkthrough_limits::{BudgetRules, Limit, Report};
use thinkthrough_store::{LedgerKey, Limits, Moment, NewTrace, Pruned, Store, TraceFilter};

on_each_database! {
    what_is_not_used_for_the_time_goes_as_a_whole,
    what_is_used_stays,
    k_7_a_clock_that_jumps_does_not_empty_the_vault,
    a_tenant_with_too_much_loses_the_longest_unused_and_nobody_else_anything,
    what_is_left_of_an_erased_tenant_goes,
    traces_stay_for_their_time,
    a_tenant_with_too_many_traces_loses_the_oldest_and_nobody_else_any,
    a_tenant_with_too_many_budgets_loses_the_longest_unused_and_nobody_else_any,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn later(moment: Moment, by: Duration) -> Moment {
    Moment { wall: moment.wall + by, steady: moment.steady + by }
}

async fn talk(store: &Store, tenant: &Tenant, mark: &str, turns: usize) -> Talk {
    let mut talk = Talk::new(store, tenant, mark);
    for n in 0..turns {
        talk.turn(&format!("{mark} {n}"), &format!("thought {n}"), &format!("answer {n}")).await;
    }
    talk
}

fn went(conversations: u64) -> Pruned {
    Pruned { conversations, held_back: 0 }
}

async fn what_is_not_used_for_the_time_goes_as_a_whole(folder: Folder) {
    let store = folder.open().await.unwrap();
    let start = Moment::now();
    let limits = Limits::default();
    assert_eq!(store.prune(&limits, start).await, Ok(went(0)));
    let mut talks = Vec::new();
    for n in 0..70 {
        talks.push(talk(&store, &Tenant::local(), &format!("talk {n}"), 3).await);
    }
    assert_eq!(store.prune(&limits, later(start, 29 * DAY)).await, Ok(went(0)));
    assert_eq!(talks[0].restored().await, 3);
    assert_eq!(store.prune(&limits, later(start, 31 * DAY)).await, Ok(went(70)));
    for talk in &talks {
        assert!(talk.looks().await.unwrap().found.is_empty());
    }
    assert_eq!(store.prune(&limits, later(start, 32 * DAY)).await, Ok(went(0)));
    talk(&store, &Tenant::local(), "talk 0", 2).await;
}

async fn what_is_used_stays(folder: Folder) {
    let store = folder.open().await.unwrap();
    let start = Moment::now();
    store.prune(&Limits::default(), start).await.unwrap();
    let (used, unused) = (
        talk(&store, &Tenant::local(), "used", 2).await,
        talk(&store, &Tenant::local(), "unused", 2).await,
    );
    tokio::time::sleep(Duration::from_millis(50)).await;
    let asked = SystemTime::now();
    // Another process, which has not used it today.
    let other = folder.open().await.unwrap();
    assert_eq!(
        other.vault(&Tenant::local()).lookup(&used.keys().await).await.unwrap().found.len(),
        2
    );
    // It is written down by nobody who waits.
    let began = Instant::now();
    while last_use(&folder).await < asked {
        assert!(began.elapsed() < Duration::from_secs(60), "its use is never written down");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let limits = Limits { age: DAY, ..Limits::default() };
    let just_before = Moment { wall: asked + DAY, steady: start.steady + DAY };
    assert_eq!(store.prune(&limits, just_before).await, Ok(went(1)));
    assert_eq!((used.restored().await, unused.restored().await), (2, 0));
}

/// When a conversation of the vault was used last, as far as it is written down.
async fn last_use(folder: &Folder) -> SystemTime {
    let sql = "SELECT max(used_at) FROM thread";
    let millis: i64 = match &folder.server {
        Some(server) => {
            let client = super::server::connect(&server.url).await.unwrap();
            client.query_one(sql, &[]).await.unwrap().get(0)
        }
        None => {
            let connection = rusqlite::Connection::open(folder.file()).unwrap();
            connection.query_row(sql, [], |row| row.get(0)).unwrap()
        }
    };
    // It is written in whole milliseconds.
    UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap() + 1)
}

async fn k_7_a_clock_that_jumps_does_not_empty_the_vault(folder: Folder) {
    let store = folder.open().await.unwrap();
    let start = Moment::now();
    let talks = [
        talk(&store, &Tenant::local(), "one", 2).await,
        talk(&store, &Tenant::local(), "two", 2).await,
    ];
    let limits = Limits::default();
    let held = Pruned { conversations: 0, held_back: 4 };
    let ahead =
        |by: Duration| Moment { wall: start.wall + 3650 * DAY + by, steady: start.steady + by };
    // At its first look nobody knows whether the clock is right; then it jumps back, and ahead again.
    assert_eq!(store.prune(&limits, ahead(Duration::ZERO)).await, Ok(held));
    assert_eq!(store.prune(&limits, later(start, DAY / 2)).await, Ok(went(0)));
    assert_eq!(store.prune(&limits, ahead(DAY)).await, Ok(held));
    for talk in &talks {
        assert_eq!(talk.restored().await, 2);
    }
    assert_eq!(store.prune(&limits, ahead(DAY + DAY / 24)).await, Ok(went(2)));
}

async fn a_tenant_with_too_much_loses_the_longest_unused_and_nobody_else_anything(folder: Folder) {
    let store = folder.open().await.unwrap();
    let [alice, bob] = ["alice", "bob"].map(|name| Tenant::named(name).unwrap());
    let his = talk(&store, &bob, "his", 4).await;
    let mut hers = Vec::new();
    for n in 0..5 {
        hers.push(talk(&store, &alice, &format!("hers {n}"), 3).await);
        // Each was used later than the one before.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Now the first is the latest that was used.
    hers[0].turn("more", "more", "more").await;
    let limits = Limits { records: 10, ..Limits::default() };
    assert_eq!(store.prune(&limits, Moment::now()).await, Ok(went(2)));
    let mut left = Vec::new();
    for talk in &hers {
        left.push(talk.restored().await);
    }
    assert_eq!((left, his.restored().await), (vec![4, 0, 0, 3, 3], 4));
    let limits = Limits { bytes: 1, ..Limits::default() };
    assert_eq!(store.prune(&limits, Moment::now()).await, Ok(went(4)));
}

async fn what_is_left_of_an_erased_tenant_goes(folder: Folder) {
    let store = folder.open().await.unwrap();
    let alice = Tenant::named("alice").unwrap();
    for n in 0..3 {
        talk(&store, &alice, &format!("talk {n}"), 2).await;
    }
    // As if the process had ended right after the keys were destroyed.
    let keyless = "DELETE FROM data_key; DELETE FROM tenant";
    match &folder.server {
        Some(server) => {
            let client = super::server::connect(&server.url).await.unwrap();
            client.batch_execute(keyless).await.unwrap();
        }
        None => rusqlite::Connection::open(folder.file()).unwrap().execute_batch(keyless).unwrap(),
    }
    assert_eq!(store.prune(&Limits::default(), Moment::now()).await, Ok(went(3)));
    assert_eq!(store.prune(&Limits::default(), Moment::now()).await, Ok(went(0)));
}

async fn traces_stay_for_their_time(folder: Folder) {
    let store = folder.open().await.unwrap();
    let start = Moment::now();
    let millis = |moment: Moment| {
        u64::try_from(moment.wall.duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
    };
    let traces = store.traces();
    let all = (0..10_u32).map(|day| {
        let at = millis(later(start, day * DAY));
        super::traces::trace(&format!("{day}"), at, "", "")
    });
    traces.add(all.collect()).await.unwrap();
    let count = async || traces.older_than(u64::MAX).await.unwrap();
    let week = Limits { traces: Some(7 * DAY), ..Limits::default() };
    // One of ten is old, which no clock needs to be watched for.
    store.prune(&week, Moment { wall: start.wall + 7 * DAY + DAY / 2, ..start }).await.unwrap();
    assert_eq!(count().await, 9);
    // Many are old all at once: the clock may have jumped.
    let jumped = Moment { wall: start.wall + 100 * DAY, ..start };
    let pruned = store.prune(&week, jumped).await.unwrap();
    assert_eq!((count().await, pruned.held_back), (9, 9));
    let ever = Limits { traces: None, ..Limits::default() };
    store.prune(&ever, later(jumped, DAY)).await.unwrap();
    assert_eq!(count().await, 9);
    store.prune(&week, later(jumped, 2 * DAY)).await.unwrap();
    assert_eq!(count().await, 0, "both clocks went alike since");
}

async fn a_tenant_with_too_many_traces_loses_the_oldest_and_nobody_else_any(folder: Folder) {
    let store = folder.open().await.unwrap();
    let traces = store.traces();
    let day = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis());
    for (tenant, many) in [("alice", 9), ("bob", 3)] {
        let tenant = Tenant::named(tenant).unwrap();
        let new = (0..many).map(|n| {
            let id = format!("{}{n}", tenant.as_str());
            let session = format!("s{}", n % 2);
            let trace = super::traces::trace(&id, day.unwrap() + n, "a thought", "");
            NewTrace { tenant: tenant.clone(), session, ..trace }
        });
        traces.add(new.collect()).await.unwrap();
    }
    while traces.index().await.unwrap() > 0 {}
    let limits = Limits { tenant_traces: 4, ..Limits::default() };
    for _ in 0..2 {
        store.prune(&limits, Moment::now()).await.unwrap();
        while traces.index().await.unwrap() > 0 {}
        let left = traces.list(TraceFilter::default()).await.unwrap();
        let mut left = super::traces::ids(&left);
        left.sort_unstable();
        assert_eq!(left, ["alice5", "alice6", "alice7", "alice8", "bob0", "bob1", "bob2"]);
    }
}

async fn a_tenant_with_too_many_budgets_loses_the_longest_unused_and_nobody_else_any(
    folder: Folder,
) {
    let store = folder.open().await.unwrap();
    let (ledgers, start) = (store.ledgers(), Moment::now());
    let rules = BudgetRules { max: Limit::from_config(60), ..BudgetRules::DEFAULT };
    let key = |tenant: &str, session: u32| {
        LedgerKey::new(&Tenant::named(tenant).unwrap(), "session", &session.to_string())
    };
    for (tenant, many) in [("alice", 5), ("bob", 2)] {
        for session in 0..many {
            let report = Report { number: 1, spent: 7, keeps: 0, wants: 0 };
            let key = key(tenant, session);
            ledgers.report(&key, &rules, "one", report, 1_000).await.unwrap();
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }
    let limits = Limits { budgets: 3, ..Limits::default() };
    let used = async |tenant: &str, many: u32| {
        let mut all = Vec::new();
        for session in 0..many {
            all.push(ledgers.used(&key(tenant, session)).await.unwrap());
        }
        all
    };
    // Somebody may hold a slice of one that was used just now.
    store.prune(&limits, start).await.unwrap();
    assert_eq!(used("alice", 5).await, [7; 5]);
    store.prune(&limits, later(start, 2 * DAY / 24)).await.unwrap();
    assert_eq!((used("alice", 5).await, used("bob", 2).await), (vec![0, 0, 7, 7, 7], vec![7, 7]));
}

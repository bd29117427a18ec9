//! How long a million traces take, in a file and on a server: to write, to list, to search, to look one up, to take out.
//!
//! Run with `cargo bench -p thinkthrough-store --bench traces`; `THINK_BENCH_TRACES` says how many, `THINK_BENCH_ON` takes
//! only one of `file` and `server`, and `THINKTHROUGH_POSTGRES` names the server. `THINK_BENCH_KEEP` names a folder, or
//! a database of the server: the store is left there, and the next run goes on with it; `THINK_BENCH_PART=prune` then
//! measures that alone.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a measurement that breaks is to be seen"
)]

use std::time::{Duration, Instant};
use thinkthrough_core::plane::{Masked, Tenant};
use thinkthrough_mask::{Masker, Tiers};
use thinkthrough_store::{
    KeySource, Location, NewTrace, Store, TraceFilter, TraceNumbers, TraceState, TraceText, Traces,
};

/// So many are written in one commit, as a gateway under load does.
const BATCH: usize = 256;
/// What thoughts are made of: each has some forty of these words.
const WORDS: [&str; 64] = [
    "parser", "stream", "buffer", "header", "request", "window", "answer", "thread", "ledger",
    "record", "bucket", "planner", "socket", "vector", "module", "column", "branch", "garden",
    "harvest", "meadow", "lantern", "compass", "village", "thunder", "first", "then", "because",
    "the", "user", "wants", "that", "which", "should", "could", "check", "again", "wait", "so",
    "maybe", "index", "query", "table", "lock", "write", "read", "test", "fails", "passes",
    "error", "case", "path", "file", "line", "token", "limit", "cache", "key", "value", "loop",
    "end", "begin", "left", "right", "cost",
];

/// A number that looks drawn, and is the same each time.
fn drawn(at: usize, salt: usize) -> usize {
    let mut x = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (salt as u64) << 32;
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    usize::try_from((x ^ (x >> 31)) >> 33).unwrap()
}

/// As spread as the gateway's.
fn id(at: usize) -> String {
    format!("{:08x}{at:024x}", drawn(at, 7))
}

fn trace(at: usize, masker: &Masker) -> NewTrace {
    let words: Vec<&str> = (0..40).map(|n| WORDS[drawn(at, n) % WORDS.len()]).collect();
    let rare = format!("rare{}", drawn(at, 99) % 50_000);
    let one_in = |n: usize| if at.is_multiple_of(n) { format!(" onein{n}") } else { String::new() };
    let middle = [30, 100, 1_000].map(one_in).concat();
    let masked = |text: String| Masked::by(masker, &text);
    NewTrace {
        id: id(at),
        tenant: Tenant::named("bench").unwrap(),
        session: format!("session-{}", drawn(at, 1) % 20_000),
        run: format!("run-{at}"),
        model: ["kimi-k2", "deepseek-v4", "claude", "gemini-3"][drawn(at, 2) % 4].to_owned(),
        provider: ["moonshotai", "deepseek", "anthropic", "google"][drawn(at, 2) % 4].to_owned(),
        thought: masked(format!("{} {rare}{middle}", words.join(" "))),
        answer: masked(words[..12].join(" ")),
        metadata: Masked::fixed("{\"status\":200,\"route\":\"/v1/chat/completions\"}"),
        why: Masked::fixed(""),
        items: None,
        numbers: TraceNumbers { created_at: at as u64, ..TraceNumbers::default() },
        state: TraceState::Whole,
    }
}

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    let (p50, p95, p99, most) = (at(50), at(95), at(99), at(100));
    println!(
        "{name:<52} p50 {p50:>9.3}  p95 {p95:>9.3}  p99 {p99:>9.3}  most {most:>9.3} ms, {} calls",
        times.len()
    );
}

async fn timed<F: Future>(name: &str, calls: usize, mut work: impl FnMut(usize) -> F) {
    let mut times = Vec::with_capacity(calls);
    for call in 0..calls {
        let one = work(call);
        let began = Instant::now();
        one.await;
        times.push(began.elapsed());
    }
    report(name, times);
}

async fn fill(name: &str, traces: &Traces, from: usize, to: usize) {
    let masker = Masker::new(Tiers::REGISTERED, &[7; 32]);
    let mut took = Duration::ZERO;
    for first in (from..to).step_by(BATCH) {
        let batch = (first..to.min(first + BATCH)).map(|at| trace(at, &masker)).collect();
        let began = Instant::now();
        traces.add(batch).await.unwrap();
        took += began.elapsed();
    }
    let rate = (to - from) as f64 / took.as_secs_f64();
    println!("{name}: {} rows committed, {rate:.0} a second", to - from);
}

async fn index(name: &str, traces: &Traces) {
    let (began, mut all) = (Instant::now(), 0);
    loop {
        match traces.index().await.unwrap() {
            0 => break,
            some => all += some,
        }
    }
    let took = began.elapsed().as_secs_f64();
    println!("{name}: {all} rows indexed in {took:.1} s, {:.0} a second", all as f64 / took);
}

async fn measure(name: &str, store: &Store, count: usize) {
    let traces = store.traces();
    let burst = count / 10;
    if traces.list(page()).await.unwrap().is_empty() {
        fill(name, &traces, 0, count - burst).await;
        index(name, &traces).await;
        fill(&format!("{name}, a burst"), &traces, count - burst, count).await;
        index(&format!("{name}, the burst"), &traces).await;
    }
    if std::env::var("THINK_BENCH_PART").is_ok_and(|part| part == "prune") {
        pruned(name, &traces, count).await;
        return erased(name, store, count).await;
    }
    lists(name, &traces, count).await;
    searches(name, &traces).await;
    timed(&format!("{name}: look-up by id"), 2_000, |call| {
        let (traces, id) = (traces.clone(), id(count / 2 + drawn(call, 7) % (count / 2)));
        async move { assert!(traces.get(&id).await.unwrap().is_some()) }
    })
    .await;
    pruned(name, &traces, count).await;
    erased(name, store, count).await;
}

fn page() -> TraceFilter {
    TraceFilter { limit: 50, ..TraceFilter::default() }
}

async fn lists(name: &str, traces: &Traces, count: usize) {
    timed(&format!("{name}: list the newest 50"), 200, |_| async {
        assert_eq!(traces.list(page()).await.unwrap().len(), 50);
    })
    .await;
    timed(&format!("{name}: list a session"), 200, |call| {
        let filter = TraceFilter { session: Some(format!("session-{call}")), ..page() };
        let traces = traces.clone();
        async move { assert!(!traces.list(filter).await.unwrap().is_empty()) }
    })
    .await;
    // The last sessions have their newest traces in the middle; nothing is behind them.
    let places = [("the first", count * 2, 60), ("from the middle", count - count / 100, 60)];
    for (what, before, found) in places.into_iter().chain([("behind the last", 1, 0)]) {
        for tenant in [None, Some("bench".to_owned())] {
            let whose = if tenant.is_some() { " of one key" } else { "" };
            timed(&format!("{name}: 60 sessions{whose}, {what}"), 100, |_| {
                let after = Some((before as u64, String::new()));
                let filter = TraceFilter { limit: 60, after, tenant: tenant.clone(), ..page() };
                let traces = traces.clone();
                async move { assert_eq!(traces.sessions(filter).await.unwrap().len(), found) }
            })
            .await;
        }
    }
}

async fn searches(name: &str, traces: &Traces) {
    use TraceText::{All, Thoughts};
    for (words, within) in [
        ("rare", All),
        ("rare", Thoughts),
        ("onein1000", All),
        ("onein100", All),
        ("onein30", All),
        ("onein30", Thoughts),
        ("parser", All),
        ("parser lantern", All),
        ("parser rare", All),
        ("onein30 onein100", All),
        ("lantern onein1000", Thoughts),
        ("parser nobody", All),
    ] {
        timed(&format!("{name}: search `{words}` in {within:?}"), 100, |call| {
            let (traces, is_there) = (traces.clone(), !words.contains("nobody"));
            let words = words.replace("rare", &format!("rare{call}"));
            // Not every rare word has met every other.
            let is_certain = !words.contains("parser rare");
            async move {
                let hits = traces.search(&words, within, page()).await.unwrap();
                assert!(!is_certain || hits.traces.is_empty() != is_there);
            }
        })
        .await;
    }
}

/// What a writer waits while the traces of a tenant are erased, whose words stand in one index with those of others.
async fn erased(name: &str, store: &Store, count: usize) {
    let (masker, gone) = (Masker::new(Tiers::REGISTERED, &[7; 32]), Tenant::named("gone").unwrap());
    let traces = store.traces();
    let new = 40 * count;
    let its = |at| NewTrace { tenant: gone.clone(), ..trace(new + at, &masker) };
    traces.add((0..20).map(its).collect()).await.unwrap();
    while traces.index().await.unwrap() > 0 {}
    let (erasing, tenant) = (store.clone(), gone.clone());
    let erasing = tokio::spawn(async move {
        let began = Instant::now();
        erasing.erase(&tenant).await.unwrap();
        began.elapsed()
    });
    let mut times = Vec::new();
    while !erasing.is_finished() {
        times.push(written(&traces, trace(new + 100 + times.len(), &masker)).await);
    }
    println!("{name}: 20 rows erased in {:.1} s", erasing.await.unwrap().as_secs_f64());
    report(&format!("{name}: a row written meanwhile"), times);
}

/// What a writer waits while a tenth of all is taken out.
async fn pruned(name: &str, traces: &Traces, count: usize) {
    // A tenth of those that are there; of a store that was kept some went before.
    let oldest = TraceFilter { limit: 1, ..TraceFilter::default() };
    let mut old = (count / 10) as u64;
    while traces.list(TraceFilter { until: Some(old), ..oldest.clone() }).await.unwrap().is_empty()
    {
        old += (count / 10) as u64;
    }
    // What a writer waits when nothing else is done says what the machine adds to it.
    let masker = Masker::new(Tiers::REGISTERED, &[7; 32]);
    let new = count + usize::try_from(old).unwrap() * 10;
    let mut times = Vec::new();
    for call in 0..3_000 {
        times.push(written(traces, trace(new + 10 * count + call, &masker)).await);
    }
    report(&format!("{name}: a row written while nothing else is done"), times);
    let pruning = tokio::spawn({
        let traces = traces.clone();
        async move {
            let began = Instant::now();
            (traces.prune_older_than(old).await.unwrap(), began.elapsed())
        }
    });
    let mut times = Vec::new();
    while !pruning.is_finished() {
        times.push(written(traces, trace(new + times.len(), &masker)).await);
    }
    let (gone, took) = pruning.await.unwrap();
    println!("{name}: {gone} rows pruned in {:.1} s", took.as_secs_f64());
    report(&format!("{name}: a row written meanwhile"), times);
}

/// How long a row takes, of one that comes every two milliseconds.
async fn written(traces: &Traces, one: NewTrace) -> Duration {
    tokio::time::sleep(Duration::from_millis(2)).await;
    let began = Instant::now();
    traces.add(vec![one]).await.unwrap();
    began.elapsed()
}

fn main() {
    let set = |name: &str| std::env::var(name).ok();
    let count = set("THINK_BENCH_TRACES").and_then(|it| it.parse().ok()).unwrap_or(1_000_000);
    let only = set("THINK_BENCH_ON");
    let wants = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap().block_on(async {
        let key = KeySource::Command(vec!["echo".into(), "0f".repeat(32)]);
        if wants("file") {
            let kept = set("THINK_BENCH_KEEP").map(std::path::PathBuf::from);
            let own = std::env::temp_dir().join(format!("think-traces-{}", std::process::id()));
            let folder = kept.clone().unwrap_or(own);
            let file = folder.join("bench.db");
            let store = Store::open(&Location::Sqlite(file.clone()), &key).await.unwrap();
            measure("file", &store, count).await;
            let size = std::fs::metadata(file).unwrap().len();
            println!("file: {} bytes for a trace", size / count as u64);
            drop(store);
            if kept.is_none() {
                drop(std::fs::remove_dir_all(&folder));
            }
        }
        if wants("server") {
            on_server(&key, count).await;
        }
    });
}

async fn on_server(key: &KeySource, count: usize) {
    let base = std::env::var("THINKTHROUGH_POSTGRES");
    let base = base.unwrap_or_else(|_| "postgres://postgres@127.0.0.1:5432".to_owned());
    let admin = tokio_postgres::connect(&format!("{base}/postgres"), tokio_postgres::NoTls).await;
    let Ok((admin, connection)) = admin else {
        println!("server: skipped, because none answers at {base}");
        return;
    };
    tokio::spawn(connection);
    let kept = std::env::var("THINK_BENCH_KEEP").ok();
    let name = kept.clone().unwrap_or_else(|| format!("think_traces_{}", std::process::id()));
    // One that was kept is there already.
    drop(admin.batch_execute(&format!("CREATE DATABASE {name}")).await);
    let store = Store::open(&Location::Postgres(format!("{base}/{name}")), key).await.unwrap();
    measure("server", &store, count).await;
    drop(store);
    if kept.is_none() {
        admin.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.unwrap();
    }
}

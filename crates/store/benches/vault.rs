//! How long look-ups and appends take with a million records, on a file and on a server.
//!
//! A look-up asks for everything that a conversation of 100 messages asks for: two keys for each of its 50 answers, and
//! a few that nothing has. Percentiles matter here, so that each call is timed by itself; the same keys are never asked
//! for twice in a row. Run with `cargo bench -p thinkthrough-store --bench vault`; `THINK_BENCH_RECORDS` says how many
//! records, and `THINKTHROUGH_POSTGRES` which server.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement that breaks is to be seen"
)]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use thinkthrough_core::content::{Block, Content, Origin, Speaker, Thinking};
use thinkthrough_core::plane::{Place, Tenant};
use thinkthrough_core::restore::{Delivery, Head, Kept, Key, Keys, Link, Version};
use thinkthrough_store::{KeySource, Location, Meta, Search, Store, Within};

/// Answers of a conversation.
const ANSWERS: usize = 50;
/// Calls that are timed.
const CALLS: usize = 2_000;

fn key(conversation: usize, answer: usize, of: &str) -> Key {
    // As evenly spread as digests are, and the same each time.
    Key::stored(*blake3::hash(format!("{conversation} {answer} {of}").as_bytes()).as_bytes())
}

fn record(conversation: usize, answer: usize) -> (Head, Kept) {
    let one = |of: &str| key(conversation, answer, of);
    let id = |answer: usize| format!("{conversation:012}-{answer:04}");
    let before = if answer == 0 { Link::Root } else { Link::Record(id(answer - 1)) };
    let origin = Origin {
        provider: "provider".into(),
        endpoint: "https://api.provider.example/v1".into(),
        model: "a-thinking-model".into(),
        account: None,
    };
    let keys = Keys {
        chain: one("chain"),
        fragments: Vec::new(),
        tail: one("tail"),
        calls: None,
        tickets: Vec::new(),
        request: None,
    };
    let head = Head {
        id: id(answer),
        version: Version::CURRENT,
        origin,
        system: one("system"),
        tools: one("tools"),
        hint: None,
        root: key(conversation, 0, "root"),
        keys,
        calls: Vec::new(),
        parent: before.clone(),
        follows: before,
        thought: None,
        delivery: Delivery::Full,
        at: 1_700_000_000_000,
    };
    let thought = "The user wants to know why, so I go through it step by step. ".repeat(16);
    (head, Kept { blocks: vec![Block::Thinking(Thinking::new(thought, "reasoning_content"))] })
}

fn asked(conversation: usize) -> Vec<Key> {
    let answers = (0..ANSWERS)
        .flat_map(|answer| [key(conversation, answer, "chain"), key(conversation, answer, "tail")]);
    let unknown = (0..5).map(|n| key(conversation, n, "nothing has this"));
    answers.chain(unknown).collect()
}

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index of a few thousand"
        )]
        let index = ((times.len() - 1) as f64 * share) as usize;
        times[index].as_secs_f64() * 1e6
    };
    println!(
        "{name:<52} p50 {:>9.1}  p90 {:>9.1}  p99 {:>9.1}  p99.9 {:>9.1}  slowest {:>9.1} microseconds, {} calls",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0),
        times.len()
    );
}

/// Times `calls` runs of `work`, which gets the number of the run.
async fn timed<F: Future>(name: &str, calls: usize, mut work: impl FnMut(usize) -> F) {
    let mut times = Vec::with_capacity(calls);
    for call in 0..calls {
        let began = Instant::now();
        black_box(work(call).await);
        times.push(began.elapsed());
    }
    report(name, times);
}

async fn measure(name: &str, store: &Store, records: usize) {
    let tenant = Tenant::named("bench").unwrap();
    let vault = store.vault(&tenant);
    let conversations = records / ANSWERS;
    let began = Instant::now();
    for conversation in 0..conversations {
        vault
            .append((0..ANSWERS).map(|answer| record(conversation, answer)).collect())
            .await
            .unwrap();
    }
    let filled = began.elapsed();
    println!("{name}: {records} records in {:.1} s", filled.as_secs_f64());
    // Far apart, in an order that repeats only when all were asked for.
    let spread = |call: usize| call * 7_919 % conversations;
    timed(&format!("{name}: look-up of 105 keys, any conversation"), CALLS, |call| {
        let (vault, keys) = (vault.clone(), asked(spread(call)));
        async move { assert_eq!(vault.lookup(&keys).await.unwrap().found.len(), ANSWERS) }
    })
    .await;
    timed(&format!("{name}: look-up of 105 keys, one of ten"), CALLS, |call| {
        let (vault, keys) = (vault.clone(), asked(call % 10));
        async move { assert_eq!(vault.lookup(&keys).await.unwrap().found.len(), ANSWERS) }
    })
    .await;
    timed(&format!("{name}: look-up of 105 keys that nothing has"), CALLS, |call| {
        let (vault, keys) = (vault.clone(), asked(records + call));
        async move { assert!(vault.lookup(&keys).await.unwrap().found.is_empty()) }
    })
    .await;
    let looked = vault.lookup(&asked(1)).await.unwrap();
    timed(&format!("{name}: opening one thought of 1 KB"), CALLS, |call| {
        let found = &looked.found[call % looked.found.len()];
        let place = Place {
            tenant: &tenant,
            record: &found.head.id,
            origin: &found.head.origin,
            position: 0,
        };
        let opened = found.kept.open(&place, &looked.opener).unwrap();
        async move { opened }
    })
    .await;
    timed(&format!("{name}: append of one record, one after the other"), CALLS, |call| {
        let (vault, record) = (vault.clone(), record(conversations + call, 0));
        async move { vault.append(vec![record]).await.unwrap() }
    })
    .await;
    timed(&format!("{name}: append of one record, 64 at once"), CALLS / 64, |call| {
        let all = (0..64).map(|n| {
            let (vault, record) = (vault.clone(), record(2 * conversations + call * 64 + n, 0));
            tokio::spawn(async move { vault.append(vec![record]).await.unwrap() })
        });
        let all: Vec<_> = all.collect();
        async move {
            for one in all {
                one.await.unwrap();
            }
        }
    })
    .await;
    conversations_of(name, store).await;
}

async fn conversations_of(name: &str, store: &Store) {
    let conversations = store.conversations(&Tenant::local());
    let text =
        "What a person and a model say to each other in a message of some length. ".repeat(8);
    let said: Vec<Content> = (0..100).map(|_| Content::text(Speaker::Ai, text.clone())).collect();
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(conversations.begin(&Meta::default(), &said).await.unwrap());
    }
    let (conversations, ids, said) = (&conversations, &ids, &said);
    timed(&format!("{name}: append of a message, power-safe"), 500, |call| async move {
        conversations.append(&ids[call % ids.len()], &said[..1]).await.unwrap()
    })
    .await;
    timed(&format!("{name}: load of 100 messages"), 500, |call| async move {
        conversations.load(&ids[call % ids.len()]).await.unwrap()
    })
    .await;
    timed(&format!("{name}: search through 2,500 messages"), 20, |_| async move {
        let text = "nowhere to be found".to_owned();
        let search = Search { text, within: Within::All, only: None };
        conversations.search(&search, |_| true).await.unwrap();
    })
    .await;
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn main() {
    let records = std::env::var("THINK_BENCH_RECORDS").ok().and_then(|it| it.parse().ok());
    let records: usize = records.unwrap_or(1_000_000);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap().block_on(async {
        let folder =
            Folder(std::env::temp_dir().join(format!("think-bench-{}", std::process::id())));
        let key = KeySource::Command(vec!["echo".into(), "0f".repeat(32)]);
        let file = Location::Sqlite(folder.0.join("bench.db"));
        let store = Store::open(&file, &key).await.unwrap();
        measure("file", &store, records).await;
        let size = std::fs::metadata(folder.0.join("bench.db")).unwrap().len();
        println!("file: {} bytes for a record", size / records as u64);
        drop(store);
        drop(folder);
        on_server(&key, records).await;
    });
}

async fn on_server(key: &KeySource, records: usize) {
    let base = std::env::var("THINKTHROUGH_POSTGRES");
    let base = base.unwrap_or_else(|_| "postgres://postgres@127.0.0.1:5432".to_owned());
    let admin = tokio_postgres::connect(&format!("{base}/postgres"), tokio_postgres::NoTls).await;
    let Ok((admin, connection)) = admin else {
        println!("server: skipped, because none answers at {base}");
        return;
    };
    tokio::spawn(connection);
    let name = format!("think_bench_{}", std::process::id());
    admin.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let location = Location::Postgres(format!("{base}/{name}"));
    let store = Store::open(&location, key).await.unwrap();
    measure("server", &store, records).await;
    drop(store);
    admin.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.unwrap();
}

//! How long look-ups and appends take with a million records, on a file and on a server.
//!
//! A look-up asks for everything that a conversation of 100 messages asks for: a key for each of its 50 answers, and
//! a few that nothing has. Percentiles matter here, so that each call is timed by itself; the same keys are never asked
//! for twice in a row. Run with `cargo bench -p thinkthrough-store --bench vault`; `THINK_BENCH_RECORDS` says how many
//! records, and `THINKTHROUGH_POSTGRES` which server. `THINK_BENCH_KEEP` names a folder: the stores are left there, and
//! the next run goes on with them; `THINK_BENCH_ON` takes only one of `file` and `server`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a measurement that breaks is to be seen"
)]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use thinkthrough_core::content::{Block, Content, Origin, Speaker, Thinking};
use thinkthrough_core::plane::{Place, Tenant};
use thinkthrough_core::restore::{Delivery, Head, Kept, Key, Keys, Link, Seen, Version};
use thinkthrough_store::{KeySource, Location, Meta, Search, Store, StoreError, Within};

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
    // As the gateway's: a time, and behind it what is drawn at random.
    let id = |answer: usize| {
        let bytes = *key(conversation, answer, "id").bytes();
        let random: String = bytes.iter().take(10).map(|byte| format!("{byte:02x}")).collect();
        format!("{:012x}{random}", conversation >> 20)
    };
    let before = if answer == 0 { Link::Root } else { Link::Record(id(answer - 1)) };
    let origin = Origin {
        provider: "provider".into(),
        endpoint: "https://api.provider.example/v1".into(),
        model: "a-thinking-model".into(),
        account: None,
    };
    let keys = Keys { answered: one("answered"), anchors: vec![one("anchor")], thought: None };
    let seen = Seen { text: None, copy: None, calls: Vec::new(), content: one("content") };
    let head = Head {
        id: id(answer),
        version: Version::CURRENT,
        origin,
        hint: None,
        root: key(conversation, 0, "root"),
        keys,
        seen,
        prefix: one("prefix"),
        parent: before.clone(),
        follows: before,
        ancestors: Vec::new(),
        earlier: Some(Vec::new()),
        thought: None,
        words: None,
        seals: Vec::new(),
        delivery: Delivery::Full,
        at: 1_700_000_000_000,
    };
    let thought = "The user wants to know why, so I go through it step by step. ".repeat(16);
    (head, Kept { blocks: vec![Block::Thinking(Thinking::new(thought, "reasoning_content"))] })
}

fn asked(conversation: usize) -> Vec<Key> {
    let answers = (0..ANSWERS).map(|answer| key(conversation, answer, "anchor"));
    let unknown = (0..5).map(|n| key(conversation, n, "nothing has this"));
    answers.chain(unknown).collect()
}

fn report(name: &str, mut times: Vec<Duration>, cpu: Duration) {
    times.sort_unstable();
    let cpu = cpu.as_secs_f64() * 1e6 / f64::from(u32::try_from(times.len()).unwrap());
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
        "{name:<52} p50 {:>9.1}  p90 {:>9.1}  p99 {:>9.1}  p99.9 {:>9.1}  slowest {:>9.1}  CPU {cpu:>7.1} microseconds, {} calls",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0),
        times.len()
    );
}

/// What all threads of this process have worked so far; what a server works for it is not in it.
fn worked() -> Duration {
    let clock = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(clock.tv_sec.try_into().unwrap(), clock.tv_nsec.try_into().unwrap())
}

/// Times `calls` runs of `work`, which gets the number of the run. What it needs is made before its time begins.
async fn timed<F: Future>(name: &str, calls: usize, mut work: impl FnMut(usize) -> F) {
    let mut times = Vec::with_capacity(calls);
    let mut cpu = Duration::ZERO;
    for call in 0..calls {
        let one = work(call);
        let (began, before) = (Instant::now(), worked());
        black_box(one.await);
        times.push(began.elapsed());
        cpu += worked() - before;
    }
    report(name, times, cpu);
}

async fn measure(name: &str, store: &Store, records: usize) {
    let tenant = Tenant::named("bench").unwrap();
    let vault = store.vault(&tenant);
    let conversations = records / ANSWERS;
    let began = Instant::now();
    let is_filled = vault.lookup(&asked(conversations - 1)).await.unwrap().found.len() == ANSWERS;
    let missing = if is_filled { 0 } else { conversations };
    for conversation in 0..missing {
        vault
            .append((0..ANSWERS).map(|answer| record(conversation, answer)).collect())
            .await
            .unwrap();
    }
    let filled = began.elapsed();
    println!("{name}: {} records in {:.1} s", missing * ANSWERS, filled.as_secs_f64());
    // Far apart, in an order that repeats only when all were asked for.
    let spread = |call: usize| call * 7_919 % conversations;
    timed(&format!("{name}: look-up of 55 keys, any conversation"), CALLS, |call| {
        let (vault, keys) = (vault.clone(), asked(spread(call)));
        async move { assert_eq!(vault.lookup(&keys).await.unwrap().found.len(), ANSWERS) }
    })
    .await;
    timed(&format!("{name}: look-up of 55 keys, one of ten"), CALLS, |call| {
        let (vault, keys) = (vault.clone(), asked(call % 10));
        async move { assert_eq!(vault.lookup(&keys).await.unwrap().found.len(), ANSWERS) }
    })
    .await;
    // A store that was kept has the answers of the runs before.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let new = usize::try_from(now).unwrap() << 20;
    // As a gateway does it, where answers end all the time.
    timed(&format!("{name}: look-up of 55 keys behind an append"), CALLS, |call| {
        let (vault, keys) = (vault.clone(), asked(spread(call + CALLS)));
        let append = vault.append(vec![record(new + (1 << 19) + call, 0)]);
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(append)).unwrap();
        async move { assert_eq!(vault.lookup(&keys).await.unwrap().found.len(), ANSWERS) }
    })
    .await;
    timed(&format!("{name}: look-up of 55 keys that nothing has"), CALLS, |call| {
        let (vault, keys) = (vault.clone(), asked(records + call));
        async move { assert!(vault.lookup(&keys).await.unwrap().found.is_empty()) }
    })
    .await;
    let looked = vault.lookup(&asked(1)).await.unwrap();
    timed(&format!("{name}: opening one thought of 1 KB"), CALLS, |call| {
        let (found, tenant) = (&looked.found[call % looked.found.len()], &tenant);
        let place =
            Place { tenant, record: &found.head.id, origin: &found.head.origin, position: 0 };
        let opener = &looked.opener;
        async move { found.kept.open(&place, opener).unwrap() }
    })
    .await;
    timed(&format!("{name}: append of one record, one after the other"), CALLS, |call| {
        let (vault, record) = (vault.clone(), record(new + call, 0));
        async move { vault.append(vec![record]).await.unwrap() }
    })
    .await;
    timed(&format!("{name}: append of one record, 64 at once"), CALLS / 8, |call| {
        let records: Vec<_> = (0..64).map(|n| record(new + CALLS + call * 64 + n, 0)).collect();
        let vault = vault.clone();
        async move {
            let append = |record| {
                let vault = vault.clone();
                tokio::spawn(async move { vault.append(vec![record]).await.unwrap() })
            };
            for one in records.into_iter().map(append).collect::<Vec<_>>() {
                one.await.unwrap();
            }
        }
    })
    .await;
    handed_over(name, store, new + (1 << 18)).await;
    conversations_of(name, store).await;
}

/// As a gateway keeps records: the time is what an answer waits, the CPU all that it takes until the database has them.
async fn handed_over(name: &str, store: &Store, new: usize) {
    let vault = store.vault(&Tenant::named("bench").unwrap());
    let (mut times, records) = (Vec::with_capacity(CALLS), (0..CALLS).map(|n| record(new + n, 0)));
    let records: Vec<(Head, Kept)> = records.collect();
    store.flush().await;
    let before = worked();
    for record in records {
        let began = Instant::now();
        let lost = Box::new(|error: &StoreError| panic!("{error}"));
        let commit = vault.hand_over(vec![record], lost).await.unwrap();
        if let Some(commit) = commit {
            commit.done().await.unwrap();
        }
        times.push(began.elapsed());
    }
    store.flush().await;
    report(
        &format!("{name}: hand over of one record, one after the other"),
        times,
        worked() - before,
    );
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

struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept {
            drop(std::fs::remove_dir_all(&self.path));
        }
    }
}

fn main() {
    let set = |name: &str| std::env::var(name).ok();
    let records = set("THINK_BENCH_RECORDS").and_then(|it| it.parse().ok());
    let records: usize = records.unwrap_or(1_000_000);
    let kept = set("THINK_BENCH_KEEP").map(PathBuf::from);
    let only = set("THINK_BENCH_ON");
    let wants = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap().block_on(async {
        let key = KeySource::Command(vec!["echo".into(), "0f".repeat(32)]);
        if wants("file") {
            in_file(&key, records, kept.clone()).await;
        }
        if wants("server") {
            on_server(&key, records, kept.is_some()).await;
        }
    });
}

async fn in_file(key: &KeySource, records: usize, kept: Option<PathBuf>) {
    let own = std::env::temp_dir().join(format!("think-bench-{}", std::process::id()));
    let folder = Folder { is_kept: kept.is_some(), path: kept.unwrap_or(own) };
    let file = folder.path.join("bench.db");
    let began = Instant::now();
    let store = Store::open(&Location::Sqlite(file.clone()), key).await.unwrap();
    println!("file: opened in {:.1} s", began.elapsed().as_secs_f64());
    measure("file", &store, records).await;
    let size = std::fs::metadata(file).unwrap().len();
    println!("file: {} bytes for a record", size / records as u64);
}

async fn on_server(key: &KeySource, records: usize, is_kept: bool) {
    let base = std::env::var("THINKTHROUGH_POSTGRES");
    let base = base.unwrap_or_else(|_| "postgres://postgres@127.0.0.1:5432".to_owned());
    let admin = tokio_postgres::connect(&format!("{base}/postgres"), tokio_postgres::NoTls).await;
    let Ok((admin, connection)) = admin else {
        println!("server: skipped, because none answers at {base}");
        return;
    };
    tokio::spawn(connection);
    let own = format!("think_bench_{}", std::process::id());
    let name = if is_kept { "think_bench_kept".to_owned() } else { own };
    let there = "SELECT 1 FROM pg_database WHERE datname = $1";
    if admin.query(there, &[&name]).await.unwrap().is_empty() {
        admin.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    }
    let location = Location::Postgres(format!("{base}/{name}"));
    let began = Instant::now();
    let store = Store::open(&location, key).await.unwrap();
    println!("server: opened in {:.1} s", began.elapsed().as_secs_f64());
    measure("server", &store, records).await;
    drop(store);
    if !is_kept {
        admin.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.unwrap();
    }
}

//! Searching a server's traces: however frequent a word is, the newest that have it are found, in their order.

use super::Folder;
use thinkthrough_store::{TraceFilter, TraceText};

/// More than are looked at before the whole index is asked.
const TRACES: u64 = 70_000;

/// A word, whether it is thought, and which traces have it, by their number.
type Word = (&'static str, bool, fn(u64) -> bool);

const WORDS: [Word; 6] = [
    ("every", true, |_| true),
    ("twentieth", true, |n| n.is_multiple_of(20)),
    ("middle", true, |n| n.is_multiple_of(60)),
    ("rare", true, |n| n.is_multiple_of(7_000)),
    ("old", true, |n| n < 1_500),
    ("said", false, |n| n.is_multiple_of(300)),
];

async fn fill(folder: &Folder) {
    let column = |is_thought| {
        let word = |(at, (word, ..)): (usize, &(&str, _, _))| match at {
            0 => format!("'{word}'"),
            1 => format!("CASE WHEN n % 20 = 0 THEN ' {word}' ELSE '' END"),
            2 => format!("CASE WHEN n % 60 = 0 THEN ' {word}' ELSE '' END"),
            3 => format!("CASE WHEN n % 7000 = 0 THEN ' {word}' ELSE '' END"),
            4 => format!("CASE WHEN n < 1500 THEN ' {word}' ELSE '' END"),
            _ => format!("CASE WHEN n % 300 = 0 THEN ' {word}' ELSE '' END"),
        };
        let words = WORDS.iter().enumerate().filter(|(_, it)| it.1 == is_thought).map(word);
        words.collect::<Vec<_>>().join(" || ")
    };
    let sql = format!(
        "INSERT INTO reasoning_traces (id, tenant, session_key, run_id, model, provider, \
             reasoning_text, response_text, created_at, words) \
         SELECT lpad(n::text, 6, '0'), CASE WHEN n % 3 = 0 THEN 'alice' ELSE 'bob' END, \
             's' || n % 50, '', 'm' || n % 2, 'p', thought, answer, n, \
             setweight(to_tsvector('simple', thought), 'A') || \
             setweight(to_tsvector('simple', answer), 'B') \
         FROM (SELECT n, {} AS thought, {} AS answer FROM generate_series(0, {}) AS n) AS it",
        column(true),
        column(false),
        TRACES - 1
    );
    folder.server.as_ref().unwrap().execute(&[&sql, "ANALYZE reasoning_traces"]).await;
}

#[tokio::test]
async fn the_newest_with_a_word_are_found_however_frequent_it_is() {
    let Some(folder) = Folder::on_server().await else { return };
    let store = folder.open().await.unwrap();
    fill(&folder).await;
    let traces = store.traces();
    let after = |n: u64| Some((n, format!("{n:06}")));
    let none = || TraceFilter { limit: 40, ..TraceFilter::default() };
    let some = |text: &str| Some(text.to_owned());
    type Wanted = fn(u64) -> bool;
    let filters: [(TraceFilter, Wanted); 6] = [
        (none(), |_| true),
        (TraceFilter { after: after(65_000), ..none() }, |n| n < 65_000),
        (TraceFilter { tenant: some("alice"), ..none() }, |n| n.is_multiple_of(3)),
        (TraceFilter { session: some("s20"), ..none() }, |n| n % 50 == 20),
        (TraceFilter { model: some("m1"), since: Some(30_000), ..none() }, |n| {
            n % 2 == 1 && n >= 30_000
        }),
        (TraceFilter { until: Some(150), ..none() }, |n| n < 150),
    ];
    let everywhere = [TraceText::All, TraceText::Thoughts, TraceText::Answers];
    for (at, (filter, wanted)) in filters.iter().enumerate() {
        for (one_at, (one, one_is_thought, has_one)) in WORDS.into_iter().enumerate() {
            for (other, other_is_thought, has_other) in WORDS.into_iter().skip(one_at) {
                for within in everywhere.into_iter().take(if at == 0 { 3 } else { 1 }) {
                    let counts = |is_thought| match within {
                        TraceText::All => true,
                        TraceText::Thoughts => is_thought,
                        TraceText::Answers => !is_thought,
                    };
                    let is_hit = |n: &u64| {
                        counts(one_is_thought)
                            && counts(other_is_thought)
                            && has_one(*n)
                            && has_other(*n)
                            && wanted(*n)
                    };
                    let expected: Vec<u64> =
                        (0..TRACES).rev().filter(is_hit).take(filter.limit as usize).collect();
                    let words = format!("{one} {other}");
                    let hits = traces.search(&words, within, filter.clone()).await.unwrap();
                    let found: Vec<u64> =
                        hits.traces.iter().map(|it| it.numbers.created_at).collect();
                    assert_eq!(found, expected, "{words} in {within:?} of {filter:?}");
                }
            }
        }
    }
}

//! Searches traces for words.
//!
//! The index knows which traces have a word, but not which of them are newest. So a frequent word is searched best
//! among the newest traces, and a rare one in the index. The frequency is unknown, so the search takes steps: first
//! the newest traces, then the index if it has few hits, then the index for a longer recent time, then all of the
//! index. Each step reads a bounded number of traces, as long as the words are spread over time.

use super::traces::{NEWEST_FIRST, where_all, whose};
use super::{Postgres, Value, get};
use crate::error::StoreError;
use crate::row::{TraceRow, conditions};
use crate::trace::{TraceFilter, TraceText};
use crate::word;
use tokio_postgres::types::Type;

/// Number of newest traces to read one by one.
const WALKED: u32 = 2_000;
/// If the index has at most this many hits, all are read to find the newest.
const FEW: i64 = 1_000;
/// The third step searches the index among this many times [`WALKED`] newest traces.
const NEAR: i64 = 30;

impl Postgres {
    /// Finds matching traces with all these words, newest first.
    pub(crate) async fn search_traces(
        &self,
        words: Vec<String>,
        within: TraceText,
        filter: TraceFilter,
    ) -> Result<Vec<TraceRow>, StoreError> {
        let Some(words) = Sought::of(&words, within) else { return self.traces(filter).await };
        let is_enough = |found: &Vec<TraceRow>| found.len() >= filter.limit as usize;
        let found = self.walked(&words, &filter).await?;
        if is_enough(&found) {
            return Ok(found);
        }
        let (found, all) = self.indexed(&words, None, FEW + 1, &filter).await?;
        if all <= FEW {
            return Ok(found);
        }
        if let Some(since) = self.near(&filter).await? {
            let (found, _) = self.indexed(&words, Some(since), i64::MAX, &filter).await?;
            if is_enough(&found) {
                return Ok(found);
            }
        }
        Ok(self.indexed(&words, None, i64::MAX, &filter).await?.0)
    }

    /// The hits among the newest traces.
    async fn walked(
        &self,
        words: &Sought,
        filter: &TraceFilter,
    ) -> Result<Vec<TraceRow>, StoreError> {
        let (near, all) = (conditions(&span(filter)), conditions(filter));
        let (mut values, holds) = words.condition();
        let near = where_all(&near, &mut values, Vec::new());
        let all = where_all(&all, &mut values, vec![holds]);
        // The filter applies after the limit, so that the number of rows read is bounded.
        let sql = format!(
            "SELECT {} FROM (SELECT * FROM reasoning_traces WHERE {near} {NEWEST_FIRST} \
             LIMIT {WALKED}) AS reasoning_traces WHERE {all} {NEWEST_FIRST} LIMIT {}",
            TraceRow::columns(filter.brief),
            filter.limit
        );
        self.rows(filter, &sql, &values).await
    }

    /// The time since which there are about [`NEAR`] times [`WALKED`] traces, if they come at the recent rate.
    /// Counting them would take as long as reading them.
    async fn near(&self, filter: &TraceFilter) -> Result<Option<i64>, StoreError> {
        let near = conditions(&span(filter));
        let mut values: Vec<Value<'_>> = Vec::new();
        let near = where_all(&near, &mut values, Vec::new());
        let sql = format!(
            "SELECT max(created_at) - {NEAR} * (max(created_at) - min(created_at)) FROM (\
                 SELECT created_at FROM reasoning_traces WHERE {near} \
                 ORDER BY created_at DESC LIMIT {WALKED}) AS newest"
        );
        let rows = self.query_for(whose(filter), &sql, &values).await?;
        rows.first().map_or(Ok(None), |row| get(row, 0, &self.inner.at))
    }

    /// The newest hits in the index from this time on, and the number of hits. Reads at most `most` hits.
    async fn indexed(
        &self,
        words: &Sought,
        since: Option<i64>,
        most: i64,
        filter: &TraceFilter,
    ) -> Result<(Vec<TraceRow>, i64), StoreError> {
        let all = conditions(filter);
        let (mut values, holds) = words.condition();
        let mut first = vec![holds];
        if let Some(since) = &since {
            values.push((since, Type::INT8));
            first.push(format!("created_at >= ${}", values.len()));
        }
        let all = where_all(&all, &mut values, first);
        // Without an order the server cannot walk through the newest rows, and a separate limit does not affect its
        // plan, so it uses the index.
        let sql = format!(
            "WITH hit AS MATERIALIZED (SELECT id, created_at FROM reasoning_traces WHERE {all}), \
             looked AS MATERIALIZED (SELECT * FROM hit LIMIT {most}) \
             SELECT {}, (SELECT count(*) FROM looked) FROM reasoning_traces \
             WHERE id = ANY(ARRAY(SELECT id FROM looked {NEWEST_FIRST} LIMIT {})) {NEWEST_FIRST}",
            TraceRow::columns(filter.brief),
            filter.limit
        );
        let rows = self.query_for(whose(filter), &sql, &values).await?;
        let count = rows.first().map_or(Ok(0), |row| get(row, COUNT, &self.inner.at))?;
        let found = rows.iter().map(|row| self.trace_of(row));
        Ok((found.collect::<Result<_, _>>()?, count))
    }
}

/// The column of the number of hits, after the columns of a trace.
const COUNT: usize = 20;

/// The part of a filter that a scan in the order of time can check.
fn span(filter: &TraceFilter) -> TraceFilter {
    let TraceFilter { tenant, until, after, .. } = filter.clone();
    TraceFilter { tenant, until, after, ..TraceFilter::default() }
}

/// A query for words.
struct Sought {
    /// The query in the server's syntax.
    words: String,
    /// Texts that a trace must contain literally. Each of their letters is indexed as a word, so the index does not
    /// know the order of the letters.
    texts: Vec<String>,
    within: TraceText,
}

impl Sought {
    /// A query for all of these words. `None` without words.
    fn of(words: &[String], within: TraceText) -> Option<Sought> {
        // Without a weight the index alone decides whether a trace has a word.
        let weight = match within {
            TraceText::All => "",
            TraceText::Answers => ":B",
            TraceText::Thoughts => ":A",
        };
        let quoted =
            |word: &str| format!("'{}'{weight}", word.replace('\\', "\\\\").replace('\'', "''"));
        let all = |word: &String| {
            let parts: Vec<String> = word::words(word).iter().map(|part| quoted(part)).collect();
            if parts.is_empty() { quoted(word) } else { parts.join(" & ") }
        };
        let words = words.iter().map(|word| word.replace('\0', "")).filter(|word| !word.is_empty());
        let words: Vec<String> = words.collect();
        let is_apart = |word: &&String| word.chars().filter(|it| word::is_apart(*it)).count() > 1;
        let texts = words.iter().filter(is_apart).map(|word| word.to_lowercase()).collect();
        let sought = words.iter().map(all).collect::<Vec<_>>().join(" & ");
        (!words.is_empty()).then_some(Sought { words: sought, texts, within })
    }

    /// The condition for a trace, and its values, which must be the first of the statement.
    fn condition(&self) -> (Vec<Value<'_>>, String) {
        let holds = "words @@ to_tsquery('simple', $1)";
        if self.texts.is_empty() {
            return (vec![(&self.words, Type::TEXT)], holds.to_owned());
        }
        let text = match self.within {
            TraceText::All => "reasoning_text || ' ' || response_text",
            TraceText::Answers => "response_text",
            TraceText::Thoughts => "reasoning_text",
        };
        let holds = format!(
            "{holds} AND (SELECT bool_and(strpos(lower({text}), sought) > 0) \
             FROM unnest($2) AS sought)"
        );
        (vec![(&self.words, Type::TEXT), (&self.texts, Type::TEXT_ARRAY)], holds)
    }
}

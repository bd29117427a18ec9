//! Searching for words in what models thought.
//!
//! The index of words knows which traces have a word, but not which of them are the newest: all of a frequent word would
//! have to be read, while of a rare one nothing would be found on the way through the newest. How frequent the words are
//! is found out by looking: at the newest traces themselves, then at what the index has if that is little, then at what it
//! has of more of the newest ones, then at all of it. Each step reads no more than a bounded number of traces, as long as
//! the words are spread over time.

use super::traces::{NEWEST_FIRST, where_all, whose};
use super::{Postgres, Value, get};
use crate::error::StoreError;
use crate::row::{TraceRow, conditions};
use crate::trace::{TraceFilter, TraceText};
use crate::word;
use tokio_postgres::types::Type;

/// So many of the newest traces are looked at one by one.
const WALKED: u32 = 2_000;
/// So many that hold the words are all read, to find the newest of them.
const FEW: i64 = 1_000;
/// Among so many times as many of the newest ones the index of words is asked next.
const NEAR: i64 = 30;

impl Postgres {
    /// Those that are wanted and hold all these words, the newest first.
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

    /// Those among the newest.
    async fn walked(
        &self,
        words: &Sought,
        filter: &TraceFilter,
    ) -> Result<Vec<TraceRow>, StoreError> {
        let (near, all) = (conditions(&span(filter)), conditions(filter));
        let (mut values, holds) = words.condition();
        let near = where_all(&near, &mut values, Vec::new());
        let all = where_all(&all, &mut values, vec![holds]);
        // What is asked for is looked for behind the limit, so that there is one.
        let sql = format!(
            "SELECT {} FROM (SELECT * FROM reasoning_traces WHERE {near} {NEWEST_FIRST} \
             LIMIT {WALKED}) AS reasoning_traces WHERE {all} {NEWEST_FIRST} LIMIT {}",
            TraceRow::columns(filter.brief),
            filter.limit
        );
        self.rows(filter, &sql, &values).await
    }

    /// From when on there are about [`NEAR`] times as many as were walked through, if they come as they did lately: to
    /// count them would take as long as to read them.
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

    /// Those that the index of words has from this time on, and how many it has; no more than `most` are looked at.
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
        // Without an order there is nothing to walk by, and a limit apart changes no plan, so that the server takes the
        // index.
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

/// Where the number of hits stands, behind the columns of a trace.
const COUNT: usize = 20;

/// What is walked through in the order of time without a look at anything else.
fn span(filter: &TraceFilter) -> TraceFilter {
    let TraceFilter { tenant, until, after, .. } = filter.clone();
    TraceFilter { tenant, until, after, ..TraceFilter::default() }
}

/// What is looked for.
struct Sought {
    /// In the server's language of search.
    words: String,
    /// Texts that have to stand in a trace as they are: their letters are words of their own, and the index does not say
    /// in what order all of them stand.
    texts: Vec<String>,
    within: TraceText,
}

impl Sought {
    /// All of these words; `None` where there are none.
    fn of(words: &[String], within: TraceText) -> Option<Sought> {
        // Without a weight the index alone says whether a trace has a word.
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

    /// The condition for a trace, and its values, which are the first of a statement.
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

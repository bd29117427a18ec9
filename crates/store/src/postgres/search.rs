//! Searching for words in what models thought.
//!
//! The index of words knows which traces have a word, but not which of them are the newest: all of a frequent word would
//! have to be read, while of a rare one nothing would be found on the way through the newest. How frequent the words are
//! is found out by looking: at the newest traces themselves, then at what the index has of more of them, then at all that
//! it has. Each step reads no more than a bounded number of traces, as long as the words are spread over time.

use super::traces::{NEWEST_FIRST, where_all, whose};
use super::{Postgres, Value, get};
use crate::error::StoreError;
use crate::row::{TraceRow, conditions};
use crate::trace::{TraceFilter, TraceText};
use tokio_postgres::types::Type;

/// So many of the newest traces are looked at one by one.
const WALKED: u32 = 2_000;
/// Among so many of the newest ones the index of words is asked next.
const NEAR: i64 = 60_000;

impl Postgres {
    /// Those that are wanted and hold all these words, the newest first.
    pub(crate) async fn search_traces(
        &self,
        words: Vec<String>,
        within: TraceText,
        filter: TraceFilter,
    ) -> Result<Vec<TraceRow>, StoreError> {
        let Some(words) = expression(&words, within) else { return self.traces(filter).await };
        let is_enough = |found: &Vec<TraceRow>| found.len() >= filter.limit as usize;
        let found = self.walked(&words, &filter).await?;
        if is_enough(&found) {
            return Ok(found);
        }
        if let Some(since) = self.near(&filter).await? {
            let found = self.indexed(&words, Some(since), &filter).await?;
            if is_enough(&found) {
                return Ok(found);
            }
        }
        self.indexed(&words, None, &filter).await
    }

    /// Those among the newest.
    async fn walked(
        &self,
        words: &String,
        filter: &TraceFilter,
    ) -> Result<Vec<TraceRow>, StoreError> {
        let (near, all) = (conditions(&span(filter)), conditions(filter));
        let mut values: Vec<Value<'_>> = vec![(words, Type::TEXT)];
        let near = where_all(&near, &mut values, Vec::new());
        let all = where_all(&all, &mut values, vec![HOLDS.to_owned()]);
        // What is asked for is looked for behind the limit, so that there is one.
        let sql = format!(
            "SELECT {} FROM (SELECT * FROM reasoning_traces WHERE {near} {NEWEST_FIRST} \
             LIMIT {WALKED}) AS reasoning_traces WHERE {all} {NEWEST_FIRST} LIMIT {}",
            TraceRow::columns(filter.brief),
            filter.limit
        );
        self.rows(filter, &sql, &values).await
    }

    /// From when on there are [`NEAR`] traces; `None` where there are no more than these.
    async fn near(&self, filter: &TraceFilter) -> Result<Option<i64>, StoreError> {
        let near = conditions(&span(filter));
        let mut values: Vec<Value<'_>> = Vec::new();
        let near = where_all(&near, &mut values, Vec::new());
        let sql = format!(
            "SELECT created_at FROM reasoning_traces WHERE {near} \
             ORDER BY created_at DESC LIMIT 1 OFFSET {NEAR}"
        );
        let rows = self.query_for(whose(filter), &sql, &values).await?;
        rows.first().map(|row| get(row, 0, &self.inner.at)).transpose()
    }

    /// Those that the index of words has from this time on.
    async fn indexed(
        &self,
        words: &String,
        since: Option<i64>,
        filter: &TraceFilter,
    ) -> Result<Vec<TraceRow>, StoreError> {
        let all = conditions(filter);
        let (mut values, mut first): (Vec<Value<'_>>, _) =
            (vec![(words, Type::TEXT)], vec![HOLDS.to_owned()]);
        if let Some(since) = &since {
            values.push((since, Type::INT8));
            first.push("created_at >= $2".to_owned());
        }
        let all = where_all(&all, &mut values, first);
        // Without an order there is nothing to walk by, so that the server takes the index.
        let sql = format!(
            "WITH hit AS MATERIALIZED (SELECT id, created_at FROM reasoning_traces WHERE {all}) \
             SELECT {} FROM reasoning_traces WHERE id = ANY(ARRAY(\
                 SELECT id FROM hit {NEWEST_FIRST} LIMIT {})) {NEWEST_FIRST}",
            TraceRow::columns(filter.brief),
            filter.limit
        );
        self.rows(filter, &sql, &values).await
    }
}

const HOLDS: &str = "words @@ to_tsquery('simple', $1)";

/// What is walked through in the order of time without a look at anything else.
fn span(filter: &TraceFilter) -> TraceFilter {
    let TraceFilter { tenant, until, after, .. } = filter.clone();
    TraceFilter { tenant, until, after, ..TraceFilter::default() }
}

/// The words in the server's language of search, each as text; `None` where there are none.
fn expression(words: &[String], within: TraceText) -> Option<String> {
    // Without a weight the index alone says whether a trace has a word.
    let weight = match within {
        TraceText::All => "",
        TraceText::Answers => ":B",
        TraceText::Thoughts => ":A",
    };
    let words = words.iter().map(|word| word.replace('\0', "")).filter(|word| !word.is_empty());
    let quoted =
        words.map(|word| format!("'{}'{weight}", word.replace('\\', "\\\\").replace('\'', "''")));
    let quoted: Vec<String> = quoted.collect();
    (!quoted.is_empty()).then(|| quoted.join(" & "))
}

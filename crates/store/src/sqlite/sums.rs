//! Sums of traces over time, for charts.
//!
//! Rows are added up as they are read. The database itself would sort all of them first, with their metadata and in
//! memory: 98 MiB for 300,000 traces.

use super::Sqlite;
use super::traces::{bounds, text, where_all};
use crate::error::StoreError;
use crate::row::{SumRow, conditions};
use crate::trace::{MOST_SUMMED, TraceFilter};
use rusqlite::{Row, params_from_iter};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Sums by start of the time bucket, model, provider, tenant and client, latest bucket first.
type Sums = BTreeMap<(Reverse<i64>, [String; 4]), [i64; 14]>;

impl Sqlite {
    /// Sums the matching traces.
    pub(crate) async fn trace_sums(
        &self,
        filter: TraceFilter,
        bucket: i64,
    ) -> Result<Vec<SumRow>, StoreError> {
        let all = conditions(&filter);
        let sql =
            format!("SELECT {} FROM reasoning_traces {}", columns(bucket), where_all(&[], &all));
        self.read(move |connection| {
            let (mut sums, mut statement) = (Sums::new(), connection.prepare(&sql)?);
            let mut rows = statement.query(params_from_iter(bounds(&all)))?;
            while let Some(row) = rows.next()? {
                add(&mut sums, row)?;
                // Drops the oldest sum. Later rows of it make it the oldest again, so no remaining sum is incomplete.
                if sums.len() > SumRow::MOST as usize {
                    sums.pop_last();
                }
            }
            Ok(sums.into_iter().map(sum).collect())
        })
        .await
    }
}

/// The columns of one trace, in the order of a sum.
fn columns(bucket: i64) -> String {
    let outcome = |name: &str| {
        format!("CASE WHEN json_valid(metadata) THEN json_extract(metadata, '$.{name}') END")
    };
    let number = |of: &str| format!("CAST({of} AS INTEGER)");
    let restored = number(&outcome("restored"));
    let columns = [
        format!("model, provider, tenant, CAST({} AS TEXT)", outcome("client")),
        number(&format!("(created_at / {bucket}) * {bucket}")),
        "1".to_owned(),
        "state <> 'whole'".to_owned(),
        number("reasoning_tokens"),
        number("total_tokens"),
        number("input_tokens"),
        number("cached_tokens"),
        number("duration_ms"),
        restored.clone(),
        number(&outcome("missed")),
        number(&outcome("ambiguous")),
        number(&outcome("dropped")),
        number("cost_micro_usd"),
        "cost_micro_usd IS NOT NULL".to_owned(),
        format!("CASE WHEN {restored} > 0 THEN {} END", number("cached_tokens")),
    ];
    columns.join(", ")
}

fn add(sums: &mut Sums, row: &Row<'_>) -> rusqlite::Result<()> {
    let names = [text(row, 0)?, text(row, 1)?, text(row, 2)?, text(row, 3)?];
    let began: Option<i64> = row.get(4)?;
    let sum = sums.entry((Reverse(began.unwrap_or_default()), names)).or_default();
    for (at, total) in (5..).zip(sum) {
        let number: Option<i64> = row.get(at)?;
        *total = total.saturating_add(number.unwrap_or_default()).min(MOST_SUMMED);
    }
    Ok(())
}

fn sum(((Reverse(began), names), numbers): ((Reverse<i64>, [String; 4]), [i64; 14])) -> SumRow {
    let mut all = [began; 15];
    all.iter_mut().skip(1).zip(numbers).for_each(|(place, number)| *place = number);
    SumRow { names, numbers: all }
}

//! Rows of a table of traces that another program made, until they are masked.

use super::{Postgres, get, trouble};
use crate::error::StoreError;
use crate::old_trace::{APART, COLUMNS, OldTrace, lacks};
use crate::row::TraceRow;
use tokio_postgres::types::Type;
use tokio_postgres::{Row, Transaction};

/// Reads what another program may have written for a time, where it is no number. The function goes with the transaction.
const TIME: &str =
    "CREATE FUNCTION thinkthrough_time(said TEXT) RETURNS NUMERIC LANGUAGE plpgsql AS $$
BEGIN
    RETURN 1000 * extract(epoch FROM said::timestamptz);
EXCEPTION WHEN OTHERS THEN
    RETURN 0;
END $$";
/// A number, as every type writes one.
const NUMBER: &str = "'^\\s*[-+]?\\d{1,18}(\\.\\d*)?(e[-+]?\\d{1,2})?\\s*$'";

/// Puts the rows of such a table aside before ours is made, whatever the other program wrote into them: no row is lost for
/// that, and none stops the others. A row without an id, or with one that another has, gets one of its own. A time is in
/// milliseconds, or a date; one that is still to come would never grow old, and is now.
pub(super) async fn put_aside(transaction: &Transaction<'_>, at: &str) -> Result<(), StoreError> {
    let failed = |error: tokio_postgres::Error| trouble(at, &error);
    let sql = "SELECT attname::text FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped \
               AND attrelid = to_regclass('reasoning_traces')";
    let rows = transaction.query_typed(sql, &[]).await.map_err(failed)?;
    if rows.is_empty() {
        return Ok(());
    }
    let names =
        rows.iter().map(|row| get(row, 0, at)).collect::<Result<Vec<String>, StoreError>>()?;
    if let Some(column) = COLUMNS.iter().find(|column| !names.iter().any(|name| name == *column)) {
        return Err(StoreError::Database { at: at.to_owned(), message: lacks(column) });
    }
    let all = [APART, APART_WALL, "SET LOCAL TimeZone TO 'UTC'", TIME, &told(), GONE].join(";\n");
    transaction.batch_execute(&all).await.map_err(failed)
}

/// Only who sees to all tenants reads them.
const APART_WALL: &str = "ALTER TABLE trace_unmasked ENABLE ROW LEVEL SECURITY;
    DROP POLICY IF EXISTS one_tenant ON trace_unmasked;
    CREATE POLICY one_tenant ON trace_unmasked USING
        ((SELECT current_setting('thinkthrough.tenant', true)) = '*')";
const GONE: &str = "DROP FUNCTION thinkthrough_time(TEXT); DROP TABLE reasoning_traces";

fn told() -> String {
    let [texts @ .., _, _, _, _, _] = COLUMNS;
    let text = |name: &str| format!("coalesce({name}::text, '')");
    let most = i64::MAX;
    let bounded = |it: &str, most: &str| format!("least(greatest({it}, 0), {most})::bigint");
    let is_number = |name: &str| format!("{name}::text ~* {NUMBER}");
    let number = |name: &str| {
        let value = bounded(&format!("{name}::text::numeric"), &most.to_string());
        format!("CASE WHEN {} THEN {value} ELSE 0 END", is_number(name))
    };
    let texts = texts.iter().skip(1).map(|name| text(name));
    let numbers = ["reasoning_tokens", "total_tokens", "duration_ms"].map(number);
    let all = texts.chain(numbers).chain([text("metadata")]).collect::<Vec<_>>().join(", ");
    let time = format!(
        "CASE WHEN {} THEN created_at::text::numeric ELSE thinkthrough_time(created_at::text) END",
        is_number("created_at")
    );
    let now = "trunc(1000 * extract(epoch FROM now()))";
    format!(
        "INSERT INTO trace_unmasked SELECT CASE \
             WHEN id::text <> '' AND row_number() OVER (PARTITION BY id::text) = 1 THEN id::text \
             ELSE 'without-id-' || md5(random()::text || clock_timestamp()::text || ctid::text) END, \
         {all}, {} FROM reasoning_traces",
        bounded(&time, now)
    )
}

impl Postgres {
    /// The next rows that are not masked yet.
    pub(crate) async fn unmasked_traces(&self, limit: u32) -> Result<Vec<OldTrace>, StoreError> {
        // Most databases have no such table, and whoever has no right to it is told so.
        let sql = "SELECT to_regclass('trace_unmasked') IS NOT NULL";
        let at = &self.inner.at;
        let is_there = self.first(sql, &[]).await?.map_or(Ok(false), |row| get(&row, 0, at))?;
        if !is_there {
            return Ok(Vec::new());
        }
        let sql = format!("SELECT {} FROM trace_unmasked ORDER BY id LIMIT $1", COLUMNS.join(", "));
        let values = [(&i64::from(limit) as _, Type::INT8)];
        let rows = self.query_on(&self.inner.writing, &sql, &values).await?;
        rows.iter().map(|row| old(row, at)).collect()
    }

    /// These are masked, and stand among the others.
    pub(crate) async fn forget_unmasked(&self, marks: Vec<String>) -> Result<(), StoreError> {
        let sql = "DELETE FROM trace_unmasked WHERE id = ANY($1)";
        let values = [(&marks as _, Type::TEXT_ARRAY)];
        self.query_on(&self.inner.writing, sql, &values).await.map(|_| ())
    }
}

fn old(row: &Row, at: &str) -> Result<OldTrace, StoreError> {
    let id: String = get(row, 0, at)?;
    let trace = TraceRow {
        id: id.clone(),
        session: get(row, 1, at)?,
        run: get(row, 2, at)?,
        model: get(row, 3, at)?,
        provider: get(row, 4, at)?,
        thought: get(row, 5, at)?,
        reasoning_tokens: get(row, 6, at)?,
        total_tokens: get(row, 7, at)?,
        duration: get(row, 8, at)?,
        metadata: get(row, 9, at)?,
        created_at: get(row, 10, at)?,
        ..TraceRow::default()
    };
    Ok(OldTrace { row: trace, mark: id })
}

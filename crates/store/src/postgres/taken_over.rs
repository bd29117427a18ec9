//! Rows of a table of traces that another program made, until they are masked. `005.sql` and `013.sql` put them aside.

use super::{Postgres, get};
use crate::error::StoreError;
use crate::old_trace::{COLUMNS, OldTrace};
use crate::row::TraceRow;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

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
    pub(crate) async fn forget_unmasked(&self, ids: Vec<String>) -> Result<(), StoreError> {
        let sql = "DELETE FROM trace_unmasked WHERE id = ANY($1)";
        let values = [(&ids as _, Type::TEXT_ARRAY)];
        self.query_on(&self.inner.writing, sql, &values).await.map(|_| ())
    }
}

fn old(row: &Row, at: &str) -> Result<OldTrace, StoreError> {
    Ok(OldTrace(TraceRow {
        id: get(row, 0, at)?,
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
    }))
}

//! Sealed items of traces in a file. A trigger deletes them with their trace.

use super::Sqlite;
use crate::error::StoreError;
use crate::row::{ItemsRow, SealedItems, TraceRow};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

impl Sqlite {
    /// Reads at most `most` bytes of the items of the traces with these ids. The tenant is not needed, because a file has no second wall.
    pub(crate) async fn trace_items(
        &self,
        _tenant: Option<String>,
        ids: Vec<String>,
        most: i32,
    ) -> Result<Vec<ItemsRow>, StoreError> {
        let sql = "SELECT id, reasoning_traces.tenant, metadata, key_id, substr(sealed, 1, ?2) \
                   FROM reasoning_traces LEFT JOIN trace_items ON trace = id WHERE id = ?1";
        self.read(move |connection| {
            let mut one = connection.prepare_cached(sql)?;
            let rows = ids.iter().map(|id| one.query_row(params![id, most], items).optional());
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?.into_iter().flatten().collect())
        })
        .await
    }
}

pub(super) fn add(connection: &Connection, row: &TraceRow) -> rusqlite::Result<()> {
    let Some(SealedItems { key_id, sealed }) = &row.items else { return Ok(()) };
    let sql = "INSERT INTO trace_items (trace, tenant, key_id, sealed) VALUES (?, ?, ?, ?) \
               ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute(params![row.id, row.tenant, key_id, sealed])?;
    Ok(())
}

fn items(row: &Row<'_>) -> rusqlite::Result<ItemsRow> {
    let (key_id, sealed): (Option<u32>, Option<Vec<u8>>) = (row.get(3)?, row.get(4)?);
    let items = key_id.zip(sealed).map(|(key_id, sealed)| SealedItems { key_id, sealed });
    // One damaged letter must not hide the items.
    let metadata = row.get_ref(2)?.as_bytes_or_null()?.unwrap_or_default();
    let metadata = String::from_utf8_lossy(metadata).into_owned();
    Ok(ItemsRow { trace: row.get(0)?, tenant: row.get(1)?, metadata, items })
}

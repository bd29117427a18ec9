//! Records of older gateways.

use super::records::record;
use super::{Safety, Sqlite};
use crate::error::StoreError;
use crate::row::{Anchored, OldRecord};
use rusqlite::{Connection, OptionalExtension as _, params};

impl Sqlite {
    /// Whether records of older gateways are left.
    pub(crate) async fn has_old_records(&self) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM record WHERE nr <= (SELECT max(up_to) FROM old_record)";
        self.read_at_hand(move |connection| connection.prepare_cached(sql)?.exists([])).await
    }

    /// The next of them that were not looked at for the keys that ids give, and that no provider refused.
    pub(crate) async fn old_records(&self, limit: u32) -> Result<Vec<OldRecord>, StoreError> {
        self.read_at_hand(move |connection| {
            let sql = "SELECT record.nr, thread, id, key_id, head, kept, tenant.name FROM record \
                       JOIN tenant ON tenant.nr = record.tenant \
                       WHERE record.nr > (SELECT max(anchored) FROM old_record) \
                       AND record.nr <= (SELECT max(up_to) FROM old_record) AND keys <> x'' \
                       ORDER BY record.nr LIMIT ?";
            let mut rows = connection.prepare_cached(sql)?;
            let rows = rows.query_map([limit], |row| {
                Ok(OldRecord { row: record(row)?, nr: row.get(0)?, tenant: row.get(6)? })
            })?;
            rows.collect()
        })
        .await
    }

    /// Writes their keys, and that all up to this one were looked at.
    pub(crate) async fn anchor_records(
        &self,
        anchored: Vec<Anchored>,
        up_to: i64,
    ) -> Result<(), StoreError> {
        self.write(Safety::Process, move |connection| {
            anchored.iter().try_for_each(|it| anchor(connection, it))?;
            let sql = "UPDATE old_record SET anchored = max(anchored, ?)";
            connection.prepare_cached(sql)?.execute([up_to]).map(|_| ())
        })
        .await
    }
}

fn anchor(connection: &Connection, it: &Anchored) -> rusqlite::Result<()> {
    let keys: Vec<u8> = it.keys.iter().flat_map(|key| key.to_le_bytes()).collect();
    // One that was refused meanwhile has none, and gets none.
    let sql = "UPDATE record SET head = ?, keys = CAST(keys || ? AS BLOB) \
               WHERE nr = ? AND keys <> x'' RETURNING tenant";
    let tenant: Option<i64> = connection
        .prepare_cached(sql)?
        .query_row(params![it.head, keys, it.nr], |row| row.get(0))
        .optional()?;
    let sql = "INSERT OR IGNORE INTO record_key (tenant, key, record) VALUES (?, ?, ?)";
    let mut insert = connection.prepare_cached(sql)?;
    for (tenant, key) in
        tenant.iter().flat_map(|tenant| it.keys.iter().map(move |key| (tenant, key)))
    {
        insert.execute(params![tenant, key, it.nr])?;
    }
    Ok(())
}

//! Records of older gateways.

use super::{Postgres, get};
use crate::error::StoreError;
use crate::row::{Anchored, OldRecord};
use tokio_postgres::types::Type;

impl Postgres {
    /// Whether records of older gateways are left.
    pub(crate) async fn has_old_records(&self) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM record WHERE nr <= (SELECT max(up_to) FROM old_record) LIMIT 1";
        Ok(!self.query(sql, &[]).await?.is_empty())
    }

    /// The next of them that were not looked at for the keys that ids give, and that no provider refused.
    pub(crate) async fn old_records(&self, limit: u32) -> Result<Vec<OldRecord>, StoreError> {
        let sql = "SELECT record.nr, thread, record.id, key_id, head, kept, tenant.name FROM record \
                   JOIN tenant ON tenant.nr = record.tenant \
                   WHERE record.nr > (SELECT max(anchored) FROM old_record) \
                   AND record.nr <= (SELECT max(up_to) FROM old_record) \
                   AND cardinality(keys) > 0 ORDER BY record.nr LIMIT $1";
        let rows = self.query(sql, &[(&i64::from(limit) as _, Type::INT8)]).await?;
        let at = &self.inner.at;
        let old = rows.iter().map(|row| {
            Ok(OldRecord {
                row: self.record_of(row)?,
                nr: get(row, 0, at)?,
                tenant: get(row, 6, at)?,
            })
        });
        old.collect()
    }

    /// Writes their keys, and that all up to this one were looked at.
    pub(crate) async fn anchor_records(
        &self,
        anchored: Vec<Anchored>,
        up_to: i64,
    ) -> Result<(), StoreError> {
        let numbers: Vec<i64> = anchored.iter().map(|it| it.nr).collect();
        let heads: Vec<&[u8]> = anchored.iter().map(|it| it.head.as_slice()).collect();
        let text = |it: &Anchored| {
            let keys: Vec<String> = it.keys.iter().map(i64::to_string).collect();
            keys.join(",")
        };
        let keys: Vec<String> = anchored.iter().map(text).collect();
        // One that was refused meanwhile has no keys, and gets none.
        let sql = "WITH given AS MATERIALIZED (\
                       SELECT nr, head, string_to_array(keys, ',')::int8[] AS keys \
                       FROM unnest($1, $2, $3) AS given (nr, head, keys)), \
                   changed AS (UPDATE record \
                       SET head = given.head, keys = record.keys || given.keys FROM given \
                       WHERE record.nr = given.nr AND cardinality(record.keys) > 0 \
                       RETURNING record.tenant, record.nr, given.keys), \
                   found_by AS (INSERT INTO record_key (tenant, key, record) \
                       SELECT tenant, unnest(keys), nr FROM changed ON CONFLICT DO NOTHING) \
                   UPDATE old_record SET anchored = greatest(anchored, $4)";
        let values = [
            (&numbers as _, Type::INT8_ARRAY),
            (&heads as _, Type::BYTEA_ARRAY),
            (&keys as _, Type::TEXT_ARRAY),
            (&up_to as _, Type::INT8),
        ];
        self.query_on(&self.inner.writing, sql, &values).await.map(|_| ())
    }
}

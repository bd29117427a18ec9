//! Sealed items of traces on a server. A trigger deletes them with their trace.

use super::{Postgres, Whose, get, number};
use crate::error::StoreError;
use crate::row::{ItemsRow, SealedItems};
use tokio_postgres::types::Type;

impl Postgres {
    /// Reads at most `most` bytes of the items of the traces with these ids, which belong to `tenant` if it is given.
    pub(crate) async fn trace_items(
        &self,
        tenant: Option<String>,
        ids: Vec<String>,
        most: i32,
    ) -> Result<Vec<ItemsRow>, StoreError> {
        let sql = "SELECT id, reasoning_traces.tenant, metadata, key_id, substr(sealed, 1, $2) \
                   FROM reasoning_traces LEFT JOIN trace_items ON trace = id WHERE id = ANY($1)";
        let whose = tenant.as_deref().map_or(Whose::All, Whose::Name);
        let at = &self.inner.at;
        let rows = self
            .query_for(whose, sql, &[(&ids as _, Type::TEXT_ARRAY), (&most as _, Type::INT4)])
            .await?;
        let items = rows.iter().map(|row| {
            let sealed = |sealed| Ok(SealedItems { key_id: number(row, 3, at)?, sealed });
            Ok(ItemsRow {
                trace: get(row, 0, at)?,
                tenant: get(row, 1, at)?,
                metadata: get::<Option<String>>(row, 2, at)?.unwrap_or_default(),
                items: get::<Option<Vec<u8>>>(row, 4, at)?.map(sealed).transpose()?,
            })
        });
        items.collect()
    }
}

//! Locks all keys with another master key in one transaction, while other processes go on working.

use super::{Postgres, get, number, trouble};
use crate::error::StoreError;
use crate::relock::{Relock, Relocked, Rows};
use crate::row::{InstallRow, TenantRow};
use std::collections::HashMap;
use std::time::Duration;
use tokio_postgres::Transaction;
use tokio_postgres::types::Type;

/// The longest duration: locking a key takes some microseconds, and there may be a million.
const PATIENCE: Duration = Duration::from_secs(60);

/// Rows per statement.
const STEP: usize = 4096;

impl Postgres {
    /// Locks all keys with another master key and adds a new data key for each tenant, all or nothing.
    pub(crate) async fn relock(&self, change: Relock) -> Result<Relocked, StoreError> {
        let at = &self.inner.at;
        // A connection of its own, because other statements share the others.
        let mut client = self.connect().await?;
        let relocking = async {
            let failed = |error: tokio_postgres::Error| trouble(at, &error);
            let transaction = client.transaction().await.map_err(failed)?;
            let say = "SET LOCAL thinkthrough.tenant = '*'";
            transaction.batch_execute(say).await.map_err(failed)?;
            let relocked = relock(&transaction, &change, at).await?;
            // Without changes there is no commit.
            if matches!(relocked, Relocked::Done(_)) {
                transaction.commit().await.map_err(failed)?;
            }
            Ok(relocked)
        };
        let relocked = tokio::time::timeout(PATIENCE, relocking).await;
        relocked.unwrap_or_else(|_| Err(StoreError::Silent(at.clone())))
    }

    /// The server overwrites old rows when it vacuums, so there is no log to empty.
    #[expect(clippy::unused_async, reason = "a file has a log to empty")]
    pub(crate) async fn forget_log(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

async fn relock(
    transaction: &Transaction<'_>,
    change: &Relock,
    at: &str,
) -> Result<Relocked, StoreError> {
    let failed = |error: tokio_postgres::Error| trouble(at, &error);
    // A statement that adds a key waits for this row, and then finds that its master key is outdated.
    let sql = "SELECT key_check, install_key FROM install FOR UPDATE";
    let row = transaction.query_typed(sql, &[]).await.map_err(failed)?;
    let install = row.first().map(|row| {
        Ok::<_, StoreError>(InstallRow {
            key_check: get(row, 0, at)?,
            install_key: get(row, 1, at)?,
        })
    });
    let install = install.transpose()?;
    match change.rows(install.as_ref(), &tenants(transaction, at).await?) {
        Ok(rows) => put(transaction, &rows).await.map_err(failed),
        Err(why_not) => Ok(why_not),
    }
}

/// All tenants with their keys, by name. They are locked against deletion until the end of the transaction.
async fn tenants(
    transaction: &Transaction<'_>,
    at: &str,
) -> Result<Vec<(String, TenantRow)>, StoreError> {
    let failed = |error: tokio_postgres::Error| trouble(at, &error);
    let sql = "SELECT name, nr, lookup_key FROM tenant ORDER BY nr FOR UPDATE";
    let rows = transaction.query_typed(sql, &[]).await.map_err(failed)?;
    let sql = "SELECT tenant, id, wrapped FROM data_key ORDER BY tenant, id";
    let mut keys: HashMap<i64, Vec<(u32, Vec<u8>)>> = HashMap::new();
    for row in transaction.query_typed(sql, &[]).await.map_err(failed)? {
        let key = (number(&row, 1, at)?, get(&row, 2, at)?);
        keys.entry(get(&row, 0, at)?).or_default().push(key);
    }
    let tenant = |row: &tokio_postgres::Row| {
        let nr = get(row, 1, at)?;
        let data_keys = keys.remove(&nr).unwrap_or_default();
        Ok((get(row, 0, at)?, TenantRow { nr, lookup_key: get(row, 2, at)?, data_keys }))
    };
    rows.iter().map(tenant).collect()
}

async fn put(
    transaction: &Transaction<'_>,
    rows: &Rows,
) -> Result<Relocked, tokio_postgres::Error> {
    let sql = "UPDATE install SET key_check = $1, install_key = $2";
    let values = [(&rows.check as _, Type::BYTEA), (&rows.install_key as _, Type::BYTEA)];
    transaction.query_typed(sql, &values).await?;
    for step in rows.tenants.chunks(STEP) {
        let (tenants, keys): (Vec<i64>, Vec<&[u8]>) =
            step.iter().map(|row| (row.nr, row.lookup_key.as_slice())).unzip();
        let sql = "UPDATE tenant SET lookup_key = new.key \
                   FROM unnest($1::INT8[], $2::BYTEA[]) AS new (nr, key) WHERE tenant.nr = new.nr";
        let values = [(&tenants as _, Type::INT8_ARRAY), (&keys as _, Type::BYTEA_ARRAY)];
        transaction.query_typed(sql, &values).await?;
    }
    let keys = rows.tenants.iter().flat_map(|row| {
        row.data_keys.iter().map(|(id, key)| (row.nr, i64::from(*id), key.as_slice()))
    });
    let keys: Vec<(i64, i64, &[u8])> = keys.collect();
    for step in keys.chunks(STEP) {
        let tenants: Vec<i64> = step.iter().map(|(tenant, _, _)| *tenant).collect();
        let ids: Vec<i64> = step.iter().map(|(_, id, _)| *id).collect();
        let keys: Vec<&[u8]> = step.iter().map(|(_, _, key)| *key).collect();
        let sql = "INSERT INTO data_key (tenant, id, wrapped) \
                   SELECT * FROM unnest($1::INT8[], $2::INT8[], $3::BYTEA[]) \
                   ON CONFLICT (tenant, id) DO UPDATE SET wrapped = excluded.wrapped";
        let values = [
            (&tenants as _, Type::INT8_ARRAY),
            (&ids as _, Type::INT8_ARRAY),
            (&keys as _, Type::BYTEA_ARRAY),
        ];
        transaction.query_typed(sql, &values).await?;
    }
    Ok(Relocked::Done(rows.tenants.len() as u64))
}

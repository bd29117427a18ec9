//! Tenants and their keys.

use super::{Postgres, get, number};
use crate::error::StoreError;
use crate::row::{InstallRow, TenantRow};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

const TENANT: &str = "SELECT tenant.nr, lookup_key, data_key.id, wrapped \
                      FROM tenant JOIN data_key ON data_key.tenant = tenant.nr \
                      WHERE name = $1 ORDER BY data_key.id";

impl Postgres {
    /// The installation row, if the store was initialised.
    pub(crate) async fn install(&self) -> Result<Option<InstallRow>, StoreError> {
        let row = self.first("SELECT key_check, install_key FROM install", &[]).await?;
        let at = &self.inner.at;
        row.map(|row| {
            Ok(InstallRow { key_check: get(&row, 0, at)?, install_key: get(&row, 1, at)? })
        })
        .transpose()
    }

    /// Stores the check and the key unless they exist. Returns the stored row.
    pub(crate) async fn keep_install(
        &self,
        check: Vec<u8>,
        install_key: Vec<u8>,
    ) -> Result<Option<InstallRow>, StoreError> {
        let sql = "INSERT INTO install (one, key_check, install_key) VALUES (1, $1, $2) \
                   ON CONFLICT (one) DO UPDATE SET install_key = excluded.install_key \
                   WHERE install.install_key IS NULL";
        self.query(sql, &[(&check, Type::BYTEA), (&install_key, Type::BYTEA)]).await?;
        self.install().await
    }

    pub(crate) async fn tenant(&self, name: String) -> Result<Option<TenantRow>, StoreError> {
        let rows = self.query(TENANT, &[(&name, Type::TEXT)]).await?;
        self.tenant_of(&rows)
    }

    /// Adds a tenant with its first data key unless it exists. Returns the stored tenant. The keys are locked with
    /// the master key of this check: if the store has another one, the tenant is not added.
    pub(crate) async fn add_tenant(
        &self,
        name: String,
        lookup_key: Vec<u8>,
        data_key: Vec<u8>,
        check: Vec<u8>,
    ) -> Result<Option<TenantRow>, StoreError> {
        // A rotation locks the row of the installation. So this waits for it, and then adds no tenant.
        let sql = "WITH new AS (INSERT INTO tenant (name, lookup_key) \
                   SELECT $1, $2 FROM install WHERE key_check = $4 FOR SHARE \
                   ON CONFLICT DO NOTHING RETURNING nr) \
                   INSERT INTO data_key (tenant, id, wrapped) SELECT nr, 1, $3 FROM new";
        let values = [
            (&name as _, Type::TEXT),
            (&lookup_key as _, Type::BYTEA),
            (&data_key as _, Type::BYTEA),
            (&check as _, Type::BYTEA),
        ];
        self.query(sql, &values).await?;
        self.tenant(name).await
    }

    /// Adds a data key. Does nothing if its number exists, the tenant is gone, or the store has another master key
    /// than the one of this check.
    pub(crate) async fn add_data_key(
        &self,
        tenant: i64,
        id: u32,
        wrapped: Vec<u8>,
        check: Vec<u8>,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO data_key (tenant, id, wrapped) \
                   SELECT nr, $2, $3 FROM tenant, install WHERE nr = $1 AND key_check = $4 \
                   FOR KEY SHARE OF tenant FOR SHARE OF install ON CONFLICT DO NOTHING";
        let values = [
            (&tenant as _, Type::INT8),
            (&i64::from(id) as _, Type::INT8),
            (&wrapped as _, Type::BYTEA),
            (&check as _, Type::BYTEA),
        ];
        self.query(sql, &values).await.map(|_| ())
    }

    /// Deletes a tenant with all its data. Returns its number of conversations, or `None` if there was no such
    /// tenant.
    pub(crate) async fn remove_tenant(&self, name: String) -> Result<Option<u64>, StoreError> {
        let sql = "WITH it AS (SELECT nr FROM tenant WHERE name = $1), \
                   said AS (DELETE FROM conversation USING it WHERE tenant = it.nr RETURNING 1), \
                   taught AS (DELETE FROM fact USING it WHERE tenant = it.nr), \
                   keys AS (DELETE FROM data_key USING it WHERE tenant = it.nr), \
                   gone AS (DELETE FROM tenant USING it WHERE tenant.nr = it.nr RETURNING 1) \
                   SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM said)";
        let row = self.first(sql, &[(&name, Type::TEXT)]).await?;
        let Some(row) = row else { return Ok(None) };
        let (gone, said) = (number(&row, 0, &self.inner.at)?, number(&row, 1, &self.inner.at)?);
        Ok((gone == 1).then_some(said.into()))
    }

    fn tenant_of(&self, rows: &[Row]) -> Result<Option<TenantRow>, StoreError> {
        let at = &self.inner.at;
        let Some(first) = rows.first() else { return Ok(None) };
        let keys = rows.iter().map(|row| Ok((number(row, 2, at)?, get(row, 3, at)?)));
        Ok(Some(TenantRow {
            nr: get(first, 0, at)?,
            lookup_key: get(first, 1, at)?,
            data_keys: keys.collect::<Result<_, StoreError>>()?,
        }))
    }
}

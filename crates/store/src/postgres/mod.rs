//! The store on a PostgreSQL server, shared by any number of processes.
//!
//! Each call is one round trip and one transaction: one statement, or the parts of a transaction sent together
//! ([`wall`]). Statements are sent with their types instead of being prepared, because a pooler may hand each one to
//! another session.

mod address;
mod commits;
mod conversations;
mod facts;
mod gateway_keys;
mod lately;
mod ledgers;
mod queue;
mod records;
mod relock;
mod responses;
mod schema;
mod search;
mod tenants;
mod threads;
mod tls;
mod trace_items;
mod traces;
mod wall;

use crate::error::StoreError;
use crate::notes::Notes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Row};
use wall::Whose;

/// A server. Clones share its connections, and several tasks can have statements in flight.
#[derive(Clone)]
pub(crate) struct Postgres {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    tls: tls::Tls,
    at: String,
    client: Mutex<Option<Arc<Client>>>,
    /// A second connection, because statements of one connection wait for each other's commits.
    writing: Mutex<Option<Arc<Client>>>,
    appends: queue::Queue,
    /// Commits of the last minute.
    lately: lately::Lately,
    notes: Notes,
    /// The role of this process does not own the tables, so that their policies apply to it.
    has_wall: AtomicBool,
    /// Held while the parts of a transaction are sent.
    sending: std::sync::Mutex<()>,
}

/// How long a call waits for the server.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a migration may take. Without one the check is short.
const MIGRATION: Duration = Duration::from_secs(60);

type Value<'a> = (&'a (dyn ToSql + Sync), Type);

impl Postgres {
    pub(crate) async fn open(url: &str, at: String, notes: Notes) -> Result<Self, StoreError> {
        let (config, tls) = address::read(url, &at)?;
        let inner = Inner {
            config,
            tls,
            client: Mutex::default(),
            writing: Mutex::default(),
            appends: queue::Queue::default(),
            lately: lately::Lately::new(&at)?,
            at,
            notes,
            has_wall: AtomicBool::new(false),
            sending: std::sync::Mutex::default(),
        };
        let postgres = Postgres { inner: Arc::new(inner) };
        let at = &postgres.inner.at;
        // Not shared yet, because the migration is a transaction of several statements.
        let mut client = postgres.connect().await?;
        // Another process may be migrating, or the server may stop responding.
        let migrated = timeout(MIGRATION, schema::migrate(&mut client, at)).await;
        migrated.map_err(|_| StoreError::Silent(at.clone()))??;
        let has_wall = timeout(PATIENCE, Postgres::is_behind_wall(&client)).await;
        let has_wall = has_wall.map_err(|_| StoreError::Silent(at.clone()))?;
        let has_wall = has_wall.map_err(|error| trouble(at, &error))?;
        postgres.inner.has_wall.store(has_wall, Ordering::Relaxed);
        *postgres.inner.client.lock().await = Some(Arc::new(client));
        Ok(postgres)
    }

    async fn connect(&self) -> Result<Client, StoreError> {
        let at = &self.inner.at;
        let connecting = self.inner.config.connect(self.inner.tls.clone());
        // A server may accept the connection and then not respond.
        let connected = timeout(PATIENCE, connecting).await;
        let connected = connected.map_err(|_| StoreError::Silent(at.clone()))?;
        let (client, connection) = connected.map_err(|error| trouble(at, &error))?;
        // The task ends with the client. Its errors reach the callers that wait for a statement.
        tokio::spawn(async move { drop(connection.await) });
        // The statements take a millisecond. A server that misjudges their cost would compile them, which takes
        // fifty. A server without a compiler may not know the setting, so errors are ignored.
        let setting = client.batch_execute("SET jit = off");
        drop(timeout(PATIENCE, setting).await);
        Ok(client)
    }

    async fn client(&self, kept: &Mutex<Option<Arc<Client>>>) -> Result<Arc<Client>, StoreError> {
        let mut kept = kept.lock().await;
        if let Some(client) = kept.as_ref().filter(|client| !client.is_closed()) {
            return Ok(Arc::clone(client));
        }
        let client = Arc::new(self.connect().await?);
        *kept = Some(Arc::clone(&client));
        // The new connection may lead to another server.
        self.doubt();
        Ok(client)
    }

    /// Runs a statement about the rows of all tenants.
    async fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        self.query_of(Whose::All, &self.inner.client, sql, values).await
    }

    /// Like [`Postgres::query`], on this connection.
    async fn query_on(
        &self,
        kept: &Mutex<Option<Arc<Client>>>,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        self.query_of(Whose::All, kept, sql, values).await
    }

    /// Runs a statement about the rows of one tenant.
    async fn query_for(
        &self,
        whose: Whose<'_>,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        self.query_of(whose, &self.inner.client, sql, values).await
    }

    async fn query_of(
        &self,
        whose: Whose<'_>,
        kept: &Mutex<Option<Arc<Client>>>,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let client = self.client(kept).await?;
        let Ok(rows) = timeout(PATIENCE, self.ask(&client, whose, sql, values)).await else {
            // Other statements on this connection would wait just as long.
            self.forget(kept, &client).await;
            self.cancel(&client);
            return Err(StoreError::Silent(self.inner.at.clone()));
        };
        if rows.as_ref().is_err_and(is_lost) {
            self.forget(kept, &client).await;
        }
        rows.map_err(|error| trouble(&self.inner.at, &error))
    }

    /// Asks the server to cancel the current statement of this connection, in the background. A failure does not
    /// matter.
    fn cancel(&self, client: &Client) {
        let (token, tls) = (client.cancel_token(), self.inner.tls.clone());
        tokio::spawn(async move {
            drop(timeout(PATIENCE, token.cancel_query(tls)).await);
        });
    }

    /// The next call makes a new connection, unless another call has made one already.
    async fn forget(&self, kept: &Mutex<Option<Arc<Client>>>, lost: &Arc<Client>) {
        self.doubt();
        let mut kept = kept.lock().await;
        if kept.as_ref().is_some_and(|client| Arc::ptr_eq(client, lost)) {
            *kept = None;
        }
    }

    async fn first(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<Row>, StoreError> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }
}

fn get<'r, T: tokio_postgres::types::FromSql<'r>>(
    row: &'r Row,
    column: usize,
    at: &str,
) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| trouble(at, &error))
}

/// Reads a number that is never negative. Larger numbers than fit become the largest one.
fn number(row: &Row, column: usize, at: &str) -> Result<u32, StoreError> {
    Ok(u32::try_from(get::<i64>(row, column, at)?).unwrap_or(u32::MAX))
}

/// Whether the connection is lost, even if the client has not noticed it yet.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    // Class 57P: the server ended the session.
    error.as_db_error().is_none_or(|told| told.code().code().starts_with("57P"))
}

fn trouble(at: &str, error: &tokio_postgres::Error) -> StoreError {
    use tokio_postgres::error::SqlState;
    let at = at.to_owned();
    match error.code() {
        Some(&SqlState::DISK_FULL) => StoreError::Full(at),
        Some(&SqlState::QUERY_CANCELED) => StoreError::Silent(at),
        Some(&SqlState::LOCK_NOT_AVAILABLE | &SqlState::T_R_DEADLOCK_DETECTED) => {
            StoreError::Busy(at)
        }
        _ => {
            let told = error.as_db_error().map(|error| error.message().to_owned());
            let cause = std::error::Error::source(error).map(ToString::to_string);
            let message = told.or(cause).unwrap_or_else(|| error.to_string());
            StoreError::Database { at, message }
        }
    }
}

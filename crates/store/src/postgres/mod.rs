//! The store on a PostgreSQL server, shared by any number of processes.
//!
//! Every call is one statement, and so one round trip and one transaction ([`wall`]). Statements are sent with their types
//! instead of being prepared, so that a pooler between here and the server may hand each to another session.

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

/// A server. Clones share its connection; statements of several tasks are on their way at once.
#[derive(Clone)]
pub(crate) struct Postgres {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    tls: tls::Tls,
    at: String,
    client: Mutex<Option<Arc<Client>>>,
    /// A connection of its own, because statements of one connection wait for each other's commits.
    writing: Mutex<Option<Arc<Client>>>,
    appends: queue::Queue,
    /// What was committed within the last minute.
    lately: lately::Lately,
    notes: Notes,
    /// The role of this process does not own the tables, so that their policies hold for it.
    has_wall: AtomicBool,
    /// Whoever sends the parts of a transaction holds it.
    sending: std::sync::Mutex<()>,
}

/// How long one waits for the server.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long bringing the tables up to date may take, of which there is little where nothing changed.
const MIGRATION: Duration = Duration::from_secs(60);

/// A value and its type.
type Value<'a> = (&'a (dyn ToSql + Sync), Type);

impl Postgres {
    /// Connects, and makes or updates the tables.
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
        // A connection of its own: updating takes a lock that belongs to the session.
        let mut client = postgres.connect().await?;
        // Another process may be at it, and a server may say nothing more in the middle of it.
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
        // A server that takes connections and then says nothing is as good as none.
        let connected = timeout(PATIENCE, connecting).await;
        let connected = connected.map_err(|_| StoreError::Silent(at.clone()))?;
        let (client, connection) = connected.map_err(|error| trouble(at, &error))?;
        // Ends with the client; what went wrong on the way is told to whoever waits for a statement.
        tokio::spawn(async move { drop(connection.await) });
        // Statements that take a millisecond, and which a server that misjudges them compiles for fifty. One that
        // compiles nothing does not know the setting.
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
        // It may lead to another server than the one before.
        self.doubt();
        Ok(client)
    }

    /// Asks about all tenants' rows.
    async fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        self.query_of(Whose::All, &self.inner.client, sql, values).await
    }

    /// As [`Postgres::query`], by this connection.
    async fn query_on(
        &self,
        kept: &Mutex<Option<Arc<Client>>>,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        self.query_of(Whose::All, kept, sql, values).await
    }

    /// Asks about one tenant's rows.
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
            // What else waits behind this statement would wait as long.
            self.forget(kept, &client).await;
            self.cancel(&client);
            return Err(StoreError::Silent(self.inner.at.clone()));
        };
        if rows.as_ref().is_err_and(is_lost) {
            self.forget(kept, &client).await;
        }
        rows.map_err(|error| trouble(&self.inner.at, &error))
    }

    /// Asks the server to give up what this connection waits for. Whether it hears that does not matter to anybody.
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

/// A column, whose type the statement decides.
fn get<'r, T: tokio_postgres::types::FromSql<'r>>(
    row: &'r Row,
    column: usize,
    at: &str,
) -> Result<T, StoreError> {
    row.try_get(column).map_err(|error| trouble(at, &error))
}

/// A number that is never negative and fits.
fn number(row: &Row, column: usize, at: &str) -> Result<u32, StoreError> {
    Ok(u32::try_from(get::<i64>(row, column, at)?).unwrap_or(u32::MAX))
}

/// Whether the connection will not answer again; it may not know that itself yet.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    // Class 57P: the server ended the session.
    error.as_db_error().is_none_or(|told| told.code().code().starts_with("57P"))
}

/// What an error of the server means to whoever asked.
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

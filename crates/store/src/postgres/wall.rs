//! Row level security: a second barrier between tenants, at which the server shows a statement only one tenant's
//! rows.
//!
//! The tables have policies for roles that do not own them (`001.sql`). Such a role names the tenant in each
//! transaction. It cannot name it per session, because a pooler may use the connection for another client's
//! transaction next. So each statement is then a transaction of its own. Its parts are sent together, which is still
//! one round trip.

use super::{Postgres, Value};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::PoisonError;
use std::task::Poll;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

/// The rows that a statement may see.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whose<'a> {
    /// The rows of all tenants, for joint writes, counts, pruning and administrators.
    All,
    /// The rows of the tenant with this name.
    Name(&'a str),
    /// The rows of the tenant with this number.
    Nr(i64),
}

/// Sets the tenant of a transaction.
const SAY: &str = "SELECT set_config('thinkthrough.tenant', $1, true)";

impl Whose<'_> {
    /// The value that the policies compare with.
    fn word(self) -> String {
        match self {
            Whose::All => "*".to_owned(),
            Whose::Name(name) => format!("name:{name}"),
            Whose::Nr(nr) => format!("nr:{nr}"),
        }
    }
}

impl Postgres {
    /// Whether the policies apply to the role of this connection.
    pub(super) async fn is_behind_wall(client: &Client) -> Result<bool, Error> {
        let rows = client.query_typed("SELECT row_security_active('record')", &[]).await?;
        rows.first().map_or(Ok(false), |row| row.try_get(0))
    }

    /// Runs a statement on these rows.
    pub(super) async fn ask(
        &self,
        client: &Client,
        whose: Whose<'_>,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, Error> {
        if !self.inner.has_wall.load(std::sync::atomic::Ordering::Relaxed) {
            return client.query_typed(sql, values).await;
        }
        let word = whose.word();
        let said = [(&word as _, Type::TEXT)];
        let mut parts = pin!(async {
            tokio::join!(
                biased;
                client.batch_execute("BEGIN"),
                client.query_typed(SAY, &said),
                client.query_typed(sql, values),
                client.batch_execute("COMMIT"),
            )
        });
        // The parts are sent on the first poll. The lock keeps other statements from coming between them.
        let first = poll_fn(|context| {
            let _turn = self.inner.sending.lock().unwrap_or_else(PoisonError::into_inner);
            Poll::Ready(parts.as_mut().poll(context))
        });
        let (begun, said, rows, committed) = match first.await {
            Poll::Ready(all) => all,
            Poll::Pending => parts.await,
        };
        begun?;
        said?;
        let rows = rows?;
        committed?;
        Ok(rows)
    }
}

//! The second wall between tenants: the server itself lets a statement see one tenant's rows.
//!
//! The tables have policies for roles that do not own them (`001.sql`). Such a role says in each transaction whose rows
//! it is about, never for a session, because a pooler may hand the next transaction to another one. So each statement
//! then is a transaction of its own, whose parts go out together: that is one round trip still.

use super::{Postgres, Value};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::PoisonError;
use std::task::Poll;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};

/// Whose rows a statement is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whose<'a> {
    /// Those of all tenants: what is written together, counted, taken out for its age, or asked for by an administrator.
    All,
    /// Those of the tenant with this name.
    Name(&'a str),
    /// Those of the tenant with this number.
    Nr(i64),
}

/// Says in a transaction whose rows it is about.
const SAY: &str = "SELECT set_config('thinkthrough.tenant', $1, true)";

impl Whose<'_> {
    /// As the policies know it.
    fn word(self) -> String {
        match self {
            Whose::All => "*".to_owned(),
            Whose::Name(name) => format!("name:{name}"),
            Whose::Nr(nr) => format!("nr:{nr}"),
        }
    }
}

impl Postgres {
    /// Whether the policies hold for the role of this connection.
    pub(super) async fn is_behind_wall(client: &Client) -> Result<bool, Error> {
        let rows = client.query_typed("SELECT row_security_active('record')", &[]).await?;
        rows.first().map_or(Ok(false), |row| row.try_get(0))
    }

    /// What a statement gives, of these rows.
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
        // They are sent when they are polled for the first time, and nothing of anybody else may come between.
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

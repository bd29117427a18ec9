//! Traces on a server.

use super::{Postgres, Value, Whose, get};
use crate::error::StoreError;
use crate::row::{Bound, SessionRow, SumRow, TraceRow, conditions};
use crate::trace::TraceFilter;
use crate::word::spaced_sql;
use std::sync::Arc;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

/// The most letters of a text that are indexed. The server refuses more than a megabyte of words.
const SEARCHED: u32 = 75_000;
/// The order of returned traces.
pub(super) const NEWEST_FIRST: &str = "ORDER BY created_at DESC, id DESC";

impl Postgres {
    /// Stores traces. Ids that are already stored keep their trace.
    pub(crate) async fn add_traces(&self, traces: Vec<Arc<TraceRow>>) -> Result<(), StoreError> {
        let rows = || traces.iter().map(|row| &**row);
        let texts = |of: fn(&TraceRow) -> &String| rows().map(of).collect::<Vec<_>>();
        let numbers = |of: fn(&TraceRow) -> i64| rows().map(of).collect::<Vec<_>>();
        let maybe = |of: fn(&TraceRow) -> Option<i64>| rows().map(of).collect::<Vec<_>>();
        let numbered = &self.inner.lately.traces;
        let numbering = numbered.begin().await;
        let sql = format!(
            "WITH {}, added AS (\
                 INSERT INTO reasoning_traces ({}) SELECT * FROM unnest($1, $2, $3, $4, $5, $6, \
                     $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) \
                 ON CONFLICT DO NOTHING), \
             items AS (\
                 INSERT INTO trace_items (trace, tenant, key_id, sealed) \
                 SELECT * FROM unnest($21, $22, $23, $24) ON CONFLICT DO NOTHING) \
             SELECT version FROM before",
            numbering.sql(),
            TraceRow::COLUMNS
        );
        let (text, number) = (Type::TEXT_ARRAY, Type::INT8_ARRAY);
        let with_items = || rows().filter_map(|row| Some((row, row.items.as_ref()?)));
        let item_texts =
            |of: fn(&TraceRow) -> &String| with_items().map(|it| of(it.0)).collect::<Vec<_>>();
        let key_ids: Vec<i64> = with_items().map(|(_, items)| items.key_id.into()).collect();
        let sealed: Vec<&[u8]> = with_items().map(|(_, items)| items.sealed.as_slice()).collect();
        let values: [Value<'_>; 24] = [
            (&texts(|it| &it.id), text.clone()),
            (&texts(|it| &it.tenant), text.clone()),
            (&texts(|it| &it.session), text.clone()),
            (&texts(|it| &it.run), text.clone()),
            (&texts(|it| &it.model), text.clone()),
            (&texts(|it| &it.provider), text.clone()),
            (&texts(|it| &it.thought), text.clone()),
            (&texts(|it| &it.answer), text.clone()),
            (&texts(|it| &it.metadata), text.clone()),
            (&texts(|it| &it.state), text.clone()),
            (&numbers(|it| it.created_at), number.clone()),
            (&numbers(|it| it.reasoning_tokens), number.clone()),
            (&numbers(|it| it.total_tokens), number.clone()),
            (&numbers(|it| it.duration), number.clone()),
            (&numbers(|it| it.sealed_bytes), number.clone()),
            (&maybe(|it| it.input_tokens), number.clone()),
            (&maybe(|it| it.output_tokens), number.clone()),
            (&maybe(|it| it.cached_tokens), number.clone()),
            (&texts(|it| &it.why), text.clone()),
            (&maybe(|it| it.cost), number.clone()),
            (&item_texts(|it| &it.id), text.clone()),
            (&item_texts(|it| &it.tenant), text),
            (&key_ids, number),
            (&sealed, Type::BYTEA_ARRAY),
        ];
        let found = self.query_on(&self.inner.writing, &sql, &values).await?;
        let before = self.before(found.first())?;
        drop(values);
        self.committed(numbered, &numbering, before, traces);
        Ok(())
    }

    /// Reads the trace with this id.
    pub(crate) async fn trace(&self, id: String) -> Result<Option<TraceRow>, StoreError> {
        let sql = format!("SELECT {} FROM reasoning_traces WHERE id = $1", TraceRow::COLUMNS);
        let row = self.first(&sql, &[(&id as _, Type::TEXT)]).await?;
        row.map(|row| self.trace_of(&row)).transpose()
    }

    /// Lists the matching traces, newest first.
    pub(crate) async fn traces(&self, filter: TraceFilter) -> Result<Vec<TraceRow>, StoreError> {
        let conditions = conditions(&filter);
        let mut values: Vec<Value<'_>> = Vec::new();
        let all = where_all(&conditions, &mut values, Vec::new());
        let sql = format!(
            "SELECT {} FROM reasoning_traces WHERE {all} {NEWEST_FIRST} LIMIT {}",
            TraceRow::columns(filter.brief),
            filter.limit
        );
        self.rows(&filter, &sql, &values).await
    }

    /// Sums the matching traces.
    pub(crate) async fn trace_sums(
        &self,
        filter: TraceFilter,
        bucket: i64,
    ) -> Result<Vec<SumRow>, StoreError> {
        let conditions = conditions(&filter);
        let mut values: Vec<Value<'_>> = Vec::new();
        let all = where_all(&conditions, &mut values, Vec::new());
        let outcome = |name: &str| {
            format!("CAST(substring(metadata from '\"{name}\":([0-9]{{1,9}})') AS BIGINT)")
        };
        let client = "substring(metadata from '\"client\":\"([^\"]{1,40})\"')";
        let sql = format!(
            "SELECT {} FROM reasoning_traces WHERE {all} {}",
            SumRow::columns(bucket, outcome, client),
            SumRow::grouped()
        );
        let at = &self.inner.at;
        let rows = self.query_for(whose(&filter), &sql, &values).await?;
        let sums = rows.iter().map(|row| {
            let mut numbers = [0; 15];
            for (column, number) in (4..).zip(&mut numbers) {
                *number = get(row, column, at)?;
            }
            let names = [get(row, 0, at)?, get(row, 1, at)?, get(row, 2, at)?, get(row, 3, at)?];
            Ok(SumRow { names, numbers })
        });
        sums.collect()
    }

    /// Lists the matching sessions, with the newest trace first.
    pub(crate) async fn trace_sessions(
        &self,
        filter: TraceFilter,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let conditions = SessionRow::conditions(&filter);
        let mut values: Vec<Value<'_>> = Vec::new();
        let all = where_all(&conditions, &mut values, Vec::new());
        let sql = SessionRow::select(&format!("WHERE {all}"), filter.limit);
        let at = &self.inner.at;
        let rows = self.query_for(whose(&filter), &sql, &values).await?;
        let sessions = rows.iter().map(|row| {
            let mut numbers = [0; 6];
            for (column, number) in (5..).zip(&mut numbers) {
                *number = get(row, column, at)?;
            }
            let texts = [
                get(row, 0, at)?,
                get(row, 1, at)?,
                get(row, 2, at)?,
                get(row, 3, at)?,
                get(row, 4, at)?,
            ];
            Ok(SessionRow { texts, numbers })
        });
        sessions.collect()
    }

    /// Time of the first trace whose words are not indexed yet.
    pub(crate) async fn traces_unindexed(&self) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT created_at FROM reasoning_traces WHERE words IS NULL \
                   ORDER BY created_at LIMIT 1";
        let row = self.first(sql, &[]).await?;
        row.map(|row| get(&row, 0, &self.inner.at)).transpose()
    }

    /// Indexes the words of the next traces. Returns their number.
    pub(crate) async fn index_traces(&self, limit: u32) -> Result<u64, StoreError> {
        let [thought, answer] = ["reasoning_text", "response_text"]
            .map(|column| spaced_sql(&format!("left({column}, {SEARCHED})")));
        // Several gateways share the work, so each skips rows that another has locked.
        let sql = format!(
            "UPDATE reasoning_traces SET words = \
                 setweight(to_tsvector('simple', {thought}), 'A') || \
                 setweight(to_tsvector('simple', {answer}), 'B') \
             WHERE id IN (SELECT id FROM reasoning_traces WHERE words IS NULL \
                 ORDER BY created_at LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING 1"
        );
        let values = [(&i64::from(limit) as _, Type::INT8)];
        Ok(self.query_on(&self.inner.writing, &sql, &values).await?.len() as u64)
    }

    /// The words are deleted with their rows.
    #[expect(clippy::unused_async, reason = "both databases are asked alike")]
    pub(crate) async fn forget_words(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// The words are deleted with their rows.
    #[expect(clippy::unused_async, reason = "both databases are asked alike")]
    pub(crate) async fn give_back_words(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Deletes at most `limit` older traces. Returns their number.
    pub(crate) async fn prune_traces(&self, before: i64, limit: u32) -> Result<u64, StoreError> {
        let sql = "DELETE FROM reasoning_traces WHERE id IN (SELECT id FROM reasoning_traces \
                   WHERE created_at < $1 ORDER BY created_at LIMIT $2) RETURNING 1";
        let values = [(&before as _, Type::INT8), (&i64::from(limit) as _, Type::INT8)];
        self.inner.lately.traces.forget(|trace| trace.created_at < before);
        Ok(self.query_on(&self.inner.writing, sql, &values).await?.len() as u64)
    }

    /// Number of older traces.
    pub(crate) async fn older_traces(&self, before: i64) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM reasoning_traces WHERE created_at < $1";
        let row = self.first(sql, &[(&before as _, Type::INT8)]).await?;
        let count: i64 = row.map_or(Ok(0), |row| get(&row, 0, &self.inner.at))?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    /// The tenants with more than `most` traces, with their numbers of traces.
    pub(crate) async fn tenants_with_many_traces(
        &self,
        most: i64,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        let sql = "SELECT tenant, sum(requests)::INT8 FROM trace_session \
                   GROUP BY tenant HAVING sum(requests) > $1";
        let rows = self.query(sql, &[(&most as _, Type::INT8)]).await?;
        let at = &self.inner.at;
        rows.iter().map(|row| Ok((get(row, 0, at)?, get(row, 1, at)?))).collect()
    }

    /// Deletes at most `limit` traces of a tenant, oldest first. Returns their number.
    pub(crate) async fn prune_traces_of(
        &self,
        tenant: String,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let sql = "DELETE FROM reasoning_traces WHERE id IN (SELECT id FROM reasoning_traces \
                   WHERE tenant = $1 ORDER BY created_at, id LIMIT $2) RETURNING id";
        let values = [(&tenant as _, Type::TEXT), (&i64::from(limit) as _, Type::INT8)];
        let whose = Whose::Name(&tenant);
        let rows = self.query_of(whose, &self.inner.writing, sql, &values).await?;
        let ids = rows.iter().map(|row| get(row, 0, &self.inner.at));
        let ids: std::collections::HashSet<String> = ids.collect::<Result<_, StoreError>>()?;
        self.inner.lately.traces.forget(|trace| ids.contains(&trace.id));
        Ok(ids.len() as u64)
    }

    /// Deletes at most `limit` traces of a tenant. Returns their number.
    pub(crate) async fn erase_traces(&self, tenant: String, limit: u32) -> Result<u64, StoreError> {
        let sql = "DELETE FROM reasoning_traces WHERE id IN (SELECT id FROM reasoning_traces \
                   WHERE tenant = $1 LIMIT $2) RETURNING 1";
        let values = [(&tenant as _, Type::TEXT), (&i64::from(limit) as _, Type::INT8)];
        let whose = Whose::Name(&tenant);
        self.inner.lately.traces.forget(|trace| trace.tenant == tenant);
        Ok(self.query_of(whose, &self.inner.writing, sql, &values).await?.len() as u64)
    }

    /// Deletes at most `limit` traces of a session of a tenant. Returns their number.
    pub(crate) async fn erase_session_traces(
        &self,
        tenant: String,
        session: String,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let sql = "DELETE FROM reasoning_traces WHERE id IN (SELECT id FROM reasoning_traces \
                   WHERE session_key = $1 AND tenant = $2 LIMIT $3) RETURNING 1";
        let values = [
            (&session as _, Type::TEXT),
            (&tenant as _, Type::TEXT),
            (&i64::from(limit) as _, Type::INT8),
        ];
        let whose = Whose::Name(&tenant);
        let is_its = |trace: &TraceRow| trace.tenant == tenant && trace.session == session;
        self.inner.lately.traces.forget(is_its);
        Ok(self.query_of(whose, &self.inner.writing, sql, &values).await?.len() as u64)
    }

    pub(super) async fn rows(
        &self,
        filter: &TraceFilter,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Vec<TraceRow>, StoreError> {
        let rows = self.query_for(whose(filter), sql, values).await?;
        rows.iter().map(|row| self.trace_of(row)).collect()
    }

    pub(super) fn trace_of(&self, row: &Row) -> Result<TraceRow, StoreError> {
        let at = &self.inner.at;
        Ok(TraceRow {
            id: get(row, 0, at)?,
            tenant: get(row, 1, at)?,
            session: get(row, 2, at)?,
            run: get(row, 3, at)?,
            model: get(row, 4, at)?,
            provider: get(row, 5, at)?,
            thought: get(row, 6, at)?,
            answer: get(row, 7, at)?,
            metadata: get::<Option<String>>(row, 8, at)?.unwrap_or_default(),
            state: get(row, 9, at)?,
            created_at: get(row, 10, at)?,
            reasoning_tokens: get(row, 11, at)?,
            total_tokens: get(row, 12, at)?,
            duration: get(row, 13, at)?,
            sealed_bytes: get(row, 14, at)?,
            input_tokens: get(row, 15, at)?,
            output_tokens: get(row, 16, at)?,
            cached_tokens: get(row, 17, at)?,
            why: get(row, 18, at)?,
            cost: get(row, 19, at)?,
            items: None,
        })
    }
}

/// The tenant of a filter, or all tenants.
pub(super) fn whose(filter: &TraceFilter) -> Whose<'_> {
    filter.tenant.as_deref().map_or(Whose::All, Whose::Name)
}

/// Appends the conditions to `all` and their values to `values`. Returns the SQL.
pub(super) fn where_all<'a>(
    conditions: &'a [(&'static str, Vec<Bound>)],
    values: &mut Vec<Value<'a>>,
    mut all: Vec<String>,
) -> String {
    for (comparison, bounds) in conditions {
        let mut places = Vec::new();
        for bound in bounds {
            values.push(match bound {
                Bound::Number(number) => (number, Type::INT8),
                Bound::Text(text) => (text, Type::TEXT),
            });
            places.push(format!("${}", values.len()));
        }
        all.push(format!("{comparison} ({})", places.join(", ")));
    }
    if all.is_empty() { "true".to_owned() } else { all.join(" AND ") }
}

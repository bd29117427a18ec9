//! Traces in a file.

use super::trace_items::add as add_items;
use super::{Safety, Sqlite, log, words};
use crate::error::StoreError;
use crate::row::{Bound, SessionRow, TraceRow, conditions};
use crate::trace::{TraceFilter, TraceText};
use crate::word::spaced;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params, params_from_iter};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most bytes of text to index in one step, so that other writers do not wait for long.
const STEP: usize = 1 << 18;
/// The time per step for the removal of words. The rows, and the commit of both, each take about as long again.
const REMOVING: Duration = Duration::from_millis(3);
/// The longest wait for room in the log, which a long read may keep full.
const ROOM: Duration = Duration::from_secs(2);
/// The pause between two checks for room.
const LOOK: Duration = Duration::from_millis(10);

impl Sqlite {
    /// Stores traces. Ids that are already stored keep their trace.
    pub(crate) async fn add_traces(&self, traces: Vec<Arc<TraceRow>>) -> Result<(), StoreError> {
        self.write(Safety::Power, move |connection| {
            traces.iter().try_for_each(|trace| add(connection, trace))
        })
        .await
    }

    /// Reads the trace with this id.
    pub(crate) async fn trace(&self, id: String) -> Result<Option<TraceRow>, StoreError> {
        let sql = format!("SELECT {} FROM reasoning_traces WHERE id = ?", TraceRow::COLUMNS);
        self.read(move |connection| {
            connection.prepare_cached(&sql)?.query_row([&id], trace).optional()
        })
        .await
    }

    /// Lists the matching traces, newest first.
    pub(crate) async fn traces(&self, filter: TraceFilter) -> Result<Vec<TraceRow>, StoreError> {
        let all = conditions(&filter);
        let sql = format!(
            "SELECT {} FROM reasoning_traces {} ORDER BY created_at DESC, id DESC LIMIT {}",
            TraceRow::columns(filter.brief),
            where_all(&[], &all),
            filter.limit
        );
        self.read(move |connection| rows(connection, &sql, &all)).await
    }

    /// Finds matching traces with all these words, newest first.
    pub(crate) async fn search_traces(
        &self,
        words: Vec<String>,
        within: TraceText,
        filter: TraceFilter,
    ) -> Result<Vec<TraceRow>, StoreError> {
        let Some(words) = expression(&words, within) else { return self.traces(filter).await };
        let all = conditions(&filter);
        let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
        self.read(move |connection| {
            words::search(connection, limit, |index| {
                // The index reads from its newest row on, so that a common word costs no more than a rare one.
                let sql = format!(
                    "SELECT {} FROM {index} \
                     JOIN reasoning_traces ON reasoning_traces.rowid = {index}.rowid \
                     {} ORDER BY {index}.rowid DESC LIMIT {}",
                    qualified(),
                    where_all(&[&format!("{index} MATCH ?")], &all),
                    filter.limit
                );
                found(connection, &sql, &words, &all)
            })
        })
        .await
    }

    /// Lists the matching sessions, with the newest trace first.
    pub(crate) async fn trace_sessions(
        &self,
        filter: TraceFilter,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let all = SessionRow::conditions(&filter);
        let sql = SessionRow::select(&where_all(&[], &all), filter.limit);
        self.read(move |connection| {
            let mut statement = connection.prepare(&sql)?;
            statement.query_map(params_from_iter(bounds(&all)), session)?.collect()
        })
        .await
    }

    /// Time of the first trace whose words are not indexed yet.
    pub(crate) async fn traces_unindexed(&self) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT created_at FROM reasoning_traces \
                   WHERE rowid > (SELECT up_to FROM trace_indexed) ORDER BY rowid LIMIT 1";
        self.read(move |connection| {
            connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()
        })
        .await
    }

    /// Indexes the words of the next traces. Returns their number.
    pub(crate) async fn index_traces(&self, limit: u32) -> Result<u64, StoreError> {
        self.write(Safety::Process, move |connection| index(connection, limit)).await
    }

    /// Deletes at most `limit` older traces, fewer if it takes long. Returns their number.
    pub(crate) async fn prune_traces(&self, before: i64, limit: u32) -> Result<u64, StoreError> {
        // Each deletion changes many pages. If the log grew by them faster than checkpoints empty it, the next writer
        // would have to do the checkpoint.
        let began = Instant::now();
        while !self.read(log::has_room).await? && began.elapsed() < ROOM {
            tokio::time::sleep(LOOK).await;
        }
        // The oldest rows are seldom cached. Reading them first keeps writers from waiting for the disk.
        self.read(move |connection| look_at_old(connection, before, limit)).await?;
        self.write(Safety::Process, move |connection| {
            let sql = "SELECT rowid FROM reasoning_traces WHERE created_at < ? \
                       ORDER BY created_at LIMIT ?";
            remove(connection, sql, params![before, limit])
        })
        .await
    }

    /// Frees a part of the space for words of deleted traces. Returns true if there is more.
    pub(crate) async fn give_back_words(&self) -> Result<bool, StoreError> {
        // The oldest rows are seldom cached. Reading them first keeps writers from waiting for the disk.
        self.read(words::look_at_gone).await?;
        self.write(Safety::Process, words::give_back).await
    }

    /// Deletes a part of the words of erased traces from the file. Returns true if there is more.
    pub(crate) async fn forget_words(&self) -> Result<bool, StoreError> {
        // Usually there are no such words, and then no writer has to wait.
        match self.read(words::is_any_erased).await? {
            true => self.write(Safety::Process, words::forget).await,
            false => Ok(false),
        }
    }

    /// The tenants with more than `most` traces, with their numbers of traces.
    pub(crate) async fn tenants_with_many_traces(
        &self,
        most: i64,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        let sql = "SELECT tenant, sum(requests) FROM trace_session \
                   GROUP BY tenant HAVING sum(requests) > ?";
        self.read(move |connection| {
            let mut rows = connection.prepare_cached(sql)?;
            let rows = rows.query_map([most], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        })
        .await
    }

    /// Deletes at most `limit` traces of a tenant, oldest first, fewer if it takes long. Returns their number.
    pub(crate) async fn prune_traces_of(
        &self,
        tenant: String,
        limit: u32,
    ) -> Result<u64, StoreError> {
        self.write(Safety::Process, move |connection| {
            let sql = "SELECT rowid FROM reasoning_traces WHERE tenant = ? \
                       ORDER BY created_at, id LIMIT ?";
            remove(connection, sql, params![tenant, limit])
        })
        .await
    }

    /// Number of older traces.
    pub(crate) async fn older_traces(&self, before: i64) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM reasoning_traces WHERE created_at < ?";
        self.read(move |connection| {
            let count: i64 =
                connection.prepare_cached(sql)?.query_row([before], |row| row.get(0))?;
            Ok(u64::try_from(count).unwrap_or_default())
        })
        .await
    }

    /// Deletes at most `limit` traces of a tenant. Returns their number.
    pub(crate) async fn erase_traces(&self, tenant: String, limit: u32) -> Result<u64, StoreError> {
        self.write(Safety::Process, move |connection| {
            let sql = "SELECT rowid FROM reasoning_traces WHERE tenant = ? LIMIT ?";
            erase(connection, sql, params![tenant, limit])
        })
        .await
    }

    /// Deletes at most `limit` traces of a session of a tenant. Returns their number.
    pub(crate) async fn erase_session_traces(
        &self,
        tenant: String,
        session: String,
        limit: u32,
    ) -> Result<u64, StoreError> {
        self.write(Safety::Process, move |connection| {
            let sql = "SELECT rowid FROM reasoning_traces WHERE session_key = ? AND tenant = ? \
                       LIMIT ?";
            erase(connection, sql, params![session, tenant, limit])
        })
        .await
    }
}

impl ToSql for Bound {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Bound::Number(number) => ToSqlOutput::from(*number),
            Bound::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

fn add(connection: &Connection, row: &TraceRow) -> rusqlite::Result<()> {
    let sql = format!(
        "INSERT INTO reasoning_traces ({}) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        TraceRow::COLUMNS
    );
    connection.prepare_cached(&sql)?.execute(params![
        row.id,
        row.tenant,
        row.session,
        row.run,
        row.model,
        row.provider,
        row.thought,
        row.answer,
        row.metadata,
        row.state,
        row.created_at,
        row.reasoning_tokens,
        row.total_tokens,
        row.duration,
        row.sealed_bytes,
        row.input_tokens,
        row.output_tokens,
        row.cached_tokens,
        row.why,
        row.cost,
    ])?;
    add_items(connection, row)
}

fn trace(row: &Row<'_>) -> rusqlite::Result<TraceRow> {
    Ok(TraceRow {
        id: text(row, 0)?,
        tenant: text(row, 1)?,
        session: text(row, 2)?,
        run: text(row, 3)?,
        model: text(row, 4)?,
        provider: text(row, 5)?,
        thought: text(row, 6)?,
        answer: text(row, 7)?,
        metadata: text(row, 8)?,
        state: text(row, 9)?,
        created_at: row.get(10)?,
        reasoning_tokens: row.get(11)?,
        total_tokens: row.get(12)?,
        duration: row.get(13)?,
        sealed_bytes: row.get(14)?,
        input_tokens: row.get(15)?,
        output_tokens: row.get(16)?,
        cached_tokens: row.get(17)?,
        why: text(row, 18)?,
        cost: row.get(19)?,
        items: None,
    })
}

/// Reads a text. Invalid UTF-8 is replaced, because one damaged letter must not hide all traces. NULL gives an empty
/// text.
pub(super) fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<String> {
    let bytes = row.get_ref(at)?.as_bytes_or_null()?.unwrap_or_default();
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

fn session(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let mut numbers = [0; 6];
    for (at, number) in (5..).zip(&mut numbers) {
        *number = row.get(at)?;
    }
    let texts = [text(row, 0)?, text(row, 1)?, text(row, 2)?, text(row, 3)?, text(row, 4)?];
    Ok(SessionRow { texts, numbers })
}

fn rows(
    connection: &Connection,
    sql: &str,
    conditions: &[(&str, Vec<Bound>)],
) -> rusqlite::Result<Vec<TraceRow>> {
    let mut statement = connection.prepare(sql)?;
    statement.query_map(params_from_iter(bounds(conditions)), trace)?.collect()
}

/// The rows with these words that fulfil the conditions.
fn found(
    connection: &Connection,
    sql: &str,
    words: &str,
    conditions: &[(&str, Vec<Bound>)],
) -> rusqlite::Result<Vec<TraceRow>> {
    let values = std::iter::once(&words as &dyn ToSql).chain(bounds(conditions));
    let mut statement = connection.prepare(sql)?;
    statement.query_map(params_from_iter(values), trace)?.collect()
}

pub(super) fn bounds<'a>(
    conditions: &'a [(&str, Vec<Bound>)],
) -> impl Iterator<Item = &'a dyn ToSql> {
    conditions.iter().flat_map(|(_, bounds)| bounds).map(|it| it as &dyn ToSql)
}

/// The columns with the name of their table, for joins of tables with equal column names.
fn qualified() -> String {
    let columns = TraceRow::COLUMNS.split(',').map(str::trim);
    columns.map(|column| format!("reasoning_traces.{column}")).collect::<Vec<_>>().join(", ")
}

pub(super) fn where_all(first: &[&str], conditions: &[(&str, Vec<Bound>)]) -> String {
    let further = conditions.iter().map(|(comparison, bounds)| {
        let place = if bounds.len() > 1 { "(?, ?)" } else { "?" };
        format!("{comparison} {place}")
    });
    let all: Vec<String> = first.iter().map(|it| (*it).to_owned()).chain(further).collect();
    if all.is_empty() { String::new() } else { format!("WHERE {}", all.join(" AND ")) }
}

/// Writes the words in the query language of the index, each quoted. Returns `None` without words.
fn expression(words: &[String], within: TraceText) -> Option<String> {
    let words = words.iter().map(|word| word.replace('\0', "")).filter(|word| !word.is_empty());
    let quoted = |word: String| format!("\"{}\"", spaced(&word).replace('"', "\"\""));
    let quoted: Vec<String> = words.map(quoted).collect();
    if quoted.is_empty() {
        return None;
    }
    let words = quoted.join(" AND ");
    Some(match within {
        TraceText::All => words,
        TraceText::Answers => format!("{{response_text}} : ({words})"),
        TraceText::Thoughts => format!("{{reasoning_text}} : ({words})"),
    })
}

pub(super) fn index(connection: &Connection, limit: u32) -> rusqlite::Result<u64> {
    // Read all rows first: SQLite cannot drop an index during a read.
    let rows = unindexed(connection, limit)?;
    let mut words = words::Adding::to(connection);
    for (number, [thought, answer]) in &rows {
        words.add(*number, &spaced(thought), &spaced(answer))?;
    }
    if let Some((last, _)) = rows.last() {
        connection.prepare_cached("UPDATE trace_indexed SET up_to = ?")?.execute([last])?;
    }
    Ok(rows.len() as u64)
}

/// The texts of the next unindexed rows, with their row numbers.
fn unindexed(connection: &Connection, limit: u32) -> rusqlite::Result<Vec<(i64, [String; 2])>> {
    let sql = "SELECT rowid, reasoning_text, response_text FROM reasoning_traces \
               WHERE rowid > (SELECT up_to FROM trace_indexed) ORDER BY rowid LIMIT ?";
    let mut next = connection.prepare_cached(sql)?;
    let mut next = next.query([limit])?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while let Some(row) = next.next()? {
        let texts = [text(row, 1)?, text(row, 2)?];
        bytes += texts.iter().map(String::len).sum::<usize>();
        rows.push((row.get(0)?, texts));
        if bytes > STEP {
            break;
        }
    }
    Ok(rows)
}

/// Reads the pages that a deletion of these rows will need: their texts, and their entries in the indexes that are
/// not ordered by time.
fn look_at_old(connection: &Connection, before: i64, limit: u32) -> rusqlite::Result<()> {
    let sql = "SELECT length(reasoning_text) + length(response_text) + length(why), \
                   (SELECT 1 FROM reasoning_traces WHERE id = old.id), \
                   (SELECT 1 FROM reasoning_traces WHERE run_id = old.run_id LIMIT 1), \
                   (SELECT 1 FROM reasoning_traces WHERE session_key = old.session_key \
                       AND created_at = old.created_at LIMIT 1), \
                   (SELECT 1 FROM reasoning_traces WHERE tenant = old.tenant \
                       AND created_at = old.created_at LIMIT 1) \
               FROM reasoning_traces AS old WHERE created_at < ? ORDER BY created_at LIMIT ?";
    let mut old = connection.prepare_cached(sql)?;
    let mut old = old.query(params![before, limit])?;
    while old.next()?.is_some() {}
    Ok(())
}

/// As [`remove`], but the words are also deleted from the file ([`words::forget`]).
fn erase(connection: &Connection, sql: &str, values: &[&dyn ToSql]) -> rusqlite::Result<u64> {
    let numbers = numbers(connection, sql, values)?;
    words::erased(connection, &numbers)?;
    remove_all(connection, &numbers)
}

/// Removes the rows that a statement names, and their words, as many as the time allows.
fn remove(connection: &Connection, sql: &str, values: &[&dyn ToSql]) -> rusqlite::Result<u64> {
    remove_all(connection, &numbers(connection, sql, values)?)
}

fn numbers(
    connection: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
) -> rusqlite::Result<Vec<i64>> {
    connection.prepare_cached(sql)?.query_map(values, |row| row.get(0))?.collect()
}

fn remove_all(connection: &Connection, numbers: &[i64]) -> rusqlite::Result<u64> {
    let (began, mut count) = (Instant::now(), 0);
    // Remove the words first: any other write sends them to their index.
    let mut words = words::Removing::from(connection);
    for number in numbers {
        if began.elapsed() > REMOVING {
            break;
        }
        count += 1;
        words.remove(*number)?;
    }
    let mut row = connection.prepare_cached("DELETE FROM reasoning_traces WHERE rowid = ?")?;
    for number in numbers.iter().take(count) {
        row.execute([number])?;
    }
    Ok(count as u64)
}

//! A table of traces that another program made: it is put aside, and its rows become ours one step after the other, as
//! they are masked (`crate::taken_over`). Nobody reads them before.

use super::traces::text;
use super::{Safety, Sqlite};
use crate::error::StoreError;
use crate::old_trace::{APART, COLUMNS, OldTrace};
use crate::row::TraceRow;
use rusqlite::{Connection, Row, params_from_iter};

/// Whether a file that is nobody's has nothing but such a table and what belongs to it; a table `meta` stays as it is.
pub(super) fn is_all_there_is(connection: &Connection) -> rusqlite::Result<bool> {
    let is_there = connection.table_exists(None, "reasoning_traces")?;
    let others = "SELECT count(*) FROM sqlite_schema WHERE tbl_name NOT IN \
                  ('reasoning_traces', 'meta', 'sqlite_sequence') OR type NOT IN ('table', 'index')";
    let others: i64 = connection.query_row(others, [], |row| row.get(0))?;
    Ok(is_there && others == 0)
}

/// A column that such a table lacks.
pub(super) fn lacking(connection: &Connection) -> rusqlite::Result<Option<&'static str>> {
    let sql = "SELECT lower(name) FROM pragma_table_info('reasoning_traces')";
    let mut names = connection.prepare(sql)?;
    let names = names.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    Ok(COLUMNS.into_iter().find(|column| !names.iter().any(|name| name == column)))
}

/// Keeps the rows of such a table apart until they are masked, and drops it before ours is made.
pub(super) fn put_aside(connection: &Connection) -> rusqlite::Result<()> {
    if connection.table_exists(None, "reasoning_traces")? {
        connection.execute_batch(&format!("{APART} {}; DROP TABLE reasoning_traces;", told()))?;
    }
    Ok(())
}

/// Keeps rows apart, whatever the other program wrote into them: no row is lost for that, and none stops the others. A row
/// without an id, or with one that another has, gets one of its own. A time is in milliseconds, or a date; one that is
/// still to come would never grow old, and is now.
fn told() -> String {
    let [texts @ .., _, _, _, _, _] = COLUMNS;
    let text = |name: &str| format!("CAST(coalesce({name}, '') AS TEXT)");
    let number = |name: &str| format!("max(0, CAST(coalesce({name}, 0) AS INTEGER))");
    let numbers = ["reasoning_tokens", "total_tokens", "duration_ms"].map(number);
    let texts = texts.iter().skip(1).map(|name| text(name));
    let all = texts.chain(numbers).chain([text("metadata")]).collect::<Vec<_>>().join(", ");
    let time = format!(
        "min(1000 * CAST(unixepoch('now') AS INTEGER), CASE \
         WHEN CAST(created_at AS TEXT) GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' \
         THEN max(0, 1000 * coalesce(unixepoch(created_at), 0)) ELSE {} END)",
        number("created_at")
    );
    format!(
        "INSERT INTO trace_unmasked SELECT CASE \
             WHEN id <> '' AND row_number() OVER (PARTITION BY CAST(id AS TEXT)) = 1 \
             THEN CAST(id AS TEXT) ELSE 'without-id-' || hex(randomblob(16)) END, {all}, {time} \
         FROM reasoning_traces"
    )
}

impl Sqlite {
    /// The next rows that are not masked yet.
    pub(crate) async fn unmasked_traces(&self, limit: u32) -> Result<Vec<OldTrace>, StoreError> {
        self.read(move |connection| {
            // In one moment: whoever took the last row takes the table.
            let connection = connection.unchecked_transaction()?;
            if !is_there(&connection)? {
                return Ok(Vec::new());
            }
            let sql = format!(
                "SELECT {}, CAST(rowid AS TEXT) FROM trace_unmasked ORDER BY rowid LIMIT ?",
                COLUMNS.join(", ")
            );
            connection.prepare(&sql)?.query_map([limit], old)?.collect()
        })
        .await
    }

    /// These are masked, and stand among the others.
    pub(crate) async fn forget_unmasked(&self, marks: Vec<String>) -> Result<(), StoreError> {
        self.write(Safety::Process, move |connection| {
            if !is_there(connection)? {
                return Ok(());
            }
            let places = vec!["?"; marks.len()].join(", ");
            let sql = format!("DELETE FROM trace_unmasked WHERE rowid IN ({places})");
            connection.execute(&sql, params_from_iter(&marks)).map(|_| ())
        })
        .await
    }

    /// All rows are masked: what they were goes from the log, too, and the table behind that, so that it says for as long
    /// as it is there that this is still to be done. What goes from the file itself is overwritten (`secure_delete`).
    pub(crate) async fn end_taking_over(&self) -> Result<(), StoreError> {
        if !self.read(is_there).await? {
            return Ok(());
        }
        self.forget_log().await.map_err(|error| match error {
            StoreError::Lingers(at) => StoreError::Unmasked(at),
            error => error,
        })?;
        self.write(Safety::Process, |connection| {
            let sql = "SELECT EXISTS (SELECT 1 FROM trace_unmasked)";
            // Another process may have been first.
            if is_there(connection)? && !connection.query_row(sql, [], |row| row.get(0))? {
                connection.execute_batch("DROP TABLE trace_unmasked")?;
            }
            Ok(())
        })
        .await
    }
}

/// Asks the file itself: what a connection remembers of its tables may be of before another one took this one, and begins
/// no moment of reading.
fn is_there(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'trace_unmasked')";
    connection.query_row(sql, [], |row| row.get(0))
}

fn old(row: &Row<'_>) -> rusqlite::Result<OldTrace> {
    let trace = TraceRow {
        id: text(row, 0)?,
        session: text(row, 1)?,
        run: text(row, 2)?,
        model: text(row, 3)?,
        provider: text(row, 4)?,
        thought: text(row, 5)?,
        reasoning_tokens: row.get(6)?,
        total_tokens: row.get(7)?,
        duration: row.get(8)?,
        metadata: text(row, 9)?,
        created_at: row.get(10)?,
        ..TraceRow::default()
    };
    Ok(OldTrace { row: trace, mark: row.get(11)? })
}

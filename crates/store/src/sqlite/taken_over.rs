//! A table of traces that another program made: it is put aside, and its rows become ours one step after the other, as
//! they are masked (`crate::taken_over`). Nobody reads them before.

use super::{Safety, Sqlite, words};
use crate::error::StoreError;
use crate::old_trace::{COLUMNS, OldTrace};
use crate::row::TraceRow;
use rusqlite::{Connection, Row, params_from_iter};

/// Whether a file that is nobody's has nothing but such a table and what belongs to it; a table `meta` stays as it is.
pub(super) fn is_all_there_is(connection: &Connection) -> rusqlite::Result<bool> {
    let others = "SELECT count(*) FROM sqlite_schema WHERE tbl_name NOT IN \
                  ('reasoning_traces', 'meta', 'sqlite_sequence') OR type NOT IN ('table', 'index')";
    let others: i64 = connection.query_row(others, [], |row| row.get(0))?;
    let names = COLUMNS.map(|name| format!("'{name}'")).join(", ");
    let columns = format!(
        "SELECT count(*) FROM pragma_table_info('reasoning_traces') WHERE name IN ({names})"
    );
    let columns: i64 = connection.query_row(&columns, [], |row| row.get(0))?;
    Ok(others == 0 && usize::try_from(columns) == Ok(COLUMNS.len()))
}

/// Renames such a table before ours is made; gives whether there was one.
pub(super) fn put_aside(connection: &Connection) -> rusqlite::Result<bool> {
    let is_there = connection.table_exists(None, "reasoning_traces")?;
    let is_ours = connection.table_exists(None, "trace_indexed")?;
    if !is_there || is_ours {
        return Ok(false);
    }
    // Ours may have the same names.
    let indexes = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL \
                   AND tbl_name = 'reasoning_traces'";
    let indexes: Vec<String> = connection
        .prepare(indexes)?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for index in indexes {
        connection.execute_batch(&format!("DROP INDEX \"{}\"", index.replace('"', "\"\"")))?;
    }
    connection.execute_batch("ALTER TABLE reasoning_traces RENAME TO reasoning_traces_before")?;
    Ok(true)
}

/// Keeps the rows of such a table apart until they are masked: of the one that was put aside, and those that an older
/// version took over as they were, which are nobody's.
pub(super) fn keep_apart(connection: &Connection, was_put_aside: bool) -> rusqlite::Result<()> {
    let sql = "SELECT EXISTS (SELECT 1 FROM reasoning_traces WHERE tenant = '')";
    let was_taken_over = connection.query_row(sql, [], |row| row.get(0))?;
    if was_put_aside || was_taken_over {
        connection.execute_batch(APART)?;
    }
    if was_put_aside {
        connection.execute_batch(&format!(
            "INSERT INTO trace_unmasked SELECT {} FROM reasoning_traces_before; \
             DROP TABLE reasoning_traces_before;",
            told()
        ))?;
    }
    if was_taken_over {
        let sql = "SELECT rowid FROM reasoning_traces WHERE tenant = ''";
        let mut words = words::Removing::from(connection)?;
        for number in connection.prepare(sql)?.query_map([], |row| row.get(0))? {
            words.remove(number?)?;
        }
        connection.execute_batch(&format!(
            "INSERT OR IGNORE INTO trace_unmasked SELECT {} FROM reasoning_traces WHERE tenant = ''; \
             DELETE FROM reasoning_traces WHERE tenant = '';",
            told()
        ))?;
    }
    Ok(())
}

/// Rows that are not masked yet. There is none in most stores.
const APART: &str = "CREATE TABLE IF NOT EXISTS trace_unmasked (
    id TEXT PRIMARY KEY,
    session_key TEXT NOT NULL,
    run_id TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    reasoning_text TEXT NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    total_tokens INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    created_at INTEGER NOT NULL
);";

/// The columns, whatever the other program wrote into them: no row is lost for that.
fn told() -> String {
    let [texts @ .., _, _, _, _, _] = COLUMNS;
    let text = |name: &str| format!("CAST(coalesce({name}, '') AS TEXT)");
    let number = |name: &str| format!("CAST(coalesce({name}, 0) AS INTEGER)");
    let numbers = ["reasoning_tokens", "total_tokens", "duration_ms"].map(number);
    let all = texts.iter().map(|name| text(name)).chain(numbers);
    let all = all.chain([text("metadata"), number("created_at")]);
    all.collect::<Vec<_>>().join(", ")
}

impl Sqlite {
    /// The next rows that are not masked yet.
    pub(crate) async fn unmasked_traces(&self, limit: u32) -> Result<Vec<OldTrace>, StoreError> {
        self.read(move |connection| {
            if !connection.table_exists(None, "trace_unmasked")? {
                return Ok(Vec::new());
            }
            let sql =
                format!("SELECT {} FROM trace_unmasked ORDER BY id LIMIT ?", COLUMNS.join(", "));
            connection.prepare(&sql)?.query_map([limit], old)?.collect()
        })
        .await
    }

    /// These are masked, and stand among the others.
    pub(crate) async fn forget_unmasked(&self, ids: Vec<String>) -> Result<(), StoreError> {
        self.write(Safety::Process, move |connection| {
            let places = vec!["?"; ids.len()].join(", ");
            let sql = format!("DELETE FROM trace_unmasked WHERE id IN ({places})");
            connection.execute(&sql, params_from_iter(&ids)).map(|_| ())
        })
        .await
    }
}

fn old(row: &Row<'_>) -> rusqlite::Result<OldTrace> {
    Ok(OldTrace(TraceRow {
        id: row.get(0)?,
        session: row.get(1)?,
        run: row.get(2)?,
        model: row.get(3)?,
        provider: row.get(4)?,
        thought: row.get(5)?,
        reasoning_tokens: row.get(6)?,
        total_tokens: row.get(7)?,
        duration: row.get(8)?,
        metadata: row.get(9)?,
        created_at: row.get(10)?,
        ..TraceRow::default()
    }))
}

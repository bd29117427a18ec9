//! Import of traces of another program from a SQLite file with a table `reasoning_traces`. Each trace is masked
//! first.

use crate::draft::TraceDraft;
use crate::error::StoreError;
use crate::row::TraceRow;
use crate::store::Store;
use crate::trace::{DraftText, TraceNumbers, TraceState};
use crate::trace_items::TraceItems;
use rusqlite::{Connection, OpenFlags, Row};
use std::path::Path;
use std::sync::Arc;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::why::Why;
use thinkthrough_json::Raw;
use thinkthrough_mask::Masker;
use tokio::sync::mpsc::{Sender, channel};

/// The columns that such a table has. Source: the decision record of reasoning traces.
const COLUMNS: [&str; 11] = [
    "id",
    "session_key",
    "run_id",
    "model",
    "provider",
    "reasoning_text",
    "reasoning_tokens",
    "total_tokens",
    "duration_ms",
    "metadata",
    "created_at",
];

/// Traces in one transaction.
const STEP: usize = 64;

impl Store {
    /// Masks the traces in a file of another program and adds them as traces of this machine's user. The file is only
    /// read. A trace that was added before stays as it is. Calls `told` with the number of traces read so far, and
    /// returns that number at the end.
    ///
    /// # Errors
    /// When the file has no such table or lacks a column, and when a file cannot be read or written. Traces that were
    /// added by then stay.
    pub async fn import_traces(
        &self,
        file: &Path,
        masker: &Masker,
        told: &mut (dyn FnMut(u64) + Send),
    ) -> Result<u64, StoreError> {
        let (steps, mut coming) = channel(2);
        let (path, masker) = (file.to_owned(), masker.clone());
        let read = move || read(&path, &masker, &steps);
        let reading = tokio::task::spawn_blocking(read);
        let mut count = 0;
        while let Some(rows) = coming.recv().await {
            count += u64::try_from(Vec::len(&rows)).unwrap_or_default();
            self.backend().add_traces(rows).await?;
            told(count);
        }
        reading.await.map_err(|_| StoreError::Closed)??;
        while self.traces().index().await? > 0 {}
        Ok(count)
    }
}

fn read(
    path: &Path,
    masker: &Masker,
    steps: &Sender<Vec<Arc<TraceRow>>>,
) -> Result<(), StoreError> {
    let refused = |message| StoreError::File { path: path.to_owned(), message };
    let failed = |error: rusqlite::Error| refused(error.to_string());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    if let Some(message) = lacking(&connection).map_err(failed)? {
        return Err(refused(message));
    }
    let mut select = connection.prepare(&select()).map_err(failed)?;
    let rows = select.query_map([], |row| old(row).map(|row| masked(row, masker)));
    let mut step = Vec::new();
    for row in rows.map_err(failed)? {
        step.push(Arc::new(row.map_err(failed)?));
        // The receiver is gone if the store failed. Then the rest is not read.
        if step.len() == STEP && steps.blocking_send(std::mem::take(&mut step)).is_err() {
            return Ok(());
        }
    }
    // Ignores a closed receiver, as above.
    drop(steps.blocking_send(step));
    Ok(())
}

/// Returns a sentence about the table or column that the file lacks.
fn lacking(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT lower(name) FROM pragma_table_info('reasoning_traces')";
    let mut names = connection.prepare(sql)?;
    let names = names.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    if names.is_empty() {
        return Ok(Some("it has no table `reasoning_traces`".to_owned()));
    }
    let lacks = COLUMNS.into_iter().find(|column| !names.iter().any(|name| name == column));
    Ok(lacks.map(|column| format!("its table `reasoning_traces` has no column `{column}`")))
}

/// A query for every row, whatever values the other program wrote. The id is empty if the row has none or repeats
/// one; [`old`] derives an id from the row's place and texts, so that the row is added once. A time is in
/// milliseconds, in seconds if it is too small for that, or a date. A future time becomes now, because its trace
/// would never grow old.
fn select() -> String {
    let text = |name: &str| format!("CAST(coalesce({name}, '') AS TEXT)");
    let number = |name: &str| format!("max(0, CAST(coalesce({name}, 0) AS INTEGER))");
    let texts = ["session_key", "run_id", "model", "provider", "reasoning_text"].map(text);
    let numbers = ["reasoning_tokens", "total_tokens", "duration_ms"].map(number);
    // So many milliseconds end in 1973, so many seconds in 5138.
    let created_at = number("created_at");
    let time = format!(
        "min(1000 * CAST(unixepoch('now') AS INTEGER), CASE \
         WHEN CAST(created_at AS TEXT) GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' \
         THEN max(0, 1000 * coalesce(unixepoch(created_at), 0)) WHEN {created_at} < 100000000000 THEN 1000 * {created_at} ELSE {created_at} END)"
    );
    format!(
        "SELECT CASE WHEN row_number() OVER (PARTITION BY CAST(id AS TEXT) ORDER BY rowid) = 1 \
         THEN {} ELSE '' END, {}, {}, {}, {time}, rowid FROM reasoning_traces",
        text("id"),
        texts.join(", "),
        numbers.join(", "),
        text("metadata")
    )
}

/// A row of another program, not masked yet.
struct Old {
    id: String,
    /// Session, run, model, provider and thought.
    texts: [String; 5],
    /// Reasoning tokens, total tokens and duration.
    numbers: [i64; 3],
    metadata: String,
    created_at: i64,
}

fn old(row: &Row<'_>) -> rusqlite::Result<Old> {
    // A text may hold invalid UTF-8.
    let text = |index: usize| -> rusqlite::Result<String> {
        Ok(String::from_utf8_lossy(row.get_ref(index)?.as_bytes()?).into_owned())
    };
    let texts = [text(1)?, text(2)?, text(3)?, text(4)?, text(5)?];
    let created_at = row.get(10)?;
    let id = match text(0)? {
        id if id.is_empty() => {
            let mut digest = blake3::Hasher::new();
            digest.update(&row.get::<_, i64>(11)?.to_le_bytes());
            for text in &texts {
                digest.update(text.as_bytes());
            }
            format!("without-id-{:.32}", digest.finalize().to_hex())
        }
        id => id,
    };
    Ok(Old {
        id,
        texts,
        numbers: [row.get(6)?, row.get(7)?, row.get(8)?],
        metadata: text(9)?,
        created_at,
    })
}

fn masked(old: Old, masker: &Masker) -> TraceRow {
    let number = |number: i64| u64::try_from(number).unwrap_or_default();
    let [session, run, model, provider, thought] = old.texts;
    let [reasoning_tokens, total_tokens, duration] = old.numbers.map(number);
    let draft = TraceDraft {
        id: old.id,
        tenant: Tenant::local(),
        session,
        run: masker.mask_text(&run),
        model,
        provider: masker.mask_text(&provider),
        // An imported thought is never cut, however long it is.
        thought: DraftText { text: thought, is_cut: false },
        answer: DraftText::default(),
        metadata: Raw::parse(&old.metadata)
            .unwrap_or_else(|_| Raw::build(|w| w.str(&old.metadata))),
        why: Why::default(),
        items: TraceItems::default(),
        numbers: TraceNumbers {
            reasoning_tokens,
            total_tokens,
            duration,
            created_at: number(old.created_at),
            ..TraceNumbers::default()
        },
        state: TraceState::Whole,
    };
    TraceRow::from(draft.masked(masker))
}

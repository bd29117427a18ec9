//! The rows of a table of traces that another program made.

use crate::row::TraceRow;

/// What a table of traces has that another program made, the numbers and what is known besides at the end.
pub(crate) const COLUMNS: [&str; 11] = [
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

/// Where such rows are kept apart until they are masked; most stores have none. Both databases take the same words.
pub(crate) const APART: &str = "CREATE TABLE IF NOT EXISTS trace_unmasked (
    id TEXT PRIMARY KEY,
    session_key TEXT NOT NULL,
    run_id TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    reasoning_text TEXT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    total_tokens BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL,
    metadata TEXT NOT NULL,
    created_at BIGINT NOT NULL
);";

/// What is said of such a table that lacks something.
pub(crate) fn lacks(column: &str) -> String {
    format!(
        "the table `reasoning_traces` of another program has no column `{column}`; add that, or give the table another name"
    )
}

/// A row that nobody masked: it is not to be shown, nor kept among the others.
pub(crate) struct OldTrace {
    pub(crate) row: TraceRow,
    /// What the database knows it by.
    pub(crate) mark: String,
}

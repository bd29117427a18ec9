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

/// A row that nobody masked: it is not to be shown, nor kept among the others.
pub(crate) struct OldTrace(pub(crate) TraceRow);

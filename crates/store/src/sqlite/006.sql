-- What models thought, for people to read and search. It is masked before it comes here, and never goes back to a model.
-- The first eleven columns are those of the decision that asked for this table.
CREATE TABLE reasoning_traces (
    id TEXT PRIMARY KEY,
    session_key TEXT NOT NULL,
    run_id TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    reasoning_text TEXT NOT NULL,
    reasoning_tokens INTEGER NOT NULL DEFAULT 0,
    total_tokens INTEGER NOT NULL DEFAULT 0,
    duration_ms INTEGER NOT NULL DEFAULT 0,
    metadata TEXT DEFAULT '{}',
    created_at INTEGER NOT NULL,
    tenant TEXT NOT NULL DEFAULT '',
    response_text TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL DEFAULT 'whole',
    sealed_bytes INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cached_tokens INTEGER
);

CREATE INDEX traces_by_session ON reasoning_traces (session_key, created_at);
CREATE INDEX traces_by_run ON reasoning_traces (run_id);
CREATE INDEX traces_by_model ON reasoning_traces (model, created_at);
CREATE INDEX traces_by_time ON reasoning_traces (created_at);

-- The words of both texts, by the row's number. It is filled behind the table, so that nobody waits for it.
CREATE VIRTUAL TABLE trace_words USING fts5(
    reasoning_text, response_text, content = '', contentless_delete = 1
);

-- Rows up to this number are in it.
CREATE TABLE trace_indexed (up_to INTEGER NOT NULL);
INSERT INTO trace_indexed VALUES (0);

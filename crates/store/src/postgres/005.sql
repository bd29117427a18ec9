-- What models thought, for people to read and search. It is masked before it comes here, and never goes back to a model.
-- The first eleven columns are those of the decision that asked for this table.
-- A table of this name that somebody else made keeps its rows: they are moved below.
DO $$ BEGIN
    IF to_regclass('reasoning_traces') IS NOT NULL THEN
        ALTER TABLE reasoning_traces RENAME TO reasoning_traces_before;
    END IF;
END $$;

CREATE TABLE reasoning_traces (
    id TEXT PRIMARY KEY,
    session_key TEXT NOT NULL,
    run_id TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    reasoning_text TEXT NOT NULL,
    reasoning_tokens BIGINT NOT NULL DEFAULT 0,
    total_tokens BIGINT NOT NULL DEFAULT 0,
    duration_ms BIGINT NOT NULL DEFAULT 0,
    metadata TEXT DEFAULT '{}',
    created_at BIGINT NOT NULL,
    tenant TEXT NOT NULL DEFAULT '',
    response_text TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL DEFAULT 'whole',
    sealed_bytes BIGINT NOT NULL DEFAULT 0,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cached_tokens BIGINT,
    -- The words of the thought (weight A) and of the answer (B); filled behind the table, so that nobody waits for it.
    words TSVECTOR
);

CREATE INDEX traces_by_session ON reasoning_traces (session_key, created_at);
CREATE INDEX traces_by_run ON reasoning_traces (run_id);
CREATE INDEX traces_by_model ON reasoning_traces (model, created_at);
CREATE INDEX traces_by_time ON reasoning_traces (created_at);
CREATE INDEX traces_by_word ON reasoning_traces USING gin (words);
-- Those whose words are still to be read.
CREATE INDEX traces_unread ON reasoning_traces (created_at) WHERE words IS NULL;

DO $$ BEGIN
    IF to_regclass('reasoning_traces_before') IS NOT NULL THEN
        INSERT INTO reasoning_traces (id, session_key, run_id, model, provider, reasoning_text,
            reasoning_tokens, total_tokens, duration_ms, metadata, created_at)
        SELECT id::text, session_key, run_id, model, provider, reasoning_text,
            reasoning_tokens, total_tokens, duration_ms, metadata, created_at
        FROM reasoning_traces_before ON CONFLICT DO NOTHING;
        DROP TABLE reasoning_traces_before;
    END IF;
END $$;

-- Sessions with their sums. The database keeps them itself as traces come and go, so that a page of the list of sessions
-- costs as much as it shows, however many traces and sessions there are.
CREATE TABLE trace_session (
    tenant TEXT NOT NULL,
    session_key TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    -- Of the newest trace.
    last_id TEXT NOT NULL,
    -- The models that were asked, with commas between them; no more than fit into two thousand letters.
    models TEXT NOT NULL,
    requests INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL,
    total_tokens INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    PRIMARY KEY (tenant, session_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX trace_sessions_by_time ON trace_session (last_at, last_id);
CREATE INDEX trace_sessions_of_tenant ON trace_session (tenant, last_at, last_id);

-- The sessions of older traces are summed up in steps, in their order: here is the last one. No row: all are.
CREATE TABLE trace_session_fill (tenant TEXT NOT NULL, session_key TEXT NOT NULL) STRICT;
INSERT INTO trace_session_fill SELECT '', '' FROM reasoning_traces LIMIT 1;

CREATE TRIGGER trace_added AFTER INSERT ON reasoning_traces BEGIN
    INSERT INTO trace_session (tenant, session_key, first_at, last_at, last_id, models, requests,
        reasoning_tokens, total_tokens, duration_ms)
    VALUES (new.tenant, new.session_key, new.created_at, new.created_at, new.id, new.model, 1,
        new.reasoning_tokens, new.total_tokens, new.duration_ms)
    ON CONFLICT (tenant, session_key) DO UPDATE SET
        first_at = min(first_at, excluded.first_at),
        last_at = max(last_at, excluded.last_at),
        last_id = CASE WHEN (excluded.last_at, excluded.last_id) > (last_at, last_id)
            THEN excluded.last_id ELSE last_id END,
        models = CASE WHEN instr(',' || models || ',', ',' || excluded.models || ',') > 0
            OR length(models) + length(excluded.models) > 2000
            THEN models ELSE models || ',' || excluded.models END,
        requests = requests + 1,
        reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
        total_tokens = total_tokens + excluded.total_tokens,
        duration_ms = duration_ms + excluded.duration_ms;
END;

CREATE TRIGGER trace_removed AFTER DELETE ON reasoning_traces BEGIN
    UPDATE trace_session SET
        requests = requests - 1,
        reasoning_tokens = reasoning_tokens - old.reasoning_tokens,
        total_tokens = total_tokens - old.total_tokens,
        duration_ms = duration_ms - old.duration_ms
    WHERE tenant = old.tenant AND session_key = old.session_key;
    DELETE FROM trace_session
    WHERE tenant = old.tenant AND session_key = old.session_key AND requests < 1;
    -- The first and the newest one are looked for only where they went.
    UPDATE trace_session SET first_at = coalesce((SELECT created_at FROM reasoning_traces
        WHERE tenant = old.tenant AND session_key = old.session_key ORDER BY created_at LIMIT 1), first_at)
    WHERE tenant = old.tenant AND session_key = old.session_key AND first_at = old.created_at;
    UPDATE trace_session SET (last_at, last_id) = (SELECT created_at, id FROM reasoning_traces
        WHERE tenant = old.tenant AND session_key = old.session_key ORDER BY created_at DESC, id DESC LIMIT 1)
    WHERE tenant = old.tenant AND session_key = old.session_key AND last_id = old.id
        AND EXISTS (SELECT 1 FROM reasoning_traces
            WHERE tenant = old.tenant AND session_key = old.session_key);
END;

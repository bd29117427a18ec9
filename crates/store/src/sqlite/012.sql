-- Sums of sessions are made with the index of words, many traces at a time and behind all writers, so that whoever adds
-- a trace does not wait for them: up to the same row a trace is in both, and behind it in none.
DROP TRIGGER trace_added;
DROP TRIGGER trace_removed;

-- Those that were summed up as they came, and have no words yet, are summed up with their words now: their sessions are
-- counted anew without them.
DELETE FROM trace_session WHERE (tenant, session_key) IN (SELECT tenant, session_key FROM reasoning_traces
    WHERE rowid > (SELECT up_to FROM trace_indexed));
INSERT INTO trace_session (tenant, session_key, first_at, last_at, last_id, models, requests,
    reasoning_tokens, total_tokens, duration_ms)
SELECT tenant, session_key, min(created_at), max(created_at),
    substr(max(printf('%020d', created_at) || id), 21), substr(group_concat(DISTINCT model), 1, 2000),
    count(*), sum(reasoning_tokens), sum(total_tokens), sum(duration_ms)
FROM reasoning_traces WHERE rowid <= (SELECT up_to FROM trace_indexed)
    AND (tenant, session_key) IN (SELECT tenant, session_key FROM reasoning_traces
        WHERE rowid > (SELECT up_to FROM trace_indexed))
GROUP BY tenant, session_key;

-- The list of sessions has a table of its own, and nothing else needs so wide an index.
DROP INDEX traces_of_session;

-- The sessions of older traces are summed up in the order of their keys alone, and those of all tenants at once.
UPDATE trace_session_fill SET tenant = '', session_key = '';

CREATE TRIGGER trace_summed AFTER UPDATE OF up_to ON trace_indexed WHEN new.up_to > old.up_to BEGIN
    INSERT INTO trace_session (tenant, session_key, first_at, last_at, last_id, models, requests,
        reasoning_tokens, total_tokens, duration_ms)
    SELECT tenant, session_key, min(created_at), max(created_at),
        substr(max(printf('%020d', created_at) || id), 21), model, count(*), sum(reasoning_tokens),
        sum(total_tokens), sum(duration_ms)
    FROM reasoning_traces WHERE rowid > old.up_to AND rowid <= new.up_to
    GROUP BY tenant, session_key, model
    ON CONFLICT (tenant, session_key) DO UPDATE SET
        first_at = min(first_at, excluded.first_at),
        last_at = max(last_at, excluded.last_at),
        last_id = CASE WHEN (excluded.last_at, excluded.last_id) > (last_at, last_id)
            THEN excluded.last_id ELSE last_id END,
        models = CASE WHEN instr(',' || models || ',', ',' || excluded.models || ',') > 0
            OR length(models) + length(excluded.models) > 2000
            THEN models ELSE models || ',' || excluded.models END,
        requests = requests + excluded.requests,
        reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
        total_tokens = total_tokens + excluded.total_tokens,
        duration_ms = duration_ms + excluded.duration_ms;
END;

-- Of a row that is in neither nothing is taken back. A sign before a column keeps the planner away from an index that
-- begins with it.
CREATE TRIGGER trace_removed AFTER DELETE ON reasoning_traces BEGIN
    UPDATE trace_session SET
        requests = requests - 1,
        reasoning_tokens = reasoning_tokens - old.reasoning_tokens,
        total_tokens = total_tokens - old.total_tokens,
        duration_ms = duration_ms - old.duration_ms
    WHERE tenant = old.tenant AND session_key = old.session_key
        AND old.rowid <= (SELECT up_to FROM trace_indexed);
    DELETE FROM trace_session
    WHERE tenant = old.tenant AND session_key = old.session_key AND requests < 1;
    -- The first and the newest one are looked for only where they went.
    UPDATE trace_session SET first_at = coalesce((SELECT created_at FROM reasoning_traces
        WHERE session_key = old.session_key AND +tenant = old.tenant
            AND rowid <= (SELECT up_to FROM trace_indexed)
        ORDER BY created_at LIMIT 1), first_at)
    WHERE tenant = old.tenant AND session_key = old.session_key AND first_at = old.created_at;
    UPDATE trace_session SET (last_at, last_id) = (SELECT created_at, id FROM reasoning_traces
        WHERE session_key = old.session_key AND +tenant = old.tenant
            AND rowid <= (SELECT up_to FROM trace_indexed)
        ORDER BY created_at DESC, id DESC LIMIT 1)
    WHERE tenant = old.tenant AND session_key = old.session_key AND last_id = old.id
        AND EXISTS (SELECT 1 FROM reasoning_traces
            WHERE session_key = old.session_key AND +tenant = old.tenant
                AND rowid <= (SELECT up_to FROM trace_indexed));
    -- The numbers of the newest rows may be given again, to some that are in neither.
    UPDATE trace_indexed SET up_to = (SELECT coalesce(max(rowid), 0) FROM reasoning_traces)
    WHERE up_to > (SELECT coalesce(max(rowid), 0) FROM reasoning_traces);
END;

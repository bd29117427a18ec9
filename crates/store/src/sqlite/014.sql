-- No count of a trace is larger than 2^40 in a sum, and no sum than 2^62: an upstream may say any number, and a sum
-- that does not fit would stop search and sums for everybody.
DROP TRIGGER trace_summed;
DROP TRIGGER trace_removed;

-- Sessions with such a number are counted anew from their traces, as far as these are indexed.
CREATE TEMP TABLE counted_anew AS SELECT tenant, session_key FROM trace_session
    WHERE max(reasoning_tokens, total_tokens, duration_ms) > 1099511627776;
DELETE FROM trace_session WHERE (tenant, session_key) IN (SELECT tenant, session_key FROM counted_anew);
INSERT INTO trace_session (tenant, session_key, first_at, last_at, last_id, models, requests,
    reasoning_tokens, total_tokens, duration_ms)
SELECT tenant, session_key, min(created_at), max(created_at),
    substr(max(printf('%020d', created_at) || id), 21), substr(group_concat(DISTINCT model), 1, 2000), count(*),
    CAST(min(total(min(reasoning_tokens, 1099511627776)), 4611686018427387904) AS INTEGER),
    CAST(min(total(min(total_tokens, 1099511627776)), 4611686018427387904) AS INTEGER),
    CAST(min(total(min(duration_ms, 1099511627776)), 4611686018427387904) AS INTEGER)
FROM reasoning_traces WHERE rowid <= (SELECT up_to FROM trace_indexed)
    AND (tenant, session_key) IN (SELECT tenant, session_key FROM counted_anew)
GROUP BY tenant, session_key;
DROP TABLE counted_anew;

CREATE TRIGGER trace_summed AFTER UPDATE OF up_to ON trace_indexed WHEN new.up_to > old.up_to BEGIN
    INSERT INTO trace_session (tenant, session_key, first_at, last_at, last_id, models, requests,
        reasoning_tokens, total_tokens, duration_ms)
    SELECT tenant, session_key, min(created_at), max(created_at),
        substr(max(printf('%020d', created_at) || id), 21), model, count(*),
        CAST(min(total(min(reasoning_tokens, 1099511627776)), 4611686018427387904) AS INTEGER),
        CAST(min(total(min(total_tokens, 1099511627776)), 4611686018427387904) AS INTEGER),
        CAST(min(total(min(duration_ms, 1099511627776)), 4611686018427387904) AS INTEGER)
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
        -- Of two that are at most 2^62 the larger one leaves room for the other.
        reasoning_tokens = min(reasoning_tokens, 4611686018427387904 - excluded.reasoning_tokens)
            + excluded.reasoning_tokens,
        total_tokens = min(total_tokens, 4611686018427387904 - excluded.total_tokens) + excluded.total_tokens,
        duration_ms = min(duration_ms, 4611686018427387904 - excluded.duration_ms) + excluded.duration_ms;
END;

-- As before, but for the bounds.
CREATE TRIGGER trace_removed AFTER DELETE ON reasoning_traces BEGIN
    UPDATE trace_session SET
        requests = requests - 1,
        reasoning_tokens = reasoning_tokens - min(old.reasoning_tokens, 1099511627776),
        total_tokens = total_tokens - min(old.total_tokens, 1099511627776),
        duration_ms = duration_ms - min(old.duration_ms, 1099511627776)
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

-- No count of a trace is larger than 2^40 in a sum, and no sum than 2^62: an upstream may say any number, and a sum
-- that does not fit would stop search and sums for everybody.
CREATE OR REPLACE FUNCTION trace_sessions_grow() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO trace_session AS kept (tenant, session_key, first_at, last_at, last_id, models,
        requests, reasoning_tokens, total_tokens, duration_ms)
    SELECT added.tenant, added.session_key, min(added.created_at), max(added.created_at),
        (array_agg(id ORDER BY added.created_at DESC, id DESC))[1],
        left(string_agg(DISTINCT added.model, ','), 2000), count(*),
        least(sum(least(added.reasoning_tokens, 1099511627776)), 4611686018427387904),
        least(sum(least(added.total_tokens, 1099511627776)), 4611686018427387904),
        least(sum(least(added.duration_ms, 1099511627776)), 4611686018427387904)
    FROM added JOIN before USING (id) WHERE before.words IS NULL AND added.words IS NOT NULL
    GROUP BY added.tenant, added.session_key ORDER BY added.tenant, added.session_key
    ON CONFLICT (tenant, session_key) DO UPDATE SET
        first_at = least(kept.first_at, excluded.first_at),
        last_at = greatest(kept.last_at, excluded.last_at),
        last_id = CASE WHEN (excluded.last_at, excluded.last_id) > (kept.last_at, kept.last_id)
            THEN excluded.last_id ELSE kept.last_id END,
        models = CASE WHEN string_to_array(kept.models, ',') @> string_to_array(excluded.models, ',')
            OR length(kept.models) + length(excluded.models) > 2000 THEN kept.models
            ELSE (SELECT string_agg(DISTINCT model, ',')
                FROM unnest(string_to_array(kept.models || ',' || excluded.models, ',')) AS model) END,
        requests = kept.requests + excluded.requests,
        -- Of two that are at most 2^62 the larger one leaves room for the other.
        reasoning_tokens = least(kept.reasoning_tokens, 4611686018427387904 - excluded.reasoning_tokens)
            + excluded.reasoning_tokens,
        total_tokens = least(kept.total_tokens, 4611686018427387904 - excluded.total_tokens)
            + excluded.total_tokens,
        duration_ms = least(kept.duration_ms, 4611686018427387904 - excluded.duration_ms)
            + excluded.duration_ms;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION trace_sessions_shrink() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    -- Whoever adds to one of them now comes before or behind all of this, which then sees its traces.
    PERFORM 1 FROM trace_session WHERE (tenant, session_key) IN (SELECT tenant, session_key FROM removed)
    ORDER BY tenant, session_key FOR UPDATE;
    UPDATE trace_session AS kept SET
        requests = kept.requests - gone.requests,
        reasoning_tokens = kept.reasoning_tokens - gone.reasoning_tokens,
        total_tokens = kept.total_tokens - gone.total_tokens,
        duration_ms = kept.duration_ms - gone.duration_ms
    FROM (SELECT tenant, session_key, count(*) AS requests,
        least(sum(least(reasoning_tokens, 1099511627776)), 4611686018427387904) AS reasoning_tokens,
        least(sum(least(total_tokens, 1099511627776)), 4611686018427387904) AS total_tokens,
        least(sum(least(duration_ms, 1099511627776)), 4611686018427387904) AS duration_ms
        FROM removed WHERE words IS NOT NULL GROUP BY tenant, session_key) AS gone
    WHERE kept.tenant = gone.tenant AND kept.session_key = gone.session_key;
    DELETE FROM trace_session WHERE requests < 1
    AND (tenant, session_key) IN (SELECT tenant, session_key FROM removed);
    -- The first and the newest one are looked for only where they went. Written so that there is nothing to plan: two
    -- bounds are no equality, and only the index of sessions has the order that is asked for.
    UPDATE trace_session AS kept SET first_at = it.created_at
    FROM (SELECT tenant, session_key, min(created_at) AS first_at FROM removed GROUP BY tenant, session_key) AS gone,
    LATERAL (SELECT each.created_at FROM reasoning_traces AS each
        WHERE each.session_key >= gone.session_key AND each.session_key <= gone.session_key
            AND each.tenant = gone.tenant AND each.words IS NOT NULL
        ORDER BY each.session_key, each.created_at LIMIT 1) AS it
    WHERE kept.tenant = gone.tenant AND kept.session_key = gone.session_key AND kept.first_at >= gone.first_at;
    UPDATE trace_session AS kept SET last_at = it.created_at, last_id = (SELECT max(newest.id)
        FROM reasoning_traces AS newest WHERE newest.session_key = gone.session_key
            AND newest.created_at = it.created_at AND newest.tenant = gone.tenant
            AND newest.words IS NOT NULL)
    FROM removed AS gone,
    LATERAL (SELECT each.created_at FROM reasoning_traces AS each
        WHERE each.session_key >= gone.session_key AND each.session_key <= gone.session_key
            AND each.tenant = gone.tenant AND each.words IS NOT NULL
        ORDER BY each.session_key DESC, each.created_at DESC LIMIT 1) AS it
    WHERE kept.tenant = gone.tenant AND kept.session_key = gone.session_key AND kept.last_id = gone.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION trace_sessions_fill(most BIGINT) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    place trace_session_fill;
    newest TEXT;
    found_keys BIGINT;
BEGIN
    -- Nobody adds or takes out a trace meanwhile, which would be counted twice or not at all.
    LOCK TABLE reasoning_traces IN SHARE ROW EXCLUSIVE MODE;
    SELECT * INTO place FROM trace_session_fill;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- From key to key through the index, however many traces each has.
    WITH RECURSIVE key AS (
        (SELECT session_key FROM reasoning_traces WHERE session_key >= place.session_key
            ORDER BY session_key LIMIT 1)
        UNION ALL
        SELECT (SELECT next.session_key FROM reasoning_traces AS next
            WHERE next.session_key > key.session_key ORDER BY next.session_key LIMIT 1)
        FROM key WHERE key.session_key IS NOT NULL)
    SELECT max(session_key), count(session_key) INTO newest, found_keys
    FROM (SELECT session_key FROM key LIMIT most) AS keys;
    INSERT INTO trace_session (tenant, session_key, first_at, last_at, last_id, models, requests,
        reasoning_tokens, total_tokens, duration_ms)
    SELECT tenant, session_key, min(created_at), max(created_at),
        (array_agg(id ORDER BY created_at DESC, id DESC))[1], left(string_agg(DISTINCT model, ','), 2000),
        count(*),
        least(sum(least(reasoning_tokens, 1099511627776)), 4611686018427387904),
        least(sum(least(total_tokens, 1099511627776)), 4611686018427387904),
        least(sum(least(duration_ms, 1099511627776)), 4611686018427387904)
    FROM reasoning_traces WHERE session_key >= place.session_key AND session_key <= newest
        AND words IS NOT NULL
    GROUP BY tenant, session_key ORDER BY tenant, session_key
    ON CONFLICT (tenant, session_key) DO UPDATE SET
        first_at = excluded.first_at, last_at = excluded.last_at, last_id = excluded.last_id,
        models = excluded.models, requests = excluded.requests,
        reasoning_tokens = excluded.reasoning_tokens, total_tokens = excluded.total_tokens,
        duration_ms = excluded.duration_ms;
    IF found_keys = most THEN
        UPDATE trace_session_fill SET tenant = '', session_key = newest;
        RETURN true;
    END IF;
    DELETE FROM trace_session_fill;
    RETURN false;
END $$;

-- Sessions with such a number are counted anew from their traces, as far as these are indexed.
UPDATE trace_session AS kept SET reasoning_tokens = anew.reasoning_tokens, total_tokens = anew.total_tokens,
    duration_ms = anew.duration_ms
FROM (SELECT tenant, session_key,
        least(sum(least(reasoning_tokens, 1099511627776)), 4611686018427387904) AS reasoning_tokens,
        least(sum(least(total_tokens, 1099511627776)), 4611686018427387904) AS total_tokens,
        least(sum(least(duration_ms, 1099511627776)), 4611686018427387904) AS duration_ms
    FROM reasoning_traces WHERE words IS NOT NULL AND (tenant, session_key) IN (SELECT tenant, session_key
        FROM trace_session WHERE greatest(reasoning_tokens, total_tokens, duration_ms) > 1099511627776)
    GROUP BY tenant, session_key) AS anew
WHERE kept.tenant = anew.tenant AND kept.session_key = anew.session_key;

-- Rows that `005.sql` took over from a table of another program are masked before anybody reads them: they are kept apart
-- until then. They are known by having no tenant. Most databases have none.
DO $$ BEGIN
    IF EXISTS (SELECT 1 FROM reasoning_traces WHERE tenant = '') THEN
        CREATE TABLE IF NOT EXISTS trace_unmasked (
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
        );
        ALTER TABLE trace_unmasked ENABLE ROW LEVEL SECURITY;
        DROP POLICY IF EXISTS one_tenant ON trace_unmasked;
        CREATE POLICY one_tenant ON trace_unmasked USING
            ((SELECT current_setting('thinkthrough.tenant', true)) = '*');
        WITH gone AS (DELETE FROM reasoning_traces WHERE tenant = '' RETURNING *)
        INSERT INTO trace_unmasked SELECT id, session_key, run_id, model, provider, reasoning_text,
            reasoning_tokens, total_tokens, duration_ms, coalesce(metadata, ''), created_at
        FROM gone ON CONFLICT DO NOTHING;
    END IF;
END $$;

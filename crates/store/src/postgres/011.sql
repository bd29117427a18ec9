-- Sessions with their sums. The database keeps them itself as traces come and go, so that a page of the list of sessions
-- costs as much as it shows, however many traces and sessions there are.
CREATE TABLE trace_session (
    tenant TEXT NOT NULL,
    session_key TEXT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    -- Of the newest trace.
    last_id TEXT NOT NULL,
    -- The models that were asked, with commas between them; no more than fit into two thousand letters.
    models TEXT NOT NULL,
    requests BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    total_tokens BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL,
    PRIMARY KEY (tenant, session_key)
);

CREATE INDEX trace_sessions_by_time ON trace_session (last_at, last_id);
CREATE INDEX trace_sessions_of_tenant ON trace_session (tenant, last_at, last_id);

-- The sessions of older traces are summed up in steps, in their order: here is the last one. No row: all are.
CREATE TABLE trace_session_fill (tenant TEXT NOT NULL, session_key TEXT NOT NULL);

-- As for the other tables of `010.sql`.
DO $$
DECLARE
    it TEXT;
BEGIN
    FOREACH it IN ARRAY ARRAY['trace_session', 'trace_session_fill'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', it);
        EXECUTE format('CREATE POLICY one_tenant ON %I USING '
            '((SELECT current_setting(''thinkthrough.tenant'', true)) IN (''*'', ''name:'' || tenant))', it);
    END LOOP;
END $$;

-- These are done as the owner of the tables: a gateway's role that was not granted the new ones yet goes on keeping traces.
-- Rows of sessions are taken in one order everywhere, so that two gateways never wait for each other.
CREATE FUNCTION trace_sessions_grow() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO trace_session AS kept (tenant, session_key, first_at, last_at, last_id, models,
        requests, reasoning_tokens, total_tokens, duration_ms)
    SELECT tenant, session_key, min(created_at), max(created_at),
        (array_agg(id ORDER BY created_at DESC, id DESC))[1], left(string_agg(DISTINCT model, ','), 2000),
        count(*), sum(reasoning_tokens), sum(total_tokens), sum(duration_ms)
    FROM added GROUP BY tenant, session_key ORDER BY tenant, session_key
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
        reasoning_tokens = kept.reasoning_tokens + excluded.reasoning_tokens,
        total_tokens = kept.total_tokens + excluded.total_tokens,
        duration_ms = kept.duration_ms + excluded.duration_ms;
    RETURN NULL;
END $$;

CREATE FUNCTION trace_sessions_shrink() RETURNS TRIGGER
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
    FROM (SELECT tenant, session_key, count(*) AS requests, sum(reasoning_tokens) AS reasoning_tokens,
        sum(total_tokens) AS total_tokens, sum(duration_ms) AS duration_ms
        FROM removed GROUP BY tenant, session_key) AS gone
    WHERE kept.tenant = gone.tenant AND kept.session_key = gone.session_key;
    DELETE FROM trace_session WHERE requests < 1
    AND (tenant, session_key) IN (SELECT tenant, session_key FROM removed);
    -- The first and the newest one are looked for only where they went. Written so that there is nothing to plan: only
    -- the index of sessions has this order.
    UPDATE trace_session AS kept SET first_at = it.created_at
    FROM (SELECT tenant, session_key, min(created_at) AS first_at FROM removed GROUP BY tenant, session_key) AS gone,
    LATERAL (SELECT each.tenant, each.session_key, each.created_at FROM reasoning_traces AS each
        WHERE (each.tenant, each.session_key) >= (gone.tenant, gone.session_key)
        ORDER BY each.tenant, each.session_key, each.created_at LIMIT 1) AS it
    WHERE kept.tenant = gone.tenant AND kept.session_key = gone.session_key AND kept.first_at >= gone.first_at
        AND it.tenant = gone.tenant AND it.session_key = gone.session_key;
    UPDATE trace_session AS kept SET last_at = it.created_at, last_id = it.id
    FROM removed AS gone,
    LATERAL (SELECT each.tenant, each.session_key, each.created_at, each.id FROM reasoning_traces AS each
        WHERE (each.tenant, each.session_key) <= (gone.tenant, gone.session_key)
        ORDER BY each.tenant DESC, each.session_key DESC, each.created_at DESC, each.id DESC LIMIT 1) AS it
    WHERE kept.tenant = gone.tenant AND kept.session_key = gone.session_key AND kept.last_id = gone.id
        AND it.tenant = gone.tenant AND it.session_key = gone.session_key;
    RETURN NULL;
END $$;

-- Sums up the next sessions of older traces, so many; says whether there may be more.
CREATE FUNCTION trace_sessions_fill(most BIGINT) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    place trace_session_fill;
    filled BIGINT;
BEGIN
    -- Nobody adds or takes out a trace meanwhile, which would be counted twice or not at all.
    LOCK TABLE reasoning_traces IN SHARE ROW EXCLUSIVE MODE;
    SELECT * INTO place FROM trace_session_fill;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    WITH next AS (
        INSERT INTO trace_session (tenant, session_key, first_at, last_at, last_id, models, requests,
            reasoning_tokens, total_tokens, duration_ms)
        SELECT tenant, session_key, min(created_at), max(created_at),
            (array_agg(id ORDER BY created_at DESC, id DESC))[1], left(string_agg(DISTINCT model, ','), 2000),
            count(*), sum(reasoning_tokens), sum(total_tokens), sum(duration_ms)
        FROM reasoning_traces WHERE (tenant, session_key) >= (place.tenant, place.session_key)
        GROUP BY tenant, session_key ORDER BY tenant, session_key LIMIT most
        ON CONFLICT (tenant, session_key) DO UPDATE SET
            first_at = excluded.first_at, last_at = excluded.last_at, last_id = excluded.last_id,
            models = excluded.models, requests = excluded.requests,
            reasoning_tokens = excluded.reasoning_tokens, total_tokens = excluded.total_tokens,
            duration_ms = excluded.duration_ms
        RETURNING tenant, session_key)
    SELECT tenant, session_key, count(*) OVER () INTO place.tenant, place.session_key, filled
    FROM next ORDER BY tenant DESC, session_key DESC LIMIT 1;
    IF filled = most THEN
        UPDATE trace_session_fill SET tenant = place.tenant, session_key = place.session_key;
        RETURN true;
    END IF;
    DELETE FROM trace_session_fill;
    RETURN false;
END $$;

CREATE TRIGGER trace_added AFTER INSERT ON reasoning_traces
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION trace_sessions_grow();
CREATE TRIGGER trace_removed AFTER DELETE ON reasoning_traces
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION trace_sessions_shrink();

-- Behind the triggers, so that no trace comes in between.
INSERT INTO trace_session_fill SELECT '', '' FROM reasoning_traces LIMIT 1;

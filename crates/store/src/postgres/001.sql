CREATE TABLE install (
    one INT8 PRIMARY KEY CHECK (one = 1),
    key_check BYTEA NOT NULL,
    install_key BYTEA,
    key_changes INT8 NOT NULL DEFAULT 0
);

CREATE TABLE tenant (
    nr INT8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    lookup_key BYTEA NOT NULL
);

CREATE TABLE data_key (
    tenant INT8 NOT NULL REFERENCES tenant (nr),
    id INT8 NOT NULL,
    wrapped BYTEA NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE TABLE conversation (
    nr INT8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant INT8 NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    key_id INT8 NOT NULL,
    wrapped_key BYTEA NOT NULL,
    meta BYTEA NOT NULL,
    messages INT8 NOT NULL,
    updated_at INT8 NOT NULL,
    UNIQUE (tenant, id),
    FOREIGN KEY (tenant, key_id) REFERENCES data_key (tenant, id)
);

CREATE INDEX conversation_recent ON conversation (tenant, updated_at);
CREATE INDEX conversation_key ON conversation (tenant, key_id);

CREATE TABLE message (
    conversation INT8 NOT NULL REFERENCES conversation (nr) ON DELETE CASCADE,
    position INT8 NOT NULL,
    sealed BYTEA NOT NULL,
    PRIMARY KEY (conversation, position)
);

CREATE TABLE draft (
    conversation INT8 NOT NULL REFERENCES conversation (nr) ON DELETE CASCADE,
    draft INT8 NOT NULL,
    part INT8 NOT NULL,
    sealed BYTEA NOT NULL,
    PRIMARY KEY (conversation, draft, part)
);

-- Sealed bytes do not shrink.
ALTER TABLE message ALTER COLUMN sealed SET STORAGE EXTERNAL;
ALTER TABLE draft ALTER COLUMN sealed SET STORAGE EXTERNAL;

-- Conversations of the vault, which stay or go as a whole. They outlive their tenant until they are cleared away; by
-- then nothing opens them.
CREATE TABLE thread (
    nr INT8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant INT8 NOT NULL,
    name BYTEA NOT NULL,
    records INT8 NOT NULL,
    bytes INT8 NOT NULL,
    used_at INT8 NOT NULL,
    UNIQUE (tenant, name)
);

CREATE INDEX thread_used ON thread (tenant, used_at);

CREATE TABLE record (
    nr INT8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant INT8 NOT NULL,
    thread INT8 NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    key_id INT8 NOT NULL,
    keys INT8[] NOT NULL,
    head BYTEA NOT NULL,
    kept BYTEA NOT NULL,
    UNIQUE (tenant, id)
);

CREATE INDEX record_thread ON record (thread);

CREATE TABLE record_key (
    tenant INT8 NOT NULL,
    key INT8 NOT NULL,
    record INT8 NOT NULL,
    PRIMARY KEY (tenant, key, record)
);

CREATE TABLE response (
    nr INT8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant INT8 NOT NULL,
    thread INT8 NOT NULL,
    id BYTEA NOT NULL,
    previous BYTEA,
    key_id INT8 NOT NULL,
    sealed BYTEA NOT NULL,
    -- The digest of a provider resource under the key of the installation, by which every tenant finds its owner.
    resource BYTEA,
    UNIQUE (tenant, id)
);

CREATE INDEX response_thread ON response (thread);
CREATE INDEX response_resource ON response (resource) WHERE resource IS NOT NULL;

CREATE TABLE gateway_key (
    nr INT8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL UNIQUE,
    created_at INT8 NOT NULL,
    revoked_at INT8
);

CREATE UNIQUE INDEX gateway_key_name ON gateway_key (name) WHERE revoked_at IS NULL;

-- Sealed bytes do not shrink.
ALTER TABLE record ALTER COLUMN head SET STORAGE EXTERNAL;
ALTER TABLE record ALTER COLUMN kept SET STORAGE EXTERNAL;
ALTER TABLE response ALTER COLUMN sealed SET STORAGE EXTERNAL;

-- What refusals taught about models, for a day. Endpoint and model stand in a keyed digest and in the seal only.
CREATE TABLE fact (
    nr INT8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant INT8 NOT NULL,
    name BYTEA NOT NULL,
    key_id INT8 NOT NULL,
    sealed BYTEA NOT NULL,
    since INT8 NOT NULL,
    UNIQUE (tenant, name)
);

CREATE INDEX fact_since ON fact (since);

-- Sealed bytes do not shrink.
ALTER TABLE fact ALTER COLUMN sealed SET STORAGE EXTERNAL;

-- What models thought, for people to read and search. It is masked before it comes here, and never goes back to a model.
-- The first eleven columns are those of the decision that asked for this table.
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
    words TSVECTOR,
    -- Why a request went out as it did: what was decided about each answer and by what evidence, the ways that were tried,
    -- and what differs from what the client sent. A JSON object, masked; empty where nothing was decided.
    why TEXT NOT NULL DEFAULT '',
    -- What a generation cost, in micro-dollars; null where nobody knows.
    cost_micro_usd BIGINT
);

-- The question, tool calls and results, and the refusal of a trace, sealed with the tenant's data key. No search reads
-- them. They go with their trace.
CREATE TABLE trace_items (
    trace TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    key_id BIGINT NOT NULL,
    sealed BYTEA NOT NULL
);

-- Sealed bytes do not shrink.
ALTER TABLE trace_items ALTER COLUMN sealed SET STORAGE EXTERNAL;

CREATE INDEX traces_by_session ON reasoning_traces (session_key, created_at);
CREATE INDEX traces_by_run ON reasoning_traces (run_id);
CREATE INDEX traces_by_model ON reasoning_traces (model, created_at);
CREATE INDEX traces_by_time ON reasoning_traces (created_at);
CREATE INDEX traces_of_tenant ON reasoning_traces (tenant, created_at);
CREATE INDEX traces_by_word ON reasoning_traces USING gin (words);
-- Those whose words are still to be read.
CREATE INDEX traces_unread ON reasoning_traces (created_at) WHERE words IS NULL;

-- Sessions with their sums. The database keeps them itself as traces come and go, so that a page of the list of sessions
-- costs as much as it shows, however many traces and sessions there are. They are made with the words of traces, many at a
-- time and behind all writers: a trace that has words is summed up, and one that has none is not.
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

-- These are done as the owner of the tables: a gateway's role that was not granted them goes on keeping traces. Rows of
-- sessions are taken in one order everywhere, so that two gateways never wait for each other.
--
-- No count of a trace is larger than 2^40 in a sum, and no sum than 2^62: an upstream may say any number, and a sum that
-- does not fit would stop search and sums for everybody.
CREATE FUNCTION trace_sessions_grow() RETURNS TRIGGER
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

CREATE FUNCTION trace_items_go() RETURNS TRIGGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM trace_items WHERE trace IN (SELECT id FROM removed);
    RETURN NULL;
END $$;

CREATE TRIGGER trace_summed AFTER UPDATE ON reasoning_traces
    REFERENCING OLD TABLE AS before NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION trace_sessions_grow();
CREATE TRIGGER trace_removed AFTER DELETE ON reasoning_traces
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION trace_sessions_shrink();
CREATE TRIGGER trace_items_removed AFTER DELETE ON reasoning_traces
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION trace_items_go();

-- What is spent of budgets, and who holds slices of the rest. A row is one budget: of a session, a turn, a task, a day or
-- a key of the gateway. Its name is a digest, and its body a ledger as the core writes it; whoever changes it counts up
-- the version, so that nobody writes over what another one wrote meanwhile.
CREATE TABLE ledger (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    body TEXT NOT NULL,
    used_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE INDEX ledgers_by_time ON ledger (used_at);

-- The second wall between tenants. A role that does not own these tables sees the rows of the tenant alone that its
-- transaction names, or of all where that says so; without a name it sees none. Their owner sees all, as before.
DO $$
DECLARE
    it TEXT;
BEGIN
    FOREACH it IN ARRAY ARRAY['data_key', 'conversation', 'thread', 'record', 'record_key', 'response', 'fact'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', it);
        EXECUTE format('CREATE POLICY one_tenant ON %I USING '
            '((SELECT current_setting(''thinkthrough.tenant'', true)) IN (''*'', ''nr:'' || tenant))', it);
    END LOOP;
    FOREACH it IN ARRAY ARRAY['reasoning_traces', 'trace_items', 'trace_session', 'ledger'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', it);
        EXECUTE format('CREATE POLICY one_tenant ON %I USING '
            '((SELECT current_setting(''thinkthrough.tenant'', true)) IN (''*'', ''name:'' || tenant))', it);
    END LOOP;
    FOREACH it IN ARRAY ARRAY['message', 'draft'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', it);
        EXECUTE format('CREATE POLICY one_tenant ON %I USING '
            '(EXISTS (SELECT 1 FROM conversation AS its WHERE its.nr = conversation)) '
            -- The conversation of a new row may come with the same statement, which does not see it yet.
            'WITH CHECK ((SELECT current_setting(''thinkthrough.tenant'', true)) <> '''')', it);
    END LOOP;
END $$;

ALTER TABLE tenant ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON tenant USING
    ((SELECT current_setting('thinkthrough.tenant', true)) IN ('*', 'nr:' || nr, 'name:' || name));

-- A key is its tenant's, and the row of the installation is no tenant's.
ALTER TABLE gateway_key ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON gateway_key USING
    ((SELECT current_setting('thinkthrough.tenant', true)) IN ('*', 'name:' || name));

ALTER TABLE install ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON install USING
    ((SELECT current_setting('thinkthrough.tenant', true)) = '*');

-- Which version of these tables a program must know to work on them as they are.
CREATE TABLE thinkthrough_schema (
    version INTEGER PRIMARY KEY,
    works_from INTEGER NOT NULL
);

CREATE TABLE install (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    key_check BLOB NOT NULL,
    install_key BLOB,
    key_changes INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE tenant (
    nr INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    lookup_key BLOB NOT NULL
) STRICT;

CREATE TABLE data_key (
    tenant INTEGER NOT NULL REFERENCES tenant (nr),
    id INTEGER NOT NULL,
    wrapped BLOB NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT;

CREATE TABLE conversation (
    nr INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL,
    id TEXT NOT NULL,
    key_id INTEGER NOT NULL,
    wrapped_key BLOB NOT NULL,
    meta BLOB NOT NULL,
    messages INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (tenant, id),
    FOREIGN KEY (tenant, key_id) REFERENCES data_key (tenant, id)
) STRICT;

CREATE INDEX conversation_recent ON conversation (tenant, updated_at);
CREATE INDEX conversation_key ON conversation (tenant, key_id);

CREATE TABLE message (
    conversation INTEGER NOT NULL REFERENCES conversation (nr) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (conversation, position)
) STRICT;

CREATE TABLE draft (
    conversation INTEGER NOT NULL REFERENCES conversation (nr) ON DELETE CASCADE,
    draft INTEGER NOT NULL,
    part INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (conversation, draft, part)
) STRICT;

-- Conversations of the vault, which stay or go as a whole. They outlive their tenant until they are cleared away; by
-- then nothing opens them. Nobody looks for the conversation of a first answer by a name: what goes on from it names the
-- answer.
CREATE TABLE thread (
    nr INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL,
    name BLOB,
    records INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    used_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX thread_name ON thread (tenant, name) WHERE name IS NOT NULL;
CREATE INDEX thread_used ON thread (tenant, used_at);

CREATE TABLE record (
    nr INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL,
    thread INTEGER NOT NULL REFERENCES thread (nr),
    id TEXT NOT NULL,
    key_id INTEGER NOT NULL,
    keys BLOB NOT NULL,
    head BLOB NOT NULL,
    kept BLOB NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE INDEX record_thread ON record (thread);

-- A key is a digest, which one comparison tells from another, while the tenant is the same in many rows.
CREATE TABLE record_key (
    key INTEGER NOT NULL,
    tenant INTEGER NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY (key, tenant, record)
) STRICT, WITHOUT ROWID;

CREATE TABLE response (
    nr INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL,
    thread INTEGER NOT NULL REFERENCES thread (nr),
    id BLOB NOT NULL,
    previous BLOB,
    key_id INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    -- The digest of a provider resource under the key of the installation, by which every tenant finds its owner.
    resource BLOB,
    UNIQUE (tenant, id)
) STRICT;

CREATE INDEX response_thread ON response (thread);
CREATE INDEX response_resource ON response (resource) WHERE resource IS NOT NULL;

CREATE TABLE gateway_key (
    nr INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

CREATE UNIQUE INDEX gateway_key_name ON gateway_key (name) WHERE revoked_at IS NULL;

-- What refusals taught about models, for a day. Endpoint and model stand in a keyed digest and in the seal only.
CREATE TABLE fact (
    nr INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL,
    name BLOB NOT NULL,
    key_id INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    since INTEGER NOT NULL,
    UNIQUE (tenant, name)
) STRICT;

CREATE INDEX fact_since ON fact (since);

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
    cached_tokens INTEGER,
    -- Why a request went out as it did: what was decided about each answer and by what evidence, the ways that were tried,
    -- and what differs from what the client sent. A JSON object, masked; empty where nothing was decided.
    why TEXT NOT NULL DEFAULT '',
    -- What a generation cost, in micro-dollars; null where nobody knows.
    cost_micro_usd INTEGER
);

CREATE INDEX traces_by_session ON reasoning_traces (session_key, created_at);
CREATE INDEX traces_by_run ON reasoning_traces (run_id);
CREATE INDEX traces_by_model ON reasoning_traces (model, created_at);
CREATE INDEX traces_by_time ON reasoning_traces (created_at);
CREATE INDEX traces_of_tenant ON reasoning_traces (tenant, created_at);

-- The question, tool calls and results, and the refusal of a trace, sealed with the tenant's data key. No search reads
-- them. They go with their trace.
CREATE TABLE trace_items (
    trace TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    key_id INTEGER NOT NULL,
    sealed BLOB NOT NULL
) STRICT;

-- The words of rows up to this number are indexed (`words.rs`), behind the table, so that nobody waits for it.
CREATE TABLE trace_indexed (up_to INTEGER NOT NULL);
INSERT INTO trace_indexed VALUES (0);

-- Indexes of words that still hold words of erased traces, until they are merged, and whether that has begun.
CREATE TABLE trace_words_erased (
    name TEXT PRIMARY KEY,
    is_begun INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Sessions with their sums. The database keeps them itself as traces come and go, so that a page of the list of sessions
-- costs as much as it shows, however many traces and sessions there are. They are made with the index of words, many traces
-- at a time and behind all writers: up to the same row a trace is in both, and behind it in none.
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

-- No count of a trace is larger than 2^40 in a sum, and no sum than 2^62: an upstream may say any number, and a sum
-- that does not fit would stop search and sums for everybody.
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

-- Of a row that is in neither nothing is taken back. A sign before a column keeps the planner away from an index that
-- begins with it.
CREATE TRIGGER trace_removed AFTER DELETE ON reasoning_traces BEGIN
    DELETE FROM trace_items WHERE trace = old.id;
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

-- What is spent of budgets, and who holds slices of the rest. A row is one budget: of a session, a turn, a task, a day or
-- a key of the gateway. Its name is a digest, and its body a ledger as the core writes it; whoever changes it counts up
-- the version, so that nobody writes over what another one wrote meanwhile.
CREATE TABLE ledger (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX ledgers_by_time ON ledger (used_at);

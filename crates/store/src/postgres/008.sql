-- Why a request went out as it did: what was decided about each answer and by what evidence, the ways that were tried, and
-- what differs from what the client sent. A JSON object, masked; empty where nothing was decided, and in older rows.
ALTER TABLE reasoning_traces ADD COLUMN why TEXT NOT NULL DEFAULT '';

-- Sessions with their sums, and the traces of one tenant, without a look at rows that hold long texts.
CREATE INDEX traces_of_session ON reasoning_traces
    (tenant, session_key, created_at, id, model, reasoning_tokens, total_tokens, duration_ms);
CREATE INDEX traces_of_tenant ON reasoning_traces (tenant, created_at);

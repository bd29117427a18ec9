ALTER TABLE install ADD COLUMN install_key BYTEA;
ALTER TABLE install ADD COLUMN key_changes INT8 NOT NULL DEFAULT 0;

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
    UNIQUE (tenant, id)
);

CREATE INDEX response_thread ON response (thread);

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

ALTER TABLE install ADD COLUMN install_key BLOB;
ALTER TABLE install ADD COLUMN key_changes INTEGER NOT NULL DEFAULT 0;

-- Conversations of the vault, which stay or go as a whole. They outlive their tenant until they are cleared away; by
-- then nothing opens them.
CREATE TABLE thread (
    nr INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL,
    name BLOB NOT NULL,
    records INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    UNIQUE (tenant, name)
) STRICT;

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

CREATE TABLE record_key (
    tenant INTEGER NOT NULL,
    key INTEGER NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY (tenant, key, record)
) STRICT, WITHOUT ROWID;

CREATE TABLE response (
    nr INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL,
    thread INTEGER NOT NULL REFERENCES thread (nr),
    id BLOB NOT NULL,
    previous BLOB,
    key_id INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    UNIQUE (tenant, id)
) STRICT;

CREATE INDEX response_thread ON response (thread);

CREATE TABLE gateway_key (
    nr INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

CREATE UNIQUE INDEX gateway_key_name ON gateway_key (name) WHERE revoked_at IS NULL;

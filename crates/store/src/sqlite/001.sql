CREATE TABLE install (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    key_check BLOB NOT NULL
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

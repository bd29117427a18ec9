CREATE TABLE install (
    one INT8 PRIMARY KEY CHECK (one = 1),
    key_check BYTEA NOT NULL
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

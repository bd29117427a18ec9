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

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

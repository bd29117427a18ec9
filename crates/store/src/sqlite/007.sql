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

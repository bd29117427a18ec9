-- A key is a digest, which one comparison tells from another, while the tenant is the same in many rows.
CREATE TABLE by_key (
    key INTEGER NOT NULL,
    tenant INTEGER NOT NULL,
    record INTEGER NOT NULL,
    PRIMARY KEY (key, tenant, record)
) STRICT, WITHOUT ROWID;

INSERT INTO by_key (key, tenant, record)
    SELECT key, tenant, record FROM record_key ORDER BY key, tenant, record;
DROP TABLE record_key;
ALTER TABLE by_key RENAME TO record_key;

-- Nobody looks for the conversation of a first answer by a name: what goes on from it names the answer.
CREATE TABLE new_thread (
    nr INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL,
    name BLOB,
    records INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    used_at INTEGER NOT NULL
) STRICT;

INSERT INTO new_thread (nr, tenant, name, records, bytes, used_at)
    SELECT nr, tenant, name, records, bytes, used_at FROM thread ORDER BY nr;
-- A number is never used again, also where the conversations with the highest ones are gone.
INSERT INTO new_thread (nr, tenant, records, bytes, used_at)
    SELECT seq, 0, 0, 0, 0 FROM sqlite_sequence WHERE name = 'thread' AND seq NOT IN (SELECT nr FROM thread);
DELETE FROM new_thread WHERE records = 0 AND tenant = 0;
DROP TABLE thread;
ALTER TABLE new_thread RENAME TO thread;

CREATE UNIQUE INDEX thread_name ON thread (tenant, name) WHERE name IS NOT NULL;
CREATE INDEX thread_used ON thread (tenant, used_at);

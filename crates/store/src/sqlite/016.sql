-- Which version of these tables a program must know to work on them as they are.
CREATE TABLE IF NOT EXISTS thinkthrough_schema (
    version INTEGER PRIMARY KEY,
    works_from INTEGER NOT NULL
);

-- Indexes of words that still hold words of erased traces, until they are merged, and whether that has begun.
CREATE TABLE IF NOT EXISTS trace_words_erased (
    name TEXT PRIMARY KEY,
    is_begun INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

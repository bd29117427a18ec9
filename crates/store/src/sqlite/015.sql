-- Indexes of words that still hold words of erased traces, until they are merged.
CREATE TABLE IF NOT EXISTS trace_words_erased (name TEXT PRIMARY KEY) WITHOUT ROWID;

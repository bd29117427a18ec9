-- The words of traces stand in several indexes from now on, each of so many rows, and an index whose traces are all gone
-- goes as a whole (words.rs). Those that are indexed already stay in the first one. Nothing is merged because of what was
-- deleted: such a merge reads whatever stands between two words that are left, and everybody who writes waits for it.
INSERT INTO trace_words (trace_words, rank) VALUES ('deletemerge', 0);

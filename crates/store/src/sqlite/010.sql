-- What a generation cost, in micro-dollars; null where nobody knows.
ALTER TABLE reasoning_traces ADD COLUMN cost_micro_usd INTEGER;

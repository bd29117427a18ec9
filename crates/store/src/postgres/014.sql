-- Which version of these tables a program must know to work on them as they are.
ALTER TABLE thinkthrough_schema ADD COLUMN IF NOT EXISTS works_from INT8;

-- Those up to this one have the keys that the ids of their calls give.
ALTER TABLE old_record ADD COLUMN anchored INTEGER NOT NULL DEFAULT 0;

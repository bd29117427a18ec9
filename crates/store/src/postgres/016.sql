-- The digest of a provider resource under the key of the installation, by which every tenant finds its owner.
ALTER TABLE response ADD COLUMN resource BYTEA;

CREATE INDEX response_resource ON response (resource) WHERE resource IS NOT NULL;

-- The second wall between tenants. A role that does not own these tables sees the rows of the tenant alone that its
-- transaction names, or of all where that says so; without a name it sees none. Their owner sees all, as before.
DO $$
DECLARE
    it TEXT;
BEGIN
    FOREACH it IN ARRAY ARRAY['data_key', 'conversation', 'thread', 'record', 'record_key', 'response', 'fact'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', it);
        EXECUTE format('DROP POLICY IF EXISTS one_tenant ON %I', it);
        EXECUTE format('CREATE POLICY one_tenant ON %I USING '
            '((SELECT current_setting(''thinkthrough.tenant'', true)) IN (''*'', ''nr:'' || tenant))', it);
    END LOOP;
    FOREACH it IN ARRAY ARRAY['reasoning_traces', 'ledger'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', it);
        EXECUTE format('DROP POLICY IF EXISTS one_tenant ON %I', it);
        EXECUTE format('CREATE POLICY one_tenant ON %I USING '
            '((SELECT current_setting(''thinkthrough.tenant'', true)) IN (''*'', ''name:'' || tenant))', it);
    END LOOP;
    FOREACH it IN ARRAY ARRAY['message', 'draft'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', it);
        EXECUTE format('DROP POLICY IF EXISTS one_tenant ON %I', it);
        EXECUTE format('CREATE POLICY one_tenant ON %I USING '
            '(EXISTS (SELECT 1 FROM conversation AS its WHERE its.nr = conversation)) '
            -- The conversation of a new row may come with the same statement, which does not see it yet.
            'WITH CHECK ((SELECT current_setting(''thinkthrough.tenant'', true)) <> '''')', it);
    END LOOP;
END $$;

ALTER TABLE tenant ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS one_tenant ON tenant;
CREATE POLICY one_tenant ON tenant USING
    ((SELECT current_setting('thinkthrough.tenant', true)) IN ('*', 'nr:' || nr, 'name:' || name));

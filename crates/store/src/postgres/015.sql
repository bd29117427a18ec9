-- As for the other tables of `010.sql`: a key is its tenant's, and the row of the installation is no tenant's.
ALTER TABLE gateway_key ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON gateway_key USING
    ((SELECT current_setting('thinkthrough.tenant', true)) IN ('*', 'name:' || name));

ALTER TABLE install ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON install USING
    ((SELECT current_setting('thinkthrough.tenant', true)) = '*');

-- Placeholder for the migration before V3.

CREATE OR REPLACE FUNCTION outbox.schema_version() RETURNS integer
LANGUAGE sql IMMUTABLE
RETURN 2;

-- Keeps the number of a migration that is written elsewhere.

CREATE OR REPLACE FUNCTION outbox.schema_version() RETURNS integer
LANGUAGE sql IMMUTABLE
RETURN 3;

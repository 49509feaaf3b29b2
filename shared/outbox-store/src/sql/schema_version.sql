-- outbox.schema_version
-- Read the number of the latest migration.
-- Returns version.
SELECT outbox.schema_version() AS version

-- outbox.bench_drop
-- Drop a bench's own schema with all that is in it.
-- Returns nothing.
DROP SCHEMA outbox CASCADE

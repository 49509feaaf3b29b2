-- outbox.bench_clear
-- Empty a bench's own outbox between two rounds.
-- Returns nothing.
TRUNCATE outbox.message, outbox.destination

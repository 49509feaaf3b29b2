-- outbox.bench_ping
-- Ask for nothing: the time is that of a round trip.
-- Returns one.
SELECT 1 AS one

-- outbox.bench_round_trip
-- Answer, so that the way to the server and back can be timed.
-- Returns one.
SELECT 1 AS one

-- outbox.bench_hold
-- Hold the lock that tells a bench at work from one that was killed, until this session ends.
--   $1 bigint  upper half of the lock's key
--   $2 text    name of the bench's schema, whose oid is the lower one
-- Returns held.
SELECT pg_try_advisory_lock(($1::bigint << 32) | n.oid::bigint) AS held
FROM pg_catalog.pg_namespace AS n
WHERE n.nspname = $2::text

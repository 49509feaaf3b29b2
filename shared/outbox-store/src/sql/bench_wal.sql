-- outbox.bench_wal
-- Tell where the write-ahead log ends: the difference of two is what all sessions wrote in between.
-- Returns wal_bytes, counted from the log's beginning.
SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint AS wal_bytes

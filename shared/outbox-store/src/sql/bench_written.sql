-- outbox.bench_written
-- Tell how much the whole server has written so far.
-- Returns wal_bytes, and next_transaction: every transaction that writes takes a number, others none.
SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint AS wal_bytes,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next_transaction

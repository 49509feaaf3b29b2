-- outbox.database_status
-- Look at what the outbox lives on: whether the database takes writes, what holds back vacuum, and how large the table is.
-- Returns takes_writes, schema_version; of the oldest open transaction age_seconds, pid, state and application_name, and
-- how many sessions the schema's owner can't look at; of the oldest prepared transaction its name and age; of the
-- replication slot that holds back vacuum most its name, whether it is in use, and its age in transactions; of
-- outbox.message live and dead row versions, bytes of the table and of its indexes, and when it was vacuumed last.
SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off' AS takes_writes,
       outbox.schema_version() AS schema_version,
       oldest.age_seconds,
       oldest.pid,
       oldest.state,
       oldest.application_name,
       oldest.hidden_sessions,
       prepared.gid AS prepared_name,
       prepared.age_seconds AS prepared_seconds,
       slot.slot_name::text AS slot_name,
       slot.active AS slot_in_use,
       slot.age_transactions AS slot_age_transactions,
       stats.n_live_tup AS live_rows,
       stats.n_dead_tup AS dead_rows,
       pg_table_size(stats.relid) AS table_bytes,
       pg_indexes_size(stats.relid) AS index_bytes,
       extract(epoch FROM now() - greatest(stats.last_autovacuum, stats.last_vacuum))::double precision
           AS vacuumed_seconds_ago
FROM outbox.oldest_transaction() AS oldest
JOIN pg_catalog.pg_stat_all_tables AS stats ON stats.relid = 'outbox.message'::regclass
LEFT JOIN (
    SELECT p.gid, extract(epoch FROM now() - p.prepared)::double precision AS age_seconds
    FROM pg_catalog.pg_prepared_xacts AS p
    WHERE p.database = current_database()
    ORDER BY p.prepared
    LIMIT 1
) AS prepared ON true
LEFT JOIN (
    SELECT s.slot_name, s.active, greatest(age(s.xmin), age(s.catalog_xmin)) AS age_transactions
    FROM pg_catalog.pg_replication_slots AS s
    WHERE s.xmin IS NOT NULL
       OR (s.catalog_xmin IS NOT NULL AND s.database = current_database())
    ORDER BY age_transactions DESC
    LIMIT 1
) AS slot ON true

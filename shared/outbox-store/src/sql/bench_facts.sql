-- outbox.bench_facts
-- Look at what a bench depends on, and which schemas earlier ones left behind.
-- Returns one row: server_version, synchronous_commit, takes_writes; may_create tells whether the login may create a
-- schema here; database and role are quoted as SQL takes them; schemas are those of benches, in order of their names.
-- Reads catalogs only.
SELECT current_setting('server_version') AS server_version,
       current_setting('synchronous_commit') AS synchronous_commit,
       NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off' AS takes_writes,
       has_database_privilege(current_database(), 'CREATE') AS may_create,
       quote_ident(current_database()) AS database,
       quote_ident(current_user) AS role,
       ARRAY(
           SELECT n.nspname::text
           FROM pg_catalog.pg_namespace AS n
           WHERE n.nspname ~ '^outbox_bench_[0-9a-f]{32}$'
           ORDER BY n.nspname
       ) AS schemas

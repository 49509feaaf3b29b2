-- outbox.bench_server
-- Look at what a bench depends on: the server, its settings, and whether this login may make a schema and the roles.
-- Reads catalogs only, and works where there is no outbox.
-- Returns server_version, synchronous_commit, fsync, full_page_writes, takes_writes; may_create tells whether the login
-- may make a schema, and grant_create is the statement that lets it; missing_roles are those of an outbox that the cluster
-- lacks, may_create_roles tells whether the login may make them.
SELECT current_setting('server_version') AS server_version,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off' AS takes_writes,
       has_database_privilege(current_database(), 'CREATE') AS may_create,
       format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user) AS grant_create,
       ARRAY(
           SELECT wanted.name
           FROM unnest(ARRAY['outbox_producer', 'outbox_relay', 'outbox_admin']) AS wanted (name)
           WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = wanted.name)
       ) AS missing_roles,
       login.rolsuper OR login.rolcreaterole AS may_create_roles
FROM pg_catalog.pg_roles AS login
WHERE login.rolname = current_user

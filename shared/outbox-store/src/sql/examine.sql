-- outbox.examine
-- Look at the server and at the role that asks, whether there is an outbox or not. Reads catalogs only.
-- Returns server version, encoding, database, role, whether the server takes writes, its clock in milliseconds since
-- 1970, and which of the outbox's roles it is a member of; a superuser is one of all.
SELECT
    current_setting('server_version') AS server_version,
    current_setting('server_encoding') AS encoding,
    current_database()::text AS database,
    current_user::text AS role,
    NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off' AS takes_writes,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS clock_ms,
    ARRAY(
        SELECT r.rolname::text
        FROM pg_catalog.pg_roles AS r
        WHERE r.rolname IN ('outbox_producer', 'outbox_relay', 'outbox_admin')
          AND pg_has_role(current_user, r.oid, 'USAGE')
        ORDER BY r.rolname
    ) AS member_of

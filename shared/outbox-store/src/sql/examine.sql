-- outbox.examine
-- Look at the server and at the rights of the role that asks, whether there is an outbox or not. Reads catalogs only.
--   $1 text  name of the outbox's schema
-- Returns server version, encoding, database, role, whether the server takes writes, its clock in milliseconds since
-- 1970, and the rights in the schema that outbox_relay has and the role has not. No outbox: no rights are missing.
SELECT
    current_setting('server_version') AS server_version,
    current_setting('server_encoding') AS encoding,
    current_database()::text AS database,
    current_user::text AS role,
    NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off' AS takes_writes,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS clock_ms,
    ARRAY(
        SELECT wanted.grant_text
        FROM pg_catalog.pg_namespace AS n
        JOIN pg_catalog.pg_roles AS relay ON relay.rolname = 'outbox_relay'
        CROSS JOIN LATERAL (
            SELECT format('USAGE on schema %s', n.nspname) AS grant_text
            WHERE has_schema_privilege(relay.oid, n.oid, 'USAGE')
              AND NOT has_schema_privilege(current_user, n.oid, 'USAGE')
            UNION ALL
            SELECT format('%s on %s', p.name, c.relname)
            FROM pg_catalog.pg_class AS c
            CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p (name)
            WHERE c.relnamespace = n.oid
              AND c.relkind IN ('r', 'p', 'v')
              AND has_table_privilege(relay.oid, c.oid, p.name)
              AND NOT has_table_privilege(current_user, c.oid, p.name)
            UNION ALL
            SELECT format('%s on %s (%s)', p.name, c.relname, string_agg(a.attname, ', ' ORDER BY a.attnum))
            FROM pg_catalog.pg_class AS c
            JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) AS p (name)
            WHERE c.relnamespace = n.oid
              AND c.relkind IN ('r', 'p', 'v')
              AND NOT has_table_privilege(relay.oid, c.oid, p.name)
              AND has_column_privilege(relay.oid, c.oid, a.attnum, p.name)
              AND NOT has_column_privilege(current_user, c.oid, a.attnum, p.name)
            GROUP BY p.name, c.relname
            UNION ALL
            SELECT format('EXECUTE on %s', f.proname)
            FROM pg_catalog.pg_proc AS f
            WHERE f.pronamespace = n.oid
              AND has_function_privilege(relay.oid, f.oid, 'EXECUTE')
              AND NOT has_function_privilege(current_user, f.oid, 'EXECUTE')
        ) AS wanted
        WHERE n.nspname = $1::text
        ORDER BY wanted.grant_text
    ) AS missing_rights

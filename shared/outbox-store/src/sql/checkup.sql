-- outbox.checkup
-- Look at what can harm an outbox though every statement works: settings, indexes, triggers and rights of the login.
-- Reads catalogs only, and works where there is no outbox too.
--   $1 text  name of the outbox's schema
-- Returns facts: aspect, name, and value. Of aspect 'setting' the value in this session; of 'index' valid, invalid or
-- missing; of 'trigger' and 'rule' the table's, if no migration made it or if it is disabled; of 'row_security' and 'autovacuum' the tables
-- where the one is on or the other off; of 'too_many' the rights that a relay must not have, if the login has the
-- relay's role and not the admin's; of 'tls' the protocol and the cipher, or none; of 'login' superuser or owner; of
-- 'age' how many transactions old the oldest row of the database is.
WITH place AS (
    SELECT n.oid, n.nspowner, m.oid AS message
    FROM pg_catalog.pg_namespace AS n
    LEFT JOIN pg_catalog.pg_class AS m ON m.relnamespace = n.oid AND m.relname = 'message'
    WHERE n.nspname = $1::text
)
SELECT 'setting' AS aspect, s.name, s.setting AS value
FROM pg_catalog.pg_settings AS s
WHERE s.name IN ('synchronous_commit', 'autovacuum', 'track_counts',
                 'default_transaction_isolation')
UNION ALL
SELECT 'index', wanted.name,
       CASE WHEN i.indexrelid IS NULL THEN 'missing' WHEN i.indisvalid AND i.indisready THEN 'valid' ELSE 'invalid' END
FROM place
CROSS JOIN unnest(ARRAY['message_pkey', 'message_identity_idx', 'message_fresh_idx', 'message_scheduled_idx',
                        'message_group_idx', 'message_age_idx', 'message_held_idx', 'message_dispatched_idx',
                        'message_dead_idx', 'message_suspect_idx']) AS wanted (name)
LEFT JOIN pg_catalog.pg_class AS c ON c.relname = wanted.name AND c.relnamespace = place.oid
LEFT JOIN pg_catalog.pg_index AS i ON i.indexrelid = c.oid
WHERE place.message IS NOT NULL
UNION ALL
SELECT 'trigger', t.tgname::text, CASE WHEN t.tgenabled IN ('O', 'A') THEN 'enabled' ELSE 'disabled' END
FROM place
JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = place.message
JOIN pg_catalog.pg_proc AS f ON f.oid = t.tgfoid
WHERE NOT t.tgisinternal AND (f.pronamespace <> place.oid OR t.tgenabled NOT IN ('O', 'A'))
UNION ALL
SELECT 'rule', r.rulename::text, 'message'
FROM place
JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = place.message
UNION ALL
SELECT 'row_security', c.relname::text, 'on'
FROM place
JOIN pg_catalog.pg_class AS c ON c.relnamespace = place.oid AND c.relrowsecurity
UNION ALL
SELECT 'autovacuum', c.relname::text, 'off'
FROM place
JOIN pg_catalog.pg_class AS c ON c.oid = place.message
CROSS JOIN unnest(c.reloptions) AS o (option)
WHERE o.option LIKE 'autovacuum_enabled=%' AND NOT split_part(o.option, '=', 2)::boolean
UNION ALL
SELECT 'too_many', p.name, 'message'
FROM place
JOIN pg_catalog.pg_roles AS relay ON relay.rolname = 'outbox_relay'
JOIN pg_catalog.pg_roles AS admin ON admin.rolname = 'outbox_admin'
JOIN pg_catalog.pg_roles AS login ON login.rolname = current_user
CROSS JOIN unnest(ARRAY['INSERT', 'DELETE', 'TRUNCATE', 'TRIGGER']) AS p (name)
WHERE NOT login.rolsuper
  AND pg_has_role(login.oid, relay.oid, 'USAGE')
  AND NOT pg_has_role(login.oid, admin.oid, 'USAGE')
  AND NOT pg_has_role(login.oid, place.nspowner, 'USAGE')
  AND has_table_privilege(login.oid, place.message, p.name)
UNION ALL
SELECT 'tls', coalesce(s.version, 'none'), coalesce(s.cipher, 'none')
FROM pg_catalog.pg_stat_ssl AS s
WHERE s.pid = pg_backend_pid()
UNION ALL
SELECT 'login', r.rolname::text, CASE WHEN r.rolsuper THEN 'superuser' ELSE 'owner' END
FROM pg_catalog.pg_roles AS r
LEFT JOIN place ON true
WHERE r.rolname = current_user
  AND (r.rolsuper OR pg_has_role(r.oid, place.nspowner, 'USAGE'))
UNION ALL
SELECT 'age', d.datname::text, age(d.datfrozenxid)::text
FROM pg_catalog.pg_database AS d
WHERE d.datname = current_database()
ORDER BY aspect, name

-- outbox.bench_left_over
-- Look for schemas that a bench made and did not drop, because it was killed: no session holds their lock.
--   $1 bigint  upper half of the key of the lock that a bench at work holds, the lower one is the schema's oid
-- Returns name, the bytes of its tables with their indexes, and drop_statement. Reads catalogs only.
SELECT n.nspname::text AS name,
       coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes,
       format('DROP SCHEMA %I CASCADE', n.nspname) AS drop_statement
FROM pg_catalog.pg_namespace AS n
LEFT JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relkind = 'r'
WHERE n.nspname ~ '^outbox_bench_[0-9a-f]{12}$'
  AND NOT EXISTS (
      SELECT FROM pg_catalog.pg_locks AS l
      WHERE l.locktype = 'advisory'
        AND l.database = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database())
        AND l.classid::bigint = $1::bigint
        AND l.objid = n.oid
  )
GROUP BY n.nspname
ORDER BY n.nspname

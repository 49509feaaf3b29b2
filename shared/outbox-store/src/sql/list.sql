-- outbox.list
-- List the messages that match, out of so many that follow one another in order of id.
--   $1 text      state: pending, claimed, dispatched, dead, or of the pending ones due, retrying, scheduled; NULL for any
--   $2 text      destination, or NULL for any
--   $3 text      message type, or NULL for any
--   $4 text      message group, or NULL for any
--   $5 text      correlation id, or NULL for any
--   $6 text      last error code, or NULL for any
--   $7 bigint    latest time of enqueueing, in milliseconds since 1970, or NULL for any
--   $8 bigint    earliest, or NULL for any
--   $9 boolean   whether the newest come first
--   $10 bigint   id to go on after
--   $11 bigint   most rows to return
--   $12 bigint   most rows to look at
-- Returns the messages, in order; with each the number of rows looked at and the last id of those. If none matches, one row
-- with no id has these two. No payload and no header.
-- Uses message_pkey. Walks it on purpose, but no further than $12 says: no index serves all that may be asked for.
WITH looked_at AS MATERIALIZED (
    (
        SELECT id, destination, message_type, message_group, correlation_id, last_error_code, created_at, available_at,
               first_failed_at, locked_until, dispatched_at, dead_at
        FROM outbox.message
        WHERE $9::boolean
          AND id < $10::bigint
        ORDER BY id DESC
        LIMIT $12::bigint
    )
    UNION ALL
    (
        SELECT id, destination, message_type, message_group, correlation_id, last_error_code, created_at, available_at,
               first_failed_at, locked_until, dispatched_at, dead_at
        FROM outbox.message
        WHERE NOT $9
          AND id > $10
        ORDER BY id
        LIMIT $12
    )
),
found AS MATERIALIZED (
    SELECT id
    FROM looked_at
    WHERE ($1::text IS NULL OR $1 = ANY (
              CASE
                  WHEN dispatched_at IS NOT NULL THEN ARRAY['dispatched']
                  WHEN dead_at IS NOT NULL THEN ARRAY['dead']
                  WHEN locked_until > now() THEN ARRAY['claimed']
                  WHEN available_at IS NULL OR available_at <= now() THEN ARRAY['pending', 'due']
                  WHEN first_failed_at IS NOT NULL THEN ARRAY['pending', 'retrying']
                  ELSE ARRAY['pending', 'scheduled']
              END
          ))
      AND ($2::text IS NULL OR destination = $2)
      AND ($3::text IS NULL OR message_type = $3)
      AND ($4::text IS NULL OR message_group = $4)
      AND ($5::text IS NULL OR correlation_id = $5)
      AND ($6::text IS NULL OR last_error_code = $6)
      AND ($7::bigint IS NULL OR created_at <= timestamptz 'epoch' + $7 * interval '1 millisecond')
      AND ($8::bigint IS NULL OR created_at >= timestamptz 'epoch' + $8 * interval '1 millisecond')
    ORDER BY CASE WHEN $9 THEN -id ELSE id END
    LIMIT $11::bigint
),
edge AS (
    SELECT count(*) AS n_looked_at, CASE WHEN $9 THEN min(id) ELSE max(id) END AS last_id
    FROM looked_at
)
SELECT s.id, s.message_id, s.destination, s.message_type, s.message_group, s.status, s.attempts,
       (extract(epoch FROM s.created_at) * 1000)::bigint AS created_ms,
       (extract(epoch FROM CASE s.available_at
            WHEN 'infinity' THEN timestamptz '9999-12-31 00:00+00'
            WHEN '-infinity' THEN timestamptz '0001-01-01 00:00+00'
            ELSE s.available_at
        END) * 1000)::bigint AS available_ms,
       (extract(epoch FROM s.dispatched_at) * 1000)::bigint AS dispatched_ms,
       (extract(epoch FROM s.dead_at) * 1000)::bigint AS dead_ms,
       s.dead_reason, s.last_error_code, s.correlation_id,
       (extract(epoch FROM now()) * 1000)::bigint AS now_ms,
       edge.n_looked_at, edge.last_id
FROM edge
LEFT JOIN outbox.message_status AS s ON s.id = ANY (ARRAY(SELECT id FROM found))
ORDER BY CASE WHEN $9 THEN -s.id ELSE s.id END

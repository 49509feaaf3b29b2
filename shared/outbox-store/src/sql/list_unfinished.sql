-- outbox.list_unfinished
-- List the messages that match out of those that are neither dispatched nor dead, in order of id.
--   $1 text      state: pending or claimed; of the pending ones due, retrying or scheduled; unfinished for all
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
-- Returns the messages as list.sql does.
-- Uses message_fresh_idx, message_age_idx and message_pkey. Reads the whole backlog's entries, of one destination if it is
-- given. The sum keeps the planner from walking the primary key from $10 on instead.
WITH unfinished AS MATERIALIZED (
    SELECT id
    FROM outbox.message
    WHERE message_group IS NULL AND available_at IS NULL AND dispatched_at IS NULL AND dead_at IS NULL
      AND $1::text = ANY (
              CASE
                  WHEN locked_until > now() THEN ARRAY['claimed', 'unfinished']
                  WHEN available_at IS NULL OR available_at <= now() THEN ARRAY['pending', 'due', 'unfinished']
                  WHEN first_failed_at IS NOT NULL THEN ARRAY['pending', 'retrying', 'unfinished']
                  ELSE ARRAY['pending', 'scheduled', 'unfinished']
              END
          )
      AND ($2::text IS NULL OR (destination >= $2 AND destination <= $2))
      AND ($3::text IS NULL OR message_type = $3)
      AND ($4::text IS NULL OR message_group = $4)
      AND ($5::text IS NULL OR correlation_id = $5)
      AND ($6::text IS NULL OR last_error_code = $6)
      AND ($7::bigint IS NULL OR created_at <= timestamptz 'epoch' + $7 * interval '1 millisecond')
      AND ($8::bigint IS NULL OR created_at >= timestamptz 'epoch' + $8 * interval '1 millisecond')
      AND CASE WHEN $9::boolean THEN id + 0 < $10::bigint ELSE id + 0 > $10 END
    UNION ALL
    SELECT id
    FROM outbox.message
    WHERE (message_group IS NOT NULL OR available_at IS NOT NULL) AND dispatched_at IS NULL AND dead_at IS NULL
      AND $1::text = ANY (
              CASE
                  WHEN locked_until > now() THEN ARRAY['claimed', 'unfinished']
                  WHEN available_at IS NULL OR available_at <= now() THEN ARRAY['pending', 'due', 'unfinished']
                  WHEN first_failed_at IS NOT NULL THEN ARRAY['pending', 'retrying', 'unfinished']
                  ELSE ARRAY['pending', 'scheduled', 'unfinished']
              END
          )
      AND ($2::text IS NULL OR (destination >= $2 AND destination <= $2))
      AND ($3::text IS NULL OR message_type = $3)
      AND ($4::text IS NULL OR message_group = $4)
      AND ($5::text IS NULL OR correlation_id = $5)
      AND ($6::text IS NULL OR last_error_code = $6)
      AND ($7::bigint IS NULL OR created_at <= timestamptz 'epoch' + $7 * interval '1 millisecond')
      AND ($8::bigint IS NULL OR created_at >= timestamptz 'epoch' + $8 * interval '1 millisecond')
      AND CASE WHEN $9::boolean THEN id + 0 < $10::bigint ELSE id + 0 > $10 END
),
found AS MATERIALIZED (
    SELECT id
    FROM unfinished
    ORDER BY CASE WHEN $9 THEN -id ELSE id END
    LIMIT $11::bigint
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
       (extract(epoch FROM now()) * 1000)::bigint AS now_ms
FROM outbox.message_status AS s
WHERE s.id = ANY (ARRAY(SELECT id FROM found))
ORDER BY CASE WHEN $9 THEN -s.id ELSE s.id END

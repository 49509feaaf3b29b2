-- outbox.tail
-- Look for messages that are new, and for those of the given ones that have come further.
--   $1 bigint   id to go on after
--   $2 bigint[] ids that are followed, or that may still be committed
--   $3 text[]   what was last known of each: as the column state has it, or the empty text
--   $4 bigint   most rows of new messages
-- Returns the messages whose state is another than the one known, in order of id.
-- Uses message_pkey. Walks it on purpose, after $1 and no further than $4 says.
WITH new AS MATERIALIZED (
    SELECT id
    FROM outbox.message
    WHERE id > $1::bigint
    ORDER BY id
    LIMIT $4::bigint
),
wanted AS MATERIALIZED (
    SELECT id, '' AS known FROM new
    UNION ALL
    SELECT known.id, known.state FROM unnest($2::bigint[], $3::text[]) AS known (id, state)
),
seen AS (
    SELECT m.id, m.message_id, m.destination, m.message_type, m.message_group, m.correlation_id, m.attempts,
           m.last_error_code, m.dead_reason, wanted.known,
           CASE
               WHEN m.dispatched_at IS NOT NULL THEN 'dispatched'
               WHEN m.dead_at IS NOT NULL THEN 'dead'
               WHEN m.first_failed_at IS NOT NULL
                   THEN 'failed ' || coalesce(extract(epoch FROM m.available_at), 0)::text
               ELSE 'pending'
           END AS state
    FROM wanted
    -- Each by itself: without statistics a join took the whole table instead.
    CROSS JOIN LATERAL (
        SELECT by_id.*
        FROM outbox.message AS by_id
        WHERE by_id.id = wanted.id
        LIMIT 1
    ) AS m
)
SELECT id, message_id, destination, message_type, message_group, correlation_id, attempts, last_error_code,
       dead_reason, known, state, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms
FROM seen
WHERE state <> known
ORDER BY id

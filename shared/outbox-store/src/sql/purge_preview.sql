-- outbox.purge_preview
-- Count, per destination and up to a bound, the dispatched messages past their retention; nothing is changed.
--   $1 bigint  retention, in milliseconds since the message was dispatched
--   $2 bigint  most rows to look at, the oldest first
-- Returns destination, n_messages and oldest_at, when the oldest of them was dispatched, in UTC.
-- Uses message_dispatched_idx.
SELECT old.destination,
       count(*) AS n_messages,
       (to_json(min(old.dispatched_at) AT TIME ZONE 'UTC') #>> '{}') || 'Z' AS oldest_at
FROM (
    SELECT m.destination, m.dispatched_at
    FROM outbox.message AS m
    WHERE m.dispatched_at < now() - $1::bigint * interval '1 millisecond'
    ORDER BY m.dispatched_at
    LIMIT $2::bigint
) AS old
GROUP BY old.destination
ORDER BY old.destination

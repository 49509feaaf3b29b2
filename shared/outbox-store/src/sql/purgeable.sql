-- outbox.purgeable
-- Read dispatched messages past their retention for the archive, oldest first: those of one day, bounded.
--   $1 bigint  retention, in milliseconds since the message was dispatched
--   $2 bigint  most rows to return
--   $3 bigint  most bytes of text to return; the first row comes in any case
-- Returns the messages, the day in UTC on which they were dispatched, and the version of each row for purge_archived.
-- Uses message_dispatched_idx. Locks no row. Called again while nothing has changed, it returns the same rows.
SELECT
    id,
    message_id,
    destination,
    message_group,
    message_type,
    content_type,
    correlation_id,
    traceparent,
    tracestate,
    headers::text AS headers,
    payload,
    (to_json(created_at AT TIME ZONE 'UTC') #>> '{}') || 'Z' AS created_at,
    (to_json(dispatched_at AT TIME ZONE 'UTC') #>> '{}') || 'Z' AS dispatched_at,
    broker_message_id,
    attempts,
    to_json(day) #>> '{}' AS dispatched_on,
    row_version
FROM (
    SELECT
        sized.*,
        first_value(day) OVER in_order AS first_day,
        row_number() OVER in_order AS place,
        -- The sum of these rows, and not of all that were dispatched in the same moment.
        sum(n_bytes) OVER (in_order ROWS UNBOUNDED PRECEDING) AS n_bytes_so_far
    FROM (
        SELECT
            m.*,
            m.xmin::text AS row_version,
            (m.dispatched_at AT TIME ZONE 'UTC')::date AS day,
            -- Known without fetching a payload that is stored apart.
            octet_length(m.payload) + octet_length(m.headers::text)
                + coalesce(octet_length(m.correlation_id), 0) + coalesce(octet_length(m.tracestate), 0) AS n_bytes
        FROM outbox.message AS m
        WHERE m.dispatched_at < now() - $1::bigint * interval '1 millisecond'
        ORDER BY m.dispatched_at
        LIMIT $2::bigint
    ) AS sized
    WINDOW in_order AS (ORDER BY sized.dispatched_at)
) AS measured
WHERE day = first_day
  AND (place = 1 OR n_bytes_so_far <= $3::bigint)
ORDER BY measured.dispatched_at

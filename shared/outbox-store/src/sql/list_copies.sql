-- outbox.list_copies
-- List the messages that have a message id: one for each destination that it was enqueued to.
--   $1 uuid  message id
-- Returns the messages as list.sql does.
-- Uses message_identity_idx.
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
WHERE s.message_id = $1::uuid
ORDER BY s.id

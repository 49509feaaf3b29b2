-- outbox.show
-- Tell all about one message, and what it may be waiting for: its destination's pause and breaker, and its group's head.
--   $1 bigint   id, or NULL
--   $2 uuid     message id, for all that have it; or NULL
--   $3 boolean  whether the values of the headers are wanted
--   $4 boolean  whether the payload is wanted
-- Returns a row for each message; times in milliseconds since 1970. Without $3 and $4 neither leaves the database.
-- Uses message_pkey, message_identity_idx and message_group_idx.
SELECT
    m.id, m.message_id, m.destination, m.message_type, m.message_group,
    CASE
        WHEN m.dispatched_at IS NOT NULL THEN 'dispatched'
        WHEN m.dead_at IS NOT NULL THEN 'dead'
        WHEN m.locked_until > now() THEN 'claimed'
        ELSE 'pending'
    END AS status,
    m.attempts, m.lost_claims, m.content_type, m.correlation_id, m.traceparent, m.tracestate,
    octet_length(m.payload) AS payload_bytes,
    CASE WHEN $4::boolean THEN m.payload END AS payload,
    ARRAY(SELECT name FROM jsonb_object_keys(m.headers) AS name ORDER BY name) AS header_names,
    CASE WHEN $3::boolean THEN m.headers::text END AS headers,
    (extract(epoch FROM m.created_at) * 1000)::bigint AS created_ms,
    (extract(epoch FROM CASE m.available_at
            WHEN 'infinity' THEN timestamptz '9999-12-31 00:00+00'
            WHEN '-infinity' THEN timestamptz '0001-01-01 00:00+00'
            ELSE m.available_at
        END) * 1000)::bigint AS available_ms,
    (extract(epoch FROM m.first_failed_at) * 1000)::bigint AS first_failed_ms,
    (extract(epoch FROM m.locked_until) * 1000)::bigint AS locked_until_ms,
    (extract(epoch FROM m.dispatched_at) * 1000)::bigint AS dispatched_ms,
    (extract(epoch FROM m.dead_at) * 1000)::bigint AS dead_ms,
    (extract(epoch FROM now()) * 1000)::bigint AS now_ms,
    m.claimed_by, m.broker_message_id, m.dead_reason, m.last_error_code, m.last_error, m.holds_group,
    pause.name AS paused_name, pause.paused_by, pause.pause_reason,
    (extract(epoch FROM pause.paused_at) * 1000)::bigint AS paused_ms,
    (extract(epoch FROM breaker.breaker_opened_at) * 1000)::bigint AS breaker_opened_ms,
    (extract(epoch FROM breaker.probe_at) * 1000)::bigint AS probe_ms,
    CASE WHEN breaker.breaker_opened_at IS NOT NULL THEN breaker.last_error_code END AS breaker_code,
    head.id AS head_id,
    head.dead_at IS NOT NULL AS head_is_dead
FROM outbox.message AS m
LEFT JOIN LATERAL (
    SELECT d.name, d.paused_at, d.paused_by, d.pause_reason
    FROM outbox.destination AS d
    WHERE d.name IN (m.destination, '*')
      AND d.paused_at IS NOT NULL
    ORDER BY d.name DESC
    LIMIT 1
) AS pause ON true
LEFT JOIN outbox.destination AS breaker ON breaker.name = m.destination
LEFT JOIN LATERAL (
    SELECT g.id, g.dead_at
    FROM outbox.message AS g
    WHERE m.dispatched_at IS NULL
      AND m.dead_at IS NULL
      AND g.destination = m.destination
      AND g.message_group = m.message_group
      AND g.id < m.id
      AND g.message_group IS NOT NULL
      AND g.dispatched_at IS NULL
      AND (g.dead_at IS NULL OR g.holds_group)
    ORDER BY g.destination, g.message_group, g.id
    LIMIT 1
) AS head ON true
WHERE m.id = ANY (ARRAY(SELECT i.id FROM outbox.message AS i WHERE i.message_id = $2::uuid) || $1::bigint)
ORDER BY m.id

-- outbox.claim
-- Lease due messages without a group: of each destination at most its quota, fresh and retrying ones in turns.
--   $1 uuid      claim token, fresh
--   $2 text      who claims, for people
--   $3 bigint    lease, in milliseconds
--   $4 integer   fewest claims in a row, before this one, that a message may have lost
--   $5 integer   most of them
--   $6 text[]    destinations
--   $7 integer[] quota of each: most messages to lease
-- Returns the leased messages in order of id, with their attempt number; lost_claims counts the claims in a row before
-- this one that ended without an outcome (a lease that stands in the row is that of one), was_alone tells whether
-- isolate.sql announced it, has_failed whether an attempt failed since it was enqueued or redriven.
-- Uses message_fresh_idx, message_scheduled_idx, message_pkey.
-- Never leases more than the quotas, nor a row that another relay holds, nor one of a destination that is paused or whose
-- breaker is open, unless this claim probes it (probe.sql).
--
-- Both bounds of a range with one value stand where an equality would do: an equality would make the column a
-- constant to the planner, so that the primary key gives the order too, and statistics of a drained table (it is
-- empty most of the time) make that walk over all history look as cheap as the partial index.
WITH open AS MATERIALIZED (
    SELECT asked.destination, asked.quota
    FROM unnest($6::text[], $7::integer[]) AS asked (destination, quota)
    WHERE NOT EXISTS (
        SELECT FROM outbox.destination AS state
        WHERE state.name IN (asked.destination, '*')
          AND (state.paused_at IS NOT NULL
               OR (state.breaker_opened_at IS NOT NULL AND state.probe_token IS DISTINCT FROM $1::uuid))
    )
),
-- Fresh and retrying rows take turns (place), so that neither can hold the other back.
candidate AS MATERIALIZED (
    SELECT due.id, due.destination, due.place, open.quota
    FROM open
    CROSS JOIN LATERAL (
        SELECT fresh.*, row_number() OVER () AS place
        FROM (
            SELECT m.id, m.destination
            FROM outbox.message AS m
            WHERE m.destination >= open.destination
              AND m.destination <= open.destination
              AND m.message_group IS NULL
              AND m.available_at IS NULL
              AND m.dispatched_at IS NULL
              AND m.dead_at IS NULL
              AND (m.locked_until IS NULL OR m.locked_until <= now())
              AND m.lost_claims + (m.locked_until IS NOT NULL)::integer BETWEEN $4::integer AND $5::integer
            ORDER BY m.destination, m.id
            LIMIT open.quota
            FOR UPDATE OF m SKIP LOCKED
        ) AS fresh
        UNION ALL
        SELECT retrying.*, row_number() OVER () AS place
        FROM (
            SELECT m.id, m.destination
            FROM outbox.message AS m
            WHERE m.destination >= open.destination
              AND m.destination <= open.destination
              AND m.message_group IS NULL
              AND m.available_at <= now()
              AND m.dispatched_at IS NULL
              AND m.dead_at IS NULL
              AND (m.locked_until IS NULL OR m.locked_until <= now())
              AND m.lost_claims + (m.locked_until IS NOT NULL)::integer BETWEEN $4::integer AND $5::integer
            ORDER BY m.destination, m.available_at, m.id
            LIMIT open.quota
            FOR UPDATE OF m SKIP LOCKED
        ) AS retrying
    ) AS due
),
leased AS (
    UPDATE outbox.message AS m
    SET locked_until = now() + $3::bigint * interval '1 millisecond',
        claim_token = $1::uuid,
        claimed_by = $2::text,
        attempts = m.attempts + 1,
        lost_claims = m.lost_claims + (m.locked_until IS NOT NULL)::integer
    WHERE m.id = ANY (ARRAY(
        SELECT id
        FROM (
            SELECT id, quota, row_number() OVER (PARTITION BY destination ORDER BY place, id) AS turn
            FROM candidate
        ) AS in_turn
        WHERE turn <= quota
    ))
    RETURNING m.id, m.message_id, m.destination, m.message_type, m.message_group, m.payload, m.content_type,
              m.headers::text AS headers, m.correlation_id, m.traceparent, m.attempts,
              m.lost_claims, coalesce(m.last_error_code = 'no_outcome', false) AS was_alone,
              m.first_failed_at IS NOT NULL AS has_failed
)
SELECT id, message_id, destination, message_type, message_group, payload, content_type, headers,
       correlation_id, traceparent, attempts, lost_claims, was_alone, has_failed
FROM leased
ORDER BY id

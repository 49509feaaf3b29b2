-- outbox.claim_groups
-- Lease the first due messages of message groups, of each group without a gap.
--   $1 uuid      claim token, fresh
--   $2 text      who claims, for people
--   $3 bigint    lease, in milliseconds
--   $4 integer   fewest claims in a row, before this one, that a message may have lost
--   $5 integer   most of them
--   $6 text[]    destination of each group
--   $7 text[]    groups, each once
--   $8 integer[] quota of each: most messages to lease
-- Returns what claim.sql returns.
-- Uses message_group_idx, message_pkey.
-- Never leases more than the quotas, nor a message while an earlier one of its group is unfinished and not in this
-- claim; for destinations see claim.sql. Groups that wait for something cost one look each.
WITH open AS MATERIALIZED (
    SELECT asked.destination, asked.message_group, asked.quota, asked.number
    FROM unnest($6::text[], $7::text[], $8::integer[])
        WITH ORDINALITY AS asked (destination, message_group, quota, number)
    WHERE NOT EXISTS (
        SELECT FROM outbox.destination AS state
        WHERE state.name IN (asked.destination, '*')
          AND (state.paused_at IS NOT NULL
               OR (state.breaker_opened_at IS NOT NULL AND state.probe_token IS DISTINCT FROM $1::uuid))
    )
),
-- The group is a lower bound only, and what is read beyond its end is dropped outside: behind a range an upper bound
-- would not end the scan, and a group shorter than its quota would be searched for to the end of the destination.
unfinished AS MATERIALIZED (
    SELECT open.number, next.id, next.place, next.is_claimable
    FROM open
    CROSS JOIN LATERAL (
        SELECT in_order.*, row_number() OVER () AS place
        FROM (
            SELECT m.id,
                   m.message_group,
                   m.dead_at IS NULL
                   AND (m.available_at IS NULL OR m.available_at <= now())
                   AND (m.locked_until IS NULL OR m.locked_until <= now())
                   AND m.lost_claims + (m.locked_until IS NOT NULL)::integer BETWEEN $4::integer AND $5::integer
                       AS is_claimable
            FROM outbox.message AS m
            WHERE m.destination >= open.destination
              AND m.destination <= open.destination
              AND m.message_group >= open.message_group
              AND m.dispatched_at IS NULL
              AND (m.dead_at IS NULL OR m.holds_group)
            ORDER BY m.destination, m.message_group, m.id
            LIMIT open.quota
        ) AS in_order
    ) AS next
    WHERE next.message_group = open.message_group
),
unbroken AS MATERIALIZED (
    SELECT number, id, place
    FROM (
        SELECT unfinished.*, bool_and(is_claimable) OVER (PARTITION BY number ORDER BY place) AS is_unbroken
        FROM unfinished
    ) AS checked
    WHERE is_unbroken
),
-- A lock sees the newest version of a row, and the snapshot above an older one. So the conditions are asked again here,
-- and a row whose predecessor could not be locked is left: every disagreement errs towards leaving it.
locked AS MATERIALIZED (
    SELECT m.id
    FROM outbox.message AS m
    WHERE m.id = ANY (ARRAY(SELECT id FROM unbroken ORDER BY id))
      AND m.dispatched_at IS NULL
      AND m.dead_at IS NULL
      AND (m.available_at IS NULL OR m.available_at <= now())
      AND (m.locked_until IS NULL OR m.locked_until <= now())
      AND m.lost_claims + (m.locked_until IS NOT NULL)::integer BETWEEN $4::integer AND $5::integer
    FOR UPDATE OF m SKIP LOCKED
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
            SELECT unbroken.id, unbroken.place,
                   row_number() OVER (PARTITION BY unbroken.number ORDER BY unbroken.place) AS place_locked
            FROM unbroken
            WHERE unbroken.id = ANY (ARRAY(SELECT id FROM locked))
        ) AS held
        WHERE place = place_locked
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

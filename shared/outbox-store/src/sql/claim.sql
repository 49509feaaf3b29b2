-- outbox.claim
-- Lease due messages, oldest first: for each destination at most its quota, and of a message group only its
-- first unfinished messages without a gap.
--   $1 text[]    destinations
--   $2 integer[] quota of each: most messages to lease
--   $3 uuid      claim token, fresh
--   $4 text      who claims, for people
--   $5 bigint    lease, in milliseconds
--   $6 integer   fewest claims in a row, before this one, that a message may have lost
--   $7 integer   most of them
-- Returns the leased messages in order of id, with their attempt number; lost_claims counts the claims in a row before
-- this one that ended without an outcome (a lease that stands in the row is that of one), was_alone tells whether
-- isolate.sql announced it.
-- Uses message_fresh_idx, message_scheduled_idx, message_group_idx, message_pkey.
-- Never leases more than the quotas, nor a row that another relay holds, nor one of a paused destination.
--
-- Both bounds of a range with one value stand where an equality would do: an equality would make the column a
-- constant to the planner, so that the primary key gives the order too, and statistics of a drained table (it is
-- empty most of the time) make that walk over all history look as cheap as the partial index.
WITH open AS MATERIALIZED (
    SELECT asked.destination, asked.quota
    FROM unnest($1::text[], $2::integer[]) AS asked (destination, quota)
    WHERE NOT EXISTS (
        SELECT FROM outbox.destination AS state
        WHERE state.name IN (asked.destination, '*')
          AND state.paused_at IS NOT NULL
    )
),
-- Fresh and retrying rows take turns (place), so that neither can hold the other back. Of a group whose head is fresh
-- and free, fresh rows are candidates; of one whose head is retrying and due, the head alone. A row that waits behind
-- its head is passed over here: it would fill the quota, claim after claim, and be left in the end.
candidate AS MATERIALIZED (
    SELECT due.id, due.destination, due.message_group, due.place, open.quota
    FROM open
    CROSS JOIN LATERAL (
        SELECT fresh.*, row_number() OVER () AS place
        FROM (
            SELECT m.id, m.destination, m.message_group
            FROM outbox.message AS m
            WHERE m.destination >= open.destination
              AND m.destination <= open.destination
              AND m.available_at IS NULL
              AND m.dispatched_at IS NULL
              AND m.dead_at IS NULL
              AND (m.locked_until IS NULL OR m.locked_until <= now())
              AND m.lost_claims + (m.locked_until IS NOT NULL)::integer BETWEEN $6::integer AND $7::integer
              AND (m.message_group IS NULL OR (
                    SELECT head.available_at IS NULL
                       AND (head.locked_until IS NULL OR head.locked_until <= now())
                       AND head.lost_claims + (head.locked_until IS NOT NULL)::integer BETWEEN $6 AND $7
                    FROM outbox.message AS head
                    WHERE head.destination >= m.destination
                      AND head.destination <= m.destination
                      AND head.message_group >= m.message_group
                      AND head.message_group <= m.message_group
                      AND head.dispatched_at IS NULL
                      AND head.dead_at IS NULL
                    ORDER BY head.destination, head.message_group, head.id
                    LIMIT 1
              ))
            ORDER BY m.destination, m.id
            LIMIT open.quota
            FOR UPDATE OF m SKIP LOCKED
        ) AS fresh
        UNION ALL
        SELECT retrying.*, row_number() OVER () AS place
        FROM (
            SELECT m.id, m.destination, m.message_group
            FROM outbox.message AS m
            WHERE m.destination >= open.destination
              AND m.destination <= open.destination
              AND m.available_at <= now()
              AND m.dispatched_at IS NULL
              AND m.dead_at IS NULL
              AND (m.locked_until IS NULL OR m.locked_until <= now())
              AND m.lost_claims + (m.locked_until IS NOT NULL)::integer BETWEEN $6::integer AND $7::integer
              AND (m.message_group IS NULL OR (
                    SELECT head.id = m.id
                    FROM outbox.message AS head
                    WHERE head.destination >= m.destination
                      AND head.destination <= m.destination
                      AND head.message_group >= m.message_group
                      AND head.message_group <= m.message_group
                      AND head.dispatched_at IS NULL
                      AND head.dead_at IS NULL
                    ORDER BY head.destination, head.message_group, head.id
                    LIMIT 1
              ))
            ORDER BY m.destination, m.available_at, m.id
            LIMIT open.quota
            FOR UPDATE OF m SKIP LOCKED
        ) AS retrying
    ) AS due
),
within_quota AS MATERIALIZED (
    SELECT id, destination, message_group
    FROM (
        SELECT candidate.*, row_number() OVER (PARTITION BY destination ORDER BY place, id) AS turn
        FROM candidate
    ) AS taken
    WHERE turn <= quota
),
-- The locks may see newer versions of rows than the statement's snapshot does. So a grouped row is taken only if
-- its place in the claim is its place among the group's unfinished rows in the snapshot: every disagreement
-- errs towards leaving it.
taken AS MATERIALIZED (
    SELECT destination, message_group, array_agg(id ORDER BY id) AS ids
    FROM within_quota
    WHERE message_group IS NOT NULL
    GROUP BY destination, message_group
),
unbroken AS MATERIALIZED (
    SELECT unfinished.id
    FROM taken
    CROSS JOIN LATERAL (
        SELECT in_order.id, row_number() OVER () AS place
        FROM (
            SELECT m.id
            FROM outbox.message AS m
            WHERE m.destination >= taken.destination
              AND m.destination <= taken.destination
              AND m.message_group >= taken.message_group
              AND m.message_group <= taken.message_group
              AND m.dispatched_at IS NULL
              AND m.dead_at IS NULL
            ORDER BY m.destination, m.message_group, m.id
            LIMIT cardinality(taken.ids)
        ) AS in_order
    ) AS unfinished
    WHERE unfinished.id = taken.ids[unfinished.place]
),
leased AS (
    UPDATE outbox.message AS m
    SET locked_until = now() + $5::bigint * interval '1 millisecond',
        claim_token = $3::uuid,
        claimed_by = $4::text,
        attempts = m.attempts + 1,
        lost_claims = m.lost_claims + (m.locked_until IS NOT NULL)::integer
    WHERE m.id = ANY (ARRAY(
        SELECT id FROM within_quota WHERE message_group IS NULL
        UNION ALL
        SELECT id FROM unbroken
    ))
    RETURNING m.id, m.message_id, m.destination, m.message_type, m.message_group, m.payload, m.content_type,
              m.headers::text AS headers, m.correlation_id, m.traceparent, m.attempts,
              m.lost_claims, coalesce(m.last_error_code = 'no_outcome', false) AS was_alone
)
SELECT id, message_id, destination, message_type, message_group, payload, content_type, headers,
       correlation_id, traceparent, attempts, lost_claims, was_alone
FROM leased
ORDER BY id

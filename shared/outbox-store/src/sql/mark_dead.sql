-- outbox.mark_dead
-- Give claimed messages up, where this claim still holds them. They stay until a person redrives them.
--   $1 uuid     claim token
--   $2 bigint[] ids, ascending
--   $3 text[]   reason of each
--   $4 text[]   error code of each
--   $5 text[]   error text of each, bounded by the caller
--   $6 boolean[] whether each keeps the rest of its group waiting
-- Returns the ids that carry this claim's mark now, those of an earlier try of the same mark included.
-- A mark that is repeated, because its answer was lost, leaves a group that was resumed meanwhile as it is.
-- Uses message_pkey; why the guard stands in a CASE: see mark_dispatched.sql.
WITH outcome AS MATERIALIZED (
    SELECT id, reason, error_code, error, holds_group
    FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::boolean[])
        AS outcome (id, reason, error_code, error, holds_group)
),
marked AS (
    UPDATE outbox.message AS m
    SET dead_at = coalesce(m.dead_at, now()),
        dead_reason = outcome.reason,
        holds_group = CASE
            WHEN m.dead_at IS NULL THEN outcome.holds_group AND m.message_group IS NOT NULL
            ELSE m.holds_group
        END,
        first_failed_at = coalesce(m.first_failed_at, now()),
        last_error_code = outcome.error_code,
        last_error = outcome.error
    FROM outcome
    WHERE m.id = outcome.id
      AND CASE WHEN m.claim_token = $1 THEN m.dispatched_at IS NULL END
    RETURNING m.id
)
SELECT id FROM marked

-- outbox.mark_retry
-- Put claimed messages back for a later attempt, where this claim still holds them.
--   $1 uuid      claim token
--   $2 bigint[]  ids, ascending
--   $3 bigint[]  wait of each, in milliseconds from now
--   $4 boolean[] whether the attempt is given back
--   $5 text[]    error code of each
--   $6 text[]    error text of each, bounded by the caller
-- Returns the ids that carry this claim's mark now, those of an earlier try of the same mark included.
-- Uses message_pkey; why the guard stands in a CASE: see mark_dispatched.sql.
WITH outcome AS MATERIALIZED (
    SELECT id, delay_ms, gives_attempt_back, error_code, error
    FROM unnest($2::bigint[], $3::bigint[], $4::boolean[], $5::text[], $6::text[])
        AS outcome (id, delay_ms, gives_attempt_back, error_code, error)
),
marked AS (
    UPDATE outbox.message AS m
    SET available_at = now() + outcome.delay_ms * interval '1 millisecond',
        attempts = m.attempts - outcome.gives_attempt_back::integer,
        lost_claims = 0,
        locked_until = NULL,
        first_failed_at = coalesce(m.first_failed_at, now()),
        last_error_code = outcome.error_code,
        last_error = outcome.error
    FROM outcome
    WHERE m.id = outcome.id
      AND CASE WHEN m.claim_token = $1 THEN m.locked_until IS NOT NULL END
    RETURNING m.id
)
SELECT id FROM marked
UNION ALL
SELECT m.id
FROM outcome
JOIN outbox.message AS m ON m.id = outcome.id
WHERE CASE WHEN m.claim_token = $1 THEN m.locked_until IS NULL END

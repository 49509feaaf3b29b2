-- outbox.redrive
-- Make dead messages pending again, and write down who asked for it and why.
--   $1 bigint[] ids, or NULL for any
--   $2 text     destination, or NULL for any
--   $3 text     last error code, or NULL for any
--   $4 text     actor
--   $5 text     reason
--   $6 jsonb    the selection as asked, for the audit
-- Returns n_messages. Identity, payload, group and id stay; attempts start anew. The messages take turns with fresh
-- ones, as retries do, so that a large redrive does not hold live traffic back.
-- Uses message_dead_idx, or message_pkey for ids.
WITH redriven AS (
    UPDATE outbox.message AS m
    SET dead_at = NULL,
        dead_reason = NULL,
        holds_group = false,
        available_at = now(),
        attempts = 0,
        lost_claims = 0,
        locked_until = NULL,
        claim_token = NULL,
        claimed_by = NULL,
        first_failed_at = NULL,
        last_error_code = NULL,
        last_error = NULL
    WHERE m.dead_at IS NOT NULL
      AND ($1::bigint[] IS NULL OR m.id = ANY ($1))
      AND ($2::text IS NULL OR m.destination = $2)
      AND ($3::text IS NULL OR m.last_error_code = $3)
    RETURNING m.id
),
counted AS (
    SELECT count(*) AS n_messages FROM redriven
),
audited AS (
    INSERT INTO outbox.audit (actor, action, selection, n_messages, reason)
    SELECT $4, 'redrive', $6, n_messages, $5
    FROM counted
)
SELECT n_messages FROM counted

-- outbox.release
-- Hand back claimed messages that were never sent: claimable at once, their attempt given back.
--   $1 uuid     claim token
--   $2 bigint[] ids, ascending
-- Returns the ids that this claim holds no longer by its own will, those of an earlier try included.
-- Uses message_pkey; why the guard stands in a CASE: see mark_dispatched.sql.
WITH unsent AS MATERIALIZED (
    SELECT id FROM unnest($2::bigint[]) AS unsent (id)
),
marked AS (
    UPDATE outbox.message AS m
    SET attempts = m.attempts - 1,
        locked_until = NULL
    FROM unsent
    WHERE m.id = unsent.id
      AND CASE WHEN m.claim_token = $1 THEN m.locked_until IS NOT NULL END
    RETURNING m.id
)
SELECT id FROM marked
UNION ALL
SELECT m.id
FROM unsent
JOIN outbox.message AS m ON m.id = unsent.id
WHERE CASE WHEN m.claim_token = $1 THEN m.locked_until IS NULL END

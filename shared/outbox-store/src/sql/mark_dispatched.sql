-- outbox.mark_dispatched
-- Mark claimed messages dispatched, where this claim still holds them.
--   $1 uuid     claim token
--   $2 bigint[] ids, ascending: every mark locks in this order
--   $3 text[]   the broker's message id of each
-- Returns the ids that carry this claim's mark now, those of an earlier try of the same mark included; an id that
-- is missing is fenced: another relay has the row.
-- Uses message_pkey. locked_until stays as it is: clearing it would only lengthen the WAL record.
--
-- The guard stands in a CASE, which the planner can't look into: from `claim_token = $1` it would expect a single row and
-- walk the primary key for it, past all history, instead of probing it for each id.
WITH outcome AS MATERIALIZED (
    SELECT id, broker_message_id
    FROM unnest($2::bigint[], $3::text[]) AS outcome (id, broker_message_id)
),
marked AS (
    UPDATE outbox.message AS m
    SET dispatched_at = coalesce(m.dispatched_at, now()),
        broker_message_id = outcome.broker_message_id
    FROM outcome
    WHERE m.id = outcome.id
      AND CASE WHEN m.claim_token = $1 THEN m.dead_at IS NULL END
    RETURNING m.id
)
SELECT id FROM marked

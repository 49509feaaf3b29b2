-- outbox.pause
-- Leave a destination out of all claims from now on, and write down who asked for it and why.
--   $1 text  destination; * for all
--   $2 text  actor
--   $3 text  reason
-- Returns changed: false if it was paused already, which is then left as it is.
WITH paused AS (
    INSERT INTO outbox.destination AS state (name, paused_at, paused_by, pause_reason)
    VALUES ($1, now(), $2, $3)
    ON CONFLICT (name) DO UPDATE
    SET paused_at = excluded.paused_at,
        paused_by = excluded.paused_by,
        pause_reason = excluded.pause_reason
    WHERE state.paused_at IS NULL
    RETURNING state.name
),
audited AS (
    INSERT INTO outbox.audit (actor, action, selection, n_messages, reason)
    SELECT $2, 'pause', jsonb_build_object('destination', name), 0, $3
    FROM paused
)
SELECT EXISTS (SELECT FROM paused) AS changed

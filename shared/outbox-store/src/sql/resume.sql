-- outbox.resume
-- Let claims take a destination again that is paused or whose breaker is open, and write down who asked for it and why.
--   $1 text  destination; * for the pause of all, which leaves those of single destinations
--   $2 text  actor
--   $3 text  reason
-- Returns changed: false if it was neither.
WITH resumed AS (
    UPDATE outbox.destination AS state
    SET paused_at = NULL,
        paused_by = NULL,
        pause_reason = NULL,
        failed_requests = 0,
        last_error_code = NULL,
        breaker_opened_at = NULL,
        probe_at = NULL,
        failed_probes = 0,
        probe_token = NULL
    WHERE state.name = $1
      AND (state.paused_at IS NOT NULL OR state.breaker_opened_at IS NOT NULL)
    RETURNING state.name
),
audited AS (
    INSERT INTO outbox.audit (actor, action, selection, n_messages, reason)
    SELECT $2, 'resume', jsonb_build_object('destination', name), 0, $3
    FROM resumed
)
SELECT EXISTS (SELECT FROM resumed) AS changed

-- outbox.recovered
-- Close the breaker of destinations that have accepted something, and forget the requests that failed before.
--   $1 text[] destinations, in order of their names
-- Returns the names of those whose breaker was open.
-- Uses destination_pkey.
WITH recovered AS (
    UPDATE outbox.destination AS state
    SET failed_requests = 0,
        last_error_code = NULL,
        breaker_opened_at = NULL,
        probe_at = NULL,
        failed_probes = 0,
        probe_token = NULL
    FROM outbox.destination AS before
    WHERE state.name = ANY ($1::text[])
      AND before.name = state.name
      AND state.failed_requests > 0
    RETURNING state.name, before.breaker_opened_at
)
SELECT name
FROM recovered
WHERE breaker_opened_at IS NOT NULL

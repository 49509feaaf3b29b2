-- outbox.requests_failed
-- Count requests that failed as a whole. After three in a row the breaker opens; a failed probe doubles the wait for the
-- next one, from 5 seconds to a minute.
--   $1 text[]    destinations, in order of their names
--   $2 integer[] requests of each that have failed in a row since it was told last
--   $3 text[]    error code of the latest
--   $4 uuid[]    token of the claim that probed with one of them, or NULL
-- Returns the names of the destinations whose breaker this call opened.
-- Uses destination_pkey.
WITH failed AS MATERIALIZED (
    SELECT name, n_requests, error_code, probe_token
    FROM unnest($1::text[], $2::integer[], $3::text[], $4::uuid[]) AS failed (name, n_requests, error_code, probe_token)
),
counted AS (
    INSERT INTO outbox.destination AS state (name, failed_requests, last_error_code, breaker_opened_at, probe_at)
    SELECT name, n_requests, error_code,
           CASE WHEN n_requests >= 3 THEN now() END,
           CASE WHEN n_requests >= 3 THEN now() + interval '5 seconds' END
    FROM failed
    ON CONFLICT (name) DO UPDATE
    SET failed_requests = least(state.failed_requests + excluded.failed_requests, 1000000),
        last_error_code = excluded.last_error_code,
        breaker_opened_at = CASE
            WHEN state.breaker_opened_at IS NOT NULL THEN state.breaker_opened_at
            WHEN state.failed_requests + excluded.failed_requests >= 3 THEN now()
        END,
        probe_at = CASE
            WHEN state.probe_token = (SELECT failed.probe_token FROM failed WHERE failed.name = state.name)
                THEN now() + least(5 * 2 ^ least(state.failed_probes + 1, 10), 60) * interval '1 second'
            WHEN state.breaker_opened_at IS NOT NULL THEN state.probe_at
            WHEN state.failed_requests + excluded.failed_requests >= 3 THEN now() + interval '5 seconds'
        END,
        failed_probes = state.failed_probes
            + coalesce(state.probe_token = (SELECT failed.probe_token FROM failed WHERE failed.name = state.name), false)::integer,
        probe_token = nullif(state.probe_token, (SELECT failed.probe_token FROM failed WHERE failed.name = state.name))
    RETURNING name, breaker_opened_at
)
SELECT name
FROM counted
WHERE breaker_opened_at = now()

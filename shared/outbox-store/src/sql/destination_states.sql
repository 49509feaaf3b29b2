-- outbox.destination_states
-- List the destinations that are paused or whose breaker is open, with or without messages.
-- Returns name (* for the pause of all), paused_at in UTC, paused_seconds, paused_by, pause_reason, opened_at,
-- open_seconds, error_code, failed_probes and probe_in_seconds (0 when a probe is due), in order of their names; 1000 at
-- most.
SELECT state.name,
       (to_json(state.paused_at AT TIME ZONE 'UTC') #>> '{}') || 'Z' AS paused_at,
       extract(epoch FROM now() - state.paused_at)::double precision AS paused_seconds,
       state.paused_by,
       state.pause_reason,
       (to_json(state.breaker_opened_at AT TIME ZONE 'UTC') #>> '{}') || 'Z' AS opened_at,
       extract(epoch FROM now() - state.breaker_opened_at)::double precision AS open_seconds,
       state.last_error_code AS error_code,
       state.failed_probes,
       greatest(extract(epoch FROM state.probe_at - now()), 0)::double precision AS probe_in_seconds
FROM outbox.destination AS state
WHERE state.paused_at IS NOT NULL
   OR state.breaker_opened_at IS NOT NULL
ORDER BY state.name
LIMIT 1000

-- outbox.last_runs
-- Look up the latest run of the relay and of the purge.
-- Returns function, run_by, ended_at in UTC, ended_seconds_ago, duration_seconds, error_code and report; nothing for a
-- function that has not run yet.
-- It goes through run_latest_idx, one step for each function.
SELECT latest.function,
       latest.run_by,
       (to_json(latest.ended_at AT TIME ZONE 'UTC') #>> '{}') || 'Z' AS ended_at,
       extract(epoch FROM clock_timestamp() - latest.ended_at)::double precision AS ended_seconds_ago,
       extract(epoch FROM latest.ended_at - latest.started_at)::double precision AS duration_seconds,
       latest.error_code,
       latest.report
FROM (VALUES ('relay'), ('purge')) AS asked (function)
CROSS JOIN LATERAL (
    SELECT *
    FROM outbox.run AS r
    WHERE r.function = asked.function
    ORDER BY r.ended_at DESC
    LIMIT 1
) AS latest

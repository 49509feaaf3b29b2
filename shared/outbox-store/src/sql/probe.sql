-- outbox.probe
-- Take the right to probe destinations whose breaker is open, where it is time and no other relay probes.
--   $1 uuid   token of the claim that follows in the same transaction
--   $2 text[] destinations, in order of their names
--   $3 bigint time for the probe, in milliseconds: after that another relay may probe
-- Returns the names of those that may be probed.
-- Uses destination_pkey. Whoever waits here for another relay's probe finds the time moved on, and gets nothing.
UPDATE outbox.destination AS state
SET probe_at = now() + $3::bigint * interval '1 millisecond',
    probe_token = $1::uuid
WHERE state.name = ANY ($2)
  AND state.breaker_opened_at IS NOT NULL
  AND state.probe_at <= now()
RETURNING state.name

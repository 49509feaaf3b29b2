-- outbox.probe_unused
-- Give back the right to probe destinations, where the claim that took it got no message to probe with.
--   $1 uuid   token of the claim
--   $2 text[] destinations, in order of their names
-- Returns nothing.
-- Uses destination_pkey. Without it nobody could probe for a minute.
UPDATE outbox.destination AS state
SET probe_at = now(),
    probe_token = NULL
WHERE state.name = ANY ($2)
  AND state.probe_token = $1

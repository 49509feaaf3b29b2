-- outbox.isolate
-- Announce that a claimed message is about to be sent alone, because its last claims ended without an outcome. If this one
-- does too, the message itself ends its relays.
--   $1 uuid   claim token
--   $2 bigint id
-- Returns the id, if this claim still holds it.
-- Uses message_pkey.
UPDATE outbox.message AS m
SET first_failed_at = coalesce(m.first_failed_at, now()),
    last_error_code = 'no_outcome',
    last_error = m.lost_claims || ' claims in a row ended without an outcome; sent alone since'
WHERE m.id = $2::bigint
  AND m.claim_token = $1
  AND m.dispatched_at IS NULL
  AND m.dead_at IS NULL
RETURNING m.id

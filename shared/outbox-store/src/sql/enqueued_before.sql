-- outbox.enqueued_before
-- Find those of a producer's messages that are in the outbox already.
--   $1 uuid[] message ids
--   $2 text[] the destination of each
-- Returns the ids of those that are.
-- Uses message_identity_idx.
SELECT there.id
FROM unnest($1::uuid[], $2::text[]) AS given (message_id, destination)
CROSS JOIN LATERAL (
    SELECT m.id
    FROM outbox.message AS m
    WHERE m.message_id = given.message_id
      AND m.destination = given.destination
    LIMIT 1
) AS there

-- outbox.unlocked
-- Of these messages, find those whose rows nobody else holds at this moment.
--   $1 bigint[] ids
-- Returns their ids.
-- Uses message_pkey. Waits for no lock; its own end with the statement.
SELECT m.id
FROM outbox.message AS m
WHERE m.id = ANY ($1)
FOR UPDATE SKIP LOCKED

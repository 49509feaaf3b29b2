-- outbox.purge
-- Delete dispatched messages past their retention, oldest first, in one bounded batch.
--   $1 bigint  retention, in milliseconds since the message was dispatched
--   $2 bigint  most rows to delete
-- Returns the ids of the deleted rows.
-- Uses message_dispatched_idx. Deletes nothing that is pending, claimed or dead, at any age, and waits for no lock.
DELETE FROM outbox.message
WHERE ctid = ANY (ARRAY(
    SELECT m.ctid
    FROM outbox.message AS m
    WHERE m.dispatched_at < now() - $1::bigint * interval '1 millisecond'
    ORDER BY m.dispatched_at
    LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
))
RETURNING id

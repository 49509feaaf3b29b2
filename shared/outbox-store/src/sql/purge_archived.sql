-- outbox.purge_archived
-- Delete archived messages, if they are still what was archived.
--   $1 bigint    retention, in milliseconds since the message was dispatched
--   $2 bigint[]  ids of archived messages
--   $3 text[]    the version of each row as purgeable returned it, in the same order
-- Returns the ids of the deleted rows.
-- Uses message_pkey. A row that was written since stays, as does one that somebody holds: it waits for no lock.
-- Deletes nothing that is pending, claimed or dead, whatever the ids.
DELETE FROM outbox.message
WHERE ctid = ANY (ARRAY(
    SELECT m.ctid
    FROM unnest($2::bigint[], $3::text[]) AS archived (id, row_version)
    JOIN outbox.message AS m ON m.id = archived.id
    WHERE m.xmin::text = archived.row_version
      AND m.dispatched_at < now() - $1::bigint * interval '1 millisecond'
    FOR UPDATE OF m SKIP LOCKED
))
RETURNING id

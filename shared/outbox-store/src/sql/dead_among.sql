-- outbox.dead_among
-- Of these messages, find those that are dead and match the rest of a selection.
--   $1 bigint[] ids
--   $2 text     destination, or NULL for any
--   $3 text     last error code, or NULL for any
--   $4 text     message group, or NULL for any
--   $5 bigint   latest death that counts, in microseconds since 1970
--   $6 bigint   earliest, or NULL for any
-- Returns destination and id, in no order. Locks nothing: redrive.sql and discard.sql look again.
-- Uses message_pkey, or message_dead_idx where a destination is given.
SELECT m.destination, m.id
FROM outbox.message AS m
WHERE m.id = ANY ($1::bigint[])
  AND ($2::text IS NULL OR m.destination = $2)
  AND ($3::text IS NULL OR m.last_error_code = $3)
  AND ($4::text IS NULL OR m.message_group = $4)
  AND m.dead_at <= timestamptz 'epoch' + $5::bigint * interval '1 microsecond'
  AND ($6::bigint IS NULL OR m.dead_at >= timestamptz 'epoch' + $6 * interval '1 microsecond')

-- outbox.next_dead
-- Find the next dead messages of a selection, in order of destination and id.
--   $1 text    destination, or NULL for any
--   $2 text    last error code, or NULL for any
--   $3 text    message group, or NULL for any
--   $4 bigint  latest death that counts, in microseconds since 1970
--   $5 bigint  earliest, or NULL for any
--   $6 text    destination to go on in; the empty text at first
--   $7 bigint  id in it to go on after
--   $8 bigint  most rows to return
-- Returns destination and id. Locks nothing: redrive.sql and discard.sql look again.
-- Uses message_dead_idx, and begins there after $6 and $7. One destination is a range and no equality, for the reason that
-- claim.sql gives.
SELECT m.destination, m.id
FROM outbox.message AS m
WHERE m.dead_at IS NOT NULL
  AND (m.destination, m.id) > ($6::text, $7::bigint)
  AND ($1::text IS NULL OR (m.destination >= $1 AND m.destination <= $1))
  AND ($2::text IS NULL OR m.last_error_code = $2)
  AND ($3::text IS NULL OR m.message_group = $3)
  AND m.dead_at <= timestamptz 'epoch' + $4::bigint * interval '1 microsecond'
  AND ($5::bigint IS NULL OR m.dead_at >= timestamptz 'epoch' + $5 * interval '1 microsecond')
ORDER BY m.destination, m.id
LIMIT $8::bigint

-- outbox.dead_summary
-- Count the dead messages of a selection, per destination and code.
--   $1 bigint[] ids, or NULL for any
--   $2 text     destination, or NULL for any
--   $3 text     last error code, or NULL for any
--   $4 text     message group, or NULL for any
--   $5 bigint   latest death that counts, in microseconds since 1970
--   $6 bigint   earliest, or NULL for any
-- Returns destination, code (NULL if nothing told one), n_messages and oldest_dead_seconds (since the oldest of them
-- died), in no order.
-- Uses message_dead_idx, or message_pkey for ids.
SELECT m.destination,
       m.last_error_code AS code,
       count(*) AS n_messages,
       extract(epoch FROM now() - min(m.dead_at))::double precision AS oldest_dead_seconds
FROM outbox.message AS m
WHERE m.dead_at IS NOT NULL
  AND ($1::bigint[] IS NULL OR m.id = ANY ($1))
  AND ($2::text IS NULL OR (m.destination >= $2 AND m.destination <= $2))
  AND ($3::text IS NULL OR m.last_error_code = $3)
  AND ($4::text IS NULL OR m.message_group = $4)
  AND m.dead_at <= timestamptz 'epoch' + $5::bigint * interval '1 microsecond'
  AND ($6::bigint IS NULL OR m.dead_at >= timestamptz 'epoch' + $6 * interval '1 microsecond')
GROUP BY m.destination, m.last_error_code

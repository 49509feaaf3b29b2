-- outbox.bench_fill
-- Add messages to a bench's own outbox. The payload is a JSON string that does not compress, as md5 makes it.
--   $1 bigint   number of the first message
--   $2 bigint   number of the last message
--   $3 integer  bytes of each payload, at least 2
--   $4 integer  message groups, which take turns; 0: none
-- Returns nothing.
INSERT INTO outbox.message (destination, message_group, message_type, payload)
SELECT 'bench', CASE WHEN $4::integer > 0 THEN 'group-' || number % $4::integer END, 'outbox.bench.v1',
       '"' || left(text.value, $3::integer - 2) || '"'
FROM generate_series($1::bigint, $2::bigint) AS number
CROSS JOIN LATERAL (
    SELECT string_agg(md5(number || '-' || part), '') AS value
    FROM generate_series(0, $3::integer / 32) AS part
) AS text
ORDER BY number

-- outbox.bench_fill
-- Insert messages of a bench, all made by the server.
--   $1 bigint  number of the first
--   $2 bigint  number of the last
--   $3 bigint  message groups to spread them over; 0: without groups
--   $4 text    payload; each message has its own number in place of its beginning
-- Returns nothing.
INSERT INTO outbox.message (destination, message_type, payload, message_group)
SELECT 'bench',
       'bench.v1',
       left(n::text || $4::text, length($4::text)),
       CASE WHEN $3::bigint > 0 THEN 'group-' || n % $3::bigint END
FROM generate_series($1::bigint, $2::bigint) AS n

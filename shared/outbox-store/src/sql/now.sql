-- outbox.now
-- Tell the database's time: where an operation of several transactions begins.
-- Returns now_us, in microseconds since 1970.
SELECT (extract(epoch FROM now()) * 1000000)::bigint AS now_us

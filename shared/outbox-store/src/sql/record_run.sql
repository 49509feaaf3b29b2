-- outbox.record_run
-- Write down a run that has just ended. It waits half a second for a lock, and no longer.
--   $1 text   relay or purge
--   $2 text   who ran it, for people
--   $3 bigint how long it took, in milliseconds
--   $4 text   code of the error that ended it, or NULL
--   $5 jsonb  its report
-- Returns recorded: false where the database takes no writes.
SELECT outbox.record_run($1, $2, $3, $4, $5) AS recorded

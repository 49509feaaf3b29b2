-- outbox.takes_writes
-- Ask whether the server takes writes: a replica, or one that is set read-only, does not.
-- Returns takes_writes.
SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off' AS takes_writes

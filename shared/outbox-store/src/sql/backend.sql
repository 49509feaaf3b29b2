-- outbox.backend
-- Tell which of the server's connections this is.
-- Returns pid, the process that serves it.
SELECT pg_backend_pid() AS pid

-- outbox.backlog
-- Count what is due, retrying, scheduled, claimed and dead, per destination, and how long the oldest has been due.
-- Returns the rows of the view outbox.backlog. For operators: it counts the whole backlog.
-- Uses message_fresh_idx, message_scheduled_idx and message_dead_idx.
SELECT destination, due, retrying, scheduled, claimed, dead, oldest_due_seconds, paused
FROM outbox.backlog
ORDER BY destination

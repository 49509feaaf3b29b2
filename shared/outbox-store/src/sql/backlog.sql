-- outbox.backlog
-- Count what is due, retrying, scheduled, claimed, dead and held, per destination, and how long the oldest has been due.
-- Returns the rows of the view outbox.backlog. For operators: it counts the whole backlog.
-- Uses message_fresh_idx, message_age_idx, message_dead_idx and message_group_idx.
SELECT destination, due, retrying, scheduled, claimed, dead, oldest_due_seconds, paused,
       breaker_open, held_groups, held
FROM outbox.backlog
ORDER BY destination

-- outbox.serves_since
-- Read since which migration programs work with this outbox. Only an outbox of version 5 or later tells.
-- Returns version.
SELECT outbox.serves_since() AS version

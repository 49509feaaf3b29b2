-- outbox.due
-- List the destinations that have due messages, and how long the oldest of each has been due.
-- Returns destination, oldest_due_seconds by the database's clock, and paused; leased messages count, as they are not
-- dispatched yet. Paused destinations are listed too: their age is what an operator wants to see.
-- Uses message_fresh_idx and message_scheduled_idx, one step for each destination: the backlog is not counted.
WITH RECURSIVE unfinished (destination) AS (
    SELECT least(
        (SELECT m.destination
         FROM outbox.message AS m
         WHERE m.available_at IS NULL AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, m.id
         LIMIT 1),
        (SELECT m.destination
         FROM outbox.message AS m
         WHERE m.available_at IS NOT NULL AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, m.available_at, m.id
         LIMIT 1)
    )
    UNION ALL
    SELECT least(
        (SELECT m.destination
         FROM outbox.message AS m
         WHERE m.destination > unfinished.destination
           AND m.available_at IS NULL AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, m.id
         LIMIT 1),
        (SELECT m.destination
         FROM outbox.message AS m
         WHERE m.destination > unfinished.destination
           AND m.available_at IS NOT NULL AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, m.available_at, m.id
         LIMIT 1)
    )
    FROM unfinished
    WHERE unfinished.destination IS NOT NULL
),
oldest AS (
    SELECT unfinished.destination, least(
        (SELECT m.created_at
         FROM outbox.message AS m
         WHERE m.destination >= unfinished.destination AND m.destination <= unfinished.destination
           AND m.available_at IS NULL AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, m.id
         LIMIT 1),
        (SELECT greatest(m.created_at, m.available_at)
         FROM outbox.message AS m
         WHERE m.destination >= unfinished.destination AND m.destination <= unfinished.destination
           AND m.available_at <= now() AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, m.available_at, m.id
         LIMIT 1)
    ) AS due_since
    FROM unfinished
    WHERE unfinished.destination IS NOT NULL
)
SELECT destination,
       extract(epoch FROM now() - due_since)::double precision AS oldest_due_seconds,
       EXISTS (
           SELECT FROM outbox.destination AS state
           WHERE state.name IN (oldest.destination, '*')
             AND state.paused_at IS NOT NULL
       ) AS paused
FROM oldest
WHERE due_since IS NOT NULL
ORDER BY destination

-- outbox.due
-- List the destinations that have due messages, for how long the oldest of each has been due, and what state they are in.
-- Returns destination, oldest_due_seconds by the database's clock (a failed message has been due since it first failed),
-- has_ungrouped, has_groups, has_suspects (messages with a lost claim), held_groups (1000 at most), paused, failed_requests, breaker_open and probe_due.
-- Leased, retrying and held messages count as due, as they are not dispatched yet; so do those of paused destinations:
-- their age is what an operator wants to see.
-- Uses message_fresh_idx, message_scheduled_idx, message_group_idx, message_age_idx, message_suspect_idx and message_held_idx, a few steps for
-- each destination: the backlog is not counted.
WITH RECURSIVE unfinished (destination) AS (
    SELECT least(
        (SELECT m.destination
         FROM outbox.message AS m
         WHERE m.message_group IS NULL AND m.available_at IS NULL AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, m.id
         LIMIT 1),
        (SELECT m.destination
         FROM outbox.message AS m
         WHERE (m.message_group IS NOT NULL OR m.available_at IS NOT NULL)
           AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, coalesce(m.first_failed_at, greatest(m.created_at, m.available_at))
         LIMIT 1)
    )
    UNION ALL
    SELECT least(
        (SELECT m.destination
         FROM outbox.message AS m
         WHERE m.destination > unfinished.destination
           AND m.message_group IS NULL AND m.available_at IS NULL AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, m.id
         LIMIT 1),
        (SELECT m.destination
         FROM outbox.message AS m
         WHERE m.destination > unfinished.destination
           AND (m.message_group IS NOT NULL OR m.available_at IS NOT NULL)
           AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, coalesce(m.first_failed_at, greatest(m.created_at, m.available_at))
         LIMIT 1)
    )
    FROM unfinished
    WHERE unfinished.destination IS NOT NULL
),
oldest AS (
    SELECT unfinished.destination,
           (SELECT m.created_at
            FROM outbox.message AS m
            WHERE m.destination >= unfinished.destination AND m.destination <= unfinished.destination
              AND m.message_group IS NULL AND m.available_at IS NULL AND m.dispatched_at IS NULL AND m.dead_at IS NULL
            ORDER BY m.destination, m.id
            LIMIT 1) AS fresh_since,
           (SELECT coalesce(m.first_failed_at, greatest(m.created_at, m.available_at))
            FROM outbox.message AS m
            WHERE m.destination >= unfinished.destination AND m.destination <= unfinished.destination
              AND coalesce(m.first_failed_at, greatest(m.created_at, m.available_at)) <= now()
              AND (m.message_group IS NOT NULL OR m.available_at IS NOT NULL)
              AND m.dispatched_at IS NULL AND m.dead_at IS NULL
            ORDER BY m.destination, coalesce(m.first_failed_at, greatest(m.created_at, m.available_at))
            LIMIT 1) AS other_since
    FROM unfinished
    WHERE unfinished.destination IS NOT NULL
)
SELECT oldest.destination,
       extract(epoch FROM now() - least(fresh_since, other_since))::double precision AS oldest_due_seconds,
       fresh_since IS NOT NULL OR EXISTS (
           SELECT FROM outbox.message AS m
           WHERE m.destination >= oldest.destination AND m.destination <= oldest.destination
             AND m.message_group IS NULL AND m.available_at <= now()
             AND m.dispatched_at IS NULL AND m.dead_at IS NULL
       ) AS has_ungrouped,
       EXISTS (
           SELECT FROM outbox.message AS m
           WHERE m.destination >= oldest.destination AND m.destination <= oldest.destination
             AND m.message_group IS NOT NULL AND m.dispatched_at IS NULL AND (m.dead_at IS NULL OR m.holds_group)
       ) AS has_groups,
       EXISTS (
           SELECT FROM outbox.message AS m
           WHERE m.destination >= oldest.destination AND m.destination <= oldest.destination
             AND m.lost_claims > 0 AND m.dispatched_at IS NULL AND m.dead_at IS NULL
       ) AS has_suspects,
       (SELECT count(*)
        FROM (
            SELECT FROM outbox.message AS m
            WHERE m.holds_group
              AND m.destination >= oldest.destination AND m.destination <= oldest.destination
            LIMIT 1000
        ) AS held) AS held_groups,
       coalesce(state.paused_at IS NOT NULL, false) OR EXISTS (
           SELECT FROM outbox.destination AS every
           WHERE every.name = '*'
             AND every.paused_at IS NOT NULL
       ) AS paused,
       coalesce(state.failed_requests, 0) AS failed_requests,
       coalesce(state.breaker_opened_at IS NOT NULL, false) AS breaker_open,
       coalesce(state.probe_at <= now(), false) AS probe_due
FROM oldest
LEFT JOIN outbox.destination AS state ON state.name = oldest.destination
WHERE fresh_since IS NOT NULL
   OR other_since IS NOT NULL
ORDER BY oldest.destination

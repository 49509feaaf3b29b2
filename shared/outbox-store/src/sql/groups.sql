-- outbox.groups
-- Visit message groups and tell which of them have a head that can be claimed: free, due and not dead.
--   $1 text[]  destinations
--   $2 text[]  of each the group to start at, in order of their names; the empty text for the first
--   $3 integer most groups to visit of each destination
-- Returns destination, message_group and lost_claims (as in claim.sql) of every group visited, in no order; lost_claims is
-- NULL where the head can't be claimed.
-- Uses message_group_idx, one step for each group, however many messages wait in it.
WITH RECURSIVE visited (destination, message_group, lost_claims, place) AS (
    SELECT asked.destination, head.message_group, head.lost_claims, 1
    FROM unnest($1::text[], $2::text[]) AS asked (destination, first_group)
    CROSS JOIN LATERAL (
        SELECT m.message_group,
               CASE
                   WHEN m.dead_at IS NULL
                    AND (m.available_at IS NULL OR m.available_at <= now())
                    AND (m.locked_until IS NULL OR m.locked_until <= now())
                   THEN m.lost_claims + (m.locked_until IS NOT NULL)::integer
               END AS lost_claims
        FROM outbox.message AS m
        WHERE m.destination >= asked.destination
          AND m.destination <= asked.destination
          AND m.message_group >= asked.first_group
          AND m.dispatched_at IS NULL
          AND (m.dead_at IS NULL OR m.holds_group)
        ORDER BY m.destination, m.message_group, m.id
        LIMIT 1
    ) AS head
    UNION ALL
    SELECT visited.destination, head.message_group, head.lost_claims, visited.place + 1
    FROM visited
    CROSS JOIN LATERAL (
        SELECT m.message_group,
               CASE
                   WHEN m.dead_at IS NULL
                    AND (m.available_at IS NULL OR m.available_at <= now())
                    AND (m.locked_until IS NULL OR m.locked_until <= now())
                   THEN m.lost_claims + (m.locked_until IS NOT NULL)::integer
               END AS lost_claims
        FROM outbox.message AS m
        WHERE m.destination >= visited.destination
          AND m.destination <= visited.destination
          AND m.message_group > visited.message_group
          AND m.dispatched_at IS NULL
          AND (m.dead_at IS NULL OR m.holds_group)
        ORDER BY m.destination, m.message_group, m.id
        LIMIT 1
    ) AS head
    WHERE visited.place < $3::integer
)
SELECT destination, message_group, lost_claims
FROM visited

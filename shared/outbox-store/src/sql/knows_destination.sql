-- outbox.knows_destination
-- Tell whether any message has this destination: one that is not dispatched, or of the 10000 dispatched last.
--   $1 text  destination
-- Returns known.
-- Uses message_fresh_idx, message_age_idx, message_dead_idx and message_dispatched_idx.
SELECT EXISTS (
           SELECT FROM outbox.message AS m
           WHERE m.destination >= $1 AND m.destination <= $1
             AND m.message_group IS NULL AND m.available_at IS NULL AND m.dispatched_at IS NULL AND m.dead_at IS NULL
       ) OR EXISTS (
           SELECT FROM outbox.message AS m
           WHERE m.destination >= $1 AND m.destination <= $1
             AND (m.message_group IS NOT NULL OR m.available_at IS NOT NULL)
             AND m.dispatched_at IS NULL AND m.dead_at IS NULL
       ) OR EXISTS (
           SELECT FROM outbox.message AS m
           WHERE m.destination >= $1 AND m.destination <= $1
             AND m.dead_at IS NOT NULL
       ) OR EXISTS (
           SELECT FROM (
               SELECT m.destination
               FROM outbox.message AS m
               WHERE m.dispatched_at IS NOT NULL
               ORDER BY m.dispatched_at DESC
               LIMIT 10000
           ) AS latest
           WHERE latest.destination = $1
       ) AS known

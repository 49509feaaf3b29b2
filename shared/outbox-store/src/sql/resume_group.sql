-- outbox.resume_group
-- Let a message group go on that dead messages hold, without them, and write down who asked for it and why.
--   $1 text  destination
--   $2 text  message group
--   $3 text  actor
--   $4 text  reason
-- Returns changed: false if nothing held it. Its dead messages stay dead.
-- Uses message_held_idx.
WITH freed AS (
    UPDATE outbox.message AS m
    SET holds_group = false
    WHERE m.holds_group
      AND m.destination >= $1::text
      AND m.destination <= $1
      AND m.message_group = $2::text
    RETURNING m.id
),
counted AS (
    SELECT count(*) AS n_messages FROM freed
),
audited AS (
    INSERT INTO outbox.audit (actor, action, selection, n_messages, reason)
    SELECT $3::text, 'resume', jsonb_build_object('destination', $1, 'message_group', $2), n_messages, $4::text
    FROM counted
    WHERE n_messages > 0
)
SELECT n_messages > 0 AS changed FROM counted

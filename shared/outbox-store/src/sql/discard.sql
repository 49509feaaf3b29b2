-- outbox.discard
-- Delete dead messages for good, and write down who asked for it and why.
--   $1 bigint[] ids
--   $2 bigint   when the operation began, in microseconds since 1970: what died later is another matter
--   $3 text     actor
--   $4 jsonb    the selection as asked, for the audit
--   $5 text     reason
-- Returns n_messages. Deletes nothing that is pending, claimed or dispatched; a group that one of them held goes on. Their
-- message ids are kept in the audit.
-- Uses message_pkey, or message_dead_idx where the server skips through it for the ids (PostgreSQL 18). Waits for no
-- lock: a row that somebody else holds stays.
WITH locked AS MATERIALIZED (
    SELECT m.id
    FROM outbox.message AS m
    WHERE m.id = ANY ($1::bigint[])
      AND m.dead_at <= timestamptz 'epoch' + $2::bigint * interval '1 microsecond'
    FOR UPDATE OF m SKIP LOCKED
),
discarded AS (
    DELETE FROM outbox.message AS m
    WHERE m.id = ANY (ARRAY(SELECT id FROM locked))
    RETURNING m.id, m.message_id
),
counted AS (
    SELECT count(*) AS n_messages, jsonb_object_agg(id, message_id) AS message_ids
    FROM discarded
),
audited AS (
    INSERT INTO outbox.audit (actor, action, selection, n_messages, reason, details)
    SELECT $3::text, 'discard', $4::jsonb, n_messages, $5::text, message_ids
    FROM counted
    WHERE n_messages > 0
)
SELECT n_messages FROM counted

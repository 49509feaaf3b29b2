-- outbox.redrive
-- Make dead messages of one destination pending again, and write down who asked for it and why.
--   $1 bigint[] ids
--   $2 bigint   when the operation began, in microseconds since 1970: what died later is another matter
--   $3 integer  messages a second, or NULL for all at once
--   $4 bigint   how many messages of the destination the operation has redriven before
--   $5 boolean  whether each gets a fresh message id
--   $6 text     actor
--   $7 jsonb    the selection as asked, for the audit
--   $8 text     reason
-- Returns n_messages. Payload, group and id stay, and the message id unless a fresh one is asked for; attempts start anew.
-- At a rate the messages fall due in order of id, so that a group keeps its order. Those without a group take turns with
-- fresh ones, as retries do, so that a large redrive does not hold live traffic back.
-- Uses message_pkey, or message_dead_idx where the server skips through it for the ids (PostgreSQL 18). Waits for no
-- lock: a row that somebody else holds stays dead.
WITH locked AS MATERIALIZED (
    SELECT m.id, m.message_id
    FROM outbox.message AS m
    WHERE m.id = ANY ($1::bigint[])
      AND m.dead_at <= timestamptz 'epoch' + $2::bigint * interval '1 microsecond'
    FOR UPDATE OF m SKIP LOCKED
),
numbered AS MATERIALIZED (
    SELECT id,
           message_id AS old_message_id,
           CASE WHEN $5::boolean THEN gen_random_uuid() ELSE message_id END AS new_message_id,
           $4::bigint + row_number() OVER (ORDER BY id) - 1 AS n_before
    FROM locked
),
redriven AS (
    UPDATE outbox.message AS m
    SET dead_at = NULL,
        dead_reason = NULL,
        holds_group = false,
        message_id = numbered.new_message_id,
        available_at = CASE
            WHEN $3::integer IS NULL THEN now()
            ELSE timestamptz 'epoch' + $2 * interval '1 microsecond'
                 + numbered.n_before::double precision / $3 * interval '1 second'
        END,
        attempts = 0,
        lost_claims = 0,
        locked_until = NULL,
        claim_token = NULL,
        claimed_by = NULL,
        first_failed_at = NULL,
        last_error_code = NULL,
        last_error = NULL
    FROM numbered
    WHERE m.id = numbered.id
    RETURNING m.id, numbered.old_message_id, m.message_id
),
counted AS (
    SELECT count(*) AS n_messages,
           CASE WHEN $5 THEN jsonb_object_agg(id, jsonb_build_object('old', old_message_id, 'new', message_id)) END
               AS message_ids
    FROM redriven
),
audited AS (
    INSERT INTO outbox.audit (actor, action, selection, n_messages, reason, details)
    SELECT $6::text, 'redrive', $7::jsonb, n_messages, $8::text, coalesce(message_ids, '{}')
    FROM counted
    WHERE n_messages > 0
)
SELECT n_messages FROM counted

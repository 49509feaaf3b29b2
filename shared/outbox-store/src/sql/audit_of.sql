-- outbox.audit_of
-- Tell what operators did to a message, as far as the latest rows of the audit say.
--   $1 bigint[] its id, or those of its copies
--   $2 text[]   its message id
--   $3 text[]   its destinations; an operation on all of one, or on all of them, may have been on it
--   $4 text[]   its message groups
--   $5 bigint   when it was enqueued, in milliseconds since 1970; NULL if there is no such message any more, which leaves
--               those that name it
-- Returns acted_ms, actor, db_user, action, reason and names_it: whether the row names the message, or may be about it; the
-- latest first, 20 at most out of the latest 1,000 rows.
SELECT (extract(epoch FROM a.acted_at) * 1000)::bigint AS acted_ms,
       a.actor, a.db_user, a.action, a.reason, named.names_it
FROM (
    SELECT id, acted_at, actor, db_user, action, selection, reason, details
    FROM outbox.audit
    ORDER BY id DESC
    LIMIT 1000
) AS a
CROSS JOIN LATERAL (
    SELECT EXISTS (
               SELECT FROM unnest($1::bigint[]) AS of (id)
               WHERE a.selection -> 'ids' @> to_jsonb(of.id)
                  OR a.details ? of.id::text
           )
           OR EXISTS (
               SELECT FROM unnest($2::text[]) AS of (message_id)
               WHERE position(of.message_id IN a.details::text) > 0
           ) AS names_it
) AS named
WHERE named.names_it
   OR (
        a.acted_at >= timestamptz 'epoch' + $5::bigint * interval '1 millisecond'
        AND a.selection -> 'ids' IS NULL
        AND coalesce(a.selection ->> 'destination', '*') = ANY (ARRAY['*'] || $3::text[])
        AND (a.selection ->> 'message_group' IS NULL OR a.selection ->> 'message_group' = ANY ($4::text[]))
   )
ORDER BY a.id DESC
LIMIT 20

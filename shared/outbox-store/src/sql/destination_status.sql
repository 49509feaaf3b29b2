-- outbox.destination_status
-- Count, per destination and up to a bound, what is due, retrying, scheduled, claimed, dead and held, and tell for how long
-- the oldest has been due: a status must answer at once, however long the backlog is.
--   $1 bigint  how many rows of each kind of index to look at in all, shared among the destinations
-- Returns the columns of the view outbox.backlog; is_bounded tells whether there is more of any kind than was counted.
-- age_is_bounded tells whether an older one may be among what was not counted.
-- And oldest_waiting_seconds since the oldest unfinished message was enqueued, one held_group, and dead_codes: an array
-- of code, messages and oldest_dead_seconds.
-- Uses message_fresh_idx, message_age_idx, message_dead_idx, message_held_idx and message_group_idx.
WITH RECURSIVE named (destination) AS (
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
         LIMIT 1),
        (SELECT m.destination
         FROM outbox.message AS m
         WHERE m.dead_at IS NOT NULL
         ORDER BY m.destination, m.id
         LIMIT 1)
    )
    UNION ALL
    SELECT least(
        (SELECT m.destination
         FROM outbox.message AS m
         WHERE m.destination > named.destination
           AND m.message_group IS NULL AND m.available_at IS NULL AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, m.id
         LIMIT 1),
        (SELECT m.destination
         FROM outbox.message AS m
         WHERE m.destination > named.destination
           AND (m.message_group IS NOT NULL OR m.available_at IS NOT NULL)
           AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, coalesce(m.first_failed_at, greatest(m.created_at, m.available_at))
         LIMIT 1),
        (SELECT m.destination
         FROM outbox.message AS m
         WHERE m.destination > named.destination
           AND m.dead_at IS NOT NULL
         ORDER BY m.destination, m.id
         LIMIT 1)
    )
    FROM named
    WHERE named.destination IS NOT NULL
),
share AS MATERIALIZED (
    SELECT greatest($1::bigint / greatest(count(destination), 1), 1000) AS n_rows
    FROM named
)
SELECT named.destination,
       least(waiting.due, share.n_rows) AS due,
       least(waiting.retrying, share.n_rows) AS retrying,
       least(waiting.scheduled, share.n_rows) AS scheduled,
       least(waiting.claimed, share.n_rows) AS claimed,
       least(ended.dead, share.n_rows) AS dead,
       coalesce(extract(epoch FROM now() - waiting.due_since), 0)::double precision AS oldest_due_seconds,
       EXISTS (
           SELECT FROM outbox.destination AS state
           WHERE state.name IN (named.destination, '*')
             AND state.paused_at IS NOT NULL
       ) AS paused,
       EXISTS (
           SELECT FROM outbox.destination AS state
           WHERE state.name = named.destination
             AND state.breaker_opened_at IS NOT NULL
       ) AS breaker_open,
       (SELECT count(*)
        FROM (
            SELECT FROM outbox.message AS m
            WHERE m.holds_group
              AND m.destination >= named.destination AND m.destination <= named.destination
            LIMIT 1000
        ) AS holding) AS held_groups,
       held.n_messages AS held,
       greatest(waiting.n_fresh, waiting.n_other, ended.dead) > share.n_rows OR held.is_bounded AS is_bounded,
       coalesce(extract(epoch FROM now() - waiting.waiting_since), 0)::double precision AS oldest_waiting_seconds,
       (SELECT m.message_group
        FROM outbox.message AS m
        WHERE m.holds_group
          AND m.destination >= named.destination AND m.destination <= named.destination
        ORDER BY m.destination, m.message_group
        LIMIT 1) AS held_group,
       ended.codes AS dead_codes,
       -- Ids tell no age: of what was not looked at, some may be older.
       waiting.n_fresh > share.n_rows AS age_is_bounded
FROM named
CROSS JOIN share
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE class = 'due') AS due,
           count(*) FILTER (WHERE class = 'retrying') AS retrying,
           count(*) FILTER (WHERE class = 'scheduled') AS scheduled,
           count(*) FILTER (WHERE class = 'claimed') AS claimed,
           count(*) FILTER (WHERE is_fresh) AS n_fresh,
           count(*) FILTER (WHERE NOT is_fresh) AS n_other,
           min(since) FILTER (WHERE since <= now()) AS due_since,
           min(created_at) AS waiting_since
    FROM (
        (SELECT true AS is_fresh,
                CASE WHEN m.locked_until > now() THEN 'claimed' ELSE 'due' END AS class,
                m.created_at AS since,
                m.created_at
         FROM outbox.message AS m
         WHERE m.destination >= named.destination AND m.destination <= named.destination
           AND m.message_group IS NULL AND m.available_at IS NULL AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, m.id
         LIMIT share.n_rows + 1)
        UNION ALL
        (SELECT false,
                CASE
                    WHEN m.locked_until > now() THEN 'claimed'
                    WHEN m.available_at IS NULL OR m.available_at <= now() THEN 'due'
                    WHEN m.first_failed_at IS NOT NULL THEN 'retrying'
                    ELSE 'scheduled'
                END,
                coalesce(m.first_failed_at, greatest(m.created_at, m.available_at)),
                m.created_at
         FROM outbox.message AS m
         WHERE m.destination >= named.destination AND m.destination <= named.destination
           AND (m.message_group IS NOT NULL OR m.available_at IS NOT NULL)
           AND m.dispatched_at IS NULL AND m.dead_at IS NULL
         ORDER BY m.destination, coalesce(m.first_failed_at, greatest(m.created_at, m.available_at))
         LIMIT share.n_rows + 1)
    ) AS unfinished
) AS waiting
CROSS JOIN LATERAL (
    SELECT coalesce(sum(of_code.n_messages), 0)::bigint AS dead,
           coalesce(jsonb_agg(jsonb_build_object(
               'code', of_code.code, 'messages', of_code.n_messages, 'oldest_dead_seconds', of_code.oldest_seconds
           ) ORDER BY of_code.code), '[]') AS codes
    FROM (
        SELECT dead.last_error_code AS code,
               count(*) AS n_messages,
               extract(epoch FROM now() - min(dead.dead_at))::double precision AS oldest_seconds
        FROM (
            SELECT m.last_error_code, m.dead_at
            FROM outbox.message AS m
            WHERE m.destination >= named.destination AND m.destination <= named.destination
              AND m.dead_at IS NOT NULL
            ORDER BY m.destination, m.id
            LIMIT share.n_rows + 1
        ) AS dead
        GROUP BY dead.last_error_code
    ) AS of_code
) AS ended
-- The group is a lower bound only, as in claim_groups.sql.
CROSS JOIN LATERAL (
    SELECT coalesce(sum(behind.n_messages), 0)::bigint AS n_messages,
           count(*) = 200 OR coalesce(bool_or(behind.n_messages = 5000), false) AS is_bounded
    FROM (
        SELECT m.destination, m.message_group, m.id
        FROM outbox.message AS m
        WHERE m.holds_group
          AND m.destination >= named.destination AND m.destination <= named.destination
        ORDER BY m.destination, m.message_group
        LIMIT 200
    ) AS head
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE next.message_group = head.message_group) AS n_messages
        FROM (
            SELECT m.message_group
            FROM outbox.message AS m
            WHERE m.destination >= head.destination AND m.destination <= head.destination
              AND m.message_group >= head.message_group
              AND m.id > head.id
              AND m.dispatched_at IS NULL
              AND m.dead_at IS NULL
            ORDER BY m.destination, m.message_group, m.id
            LIMIT 5000
        ) AS next
    ) AS behind
) AS held
WHERE named.destination IS NOT NULL
ORDER BY named.destination

-- Groups that can be held behind a dead message, an index for each way to claim, and a circuit breaker that all
-- relays share.

-- ---------------------------------------------------------------------------------------------------------
-- A dead message may hold its group

ALTER TABLE outbox.message
    ADD COLUMN holds_group boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT message_holds_group_when_dead CHECK (NOT holds_group OR (dead_at IS NOT NULL AND message_group IS NOT NULL));
COMMENT ON COLUMN outbox.message.holds_group IS 'Whether this dead message keeps the rest of its group waiting: its destination is set to on_dead = hold.';

-- ---------------------------------------------------------------------------------------------------------
-- Indexes. Messages with and without a group are claimed by different ways, so that a message without one pays nothing
-- for order, and the followers of a waiting group are in nobody's way. See docs/adr/0007.

DROP INDEX outbox.message_fresh_idx;
CREATE INDEX message_fresh_idx ON outbox.message (destination, id)
    WHERE message_group IS NULL AND available_at IS NULL AND dispatched_at IS NULL AND dead_at IS NULL;
COMMENT ON INDEX outbox.message_fresh_idx IS 'Serves claim: ungrouped rows that are due at once, per destination in order of publication.';

DROP INDEX outbox.message_scheduled_idx;
CREATE INDEX message_scheduled_idx ON outbox.message (destination, available_at, id)
    WHERE message_group IS NULL AND available_at IS NOT NULL AND dispatched_at IS NULL AND dead_at IS NULL;
COMMENT ON INDEX outbox.message_scheduled_idx IS 'Serves claim: ungrouped rows that are scheduled or retrying, per destination by the time they are due.';

-- A dead message that holds its group stays in here as the group's head: whoever looks for groups meets it first.
DROP INDEX outbox.message_group_idx;
CREATE INDEX message_group_idx ON outbox.message (destination, message_group, id)
    WHERE message_group IS NOT NULL AND dispatched_at IS NULL AND (dead_at IS NULL OR holds_group);
COMMENT ON INDEX outbox.message_group_idx IS 'Serves groups and claim_groups: the unfinished rows of a message group in order of publication.';

CREATE INDEX message_age_idx ON outbox.message (destination, (coalesce(first_failed_at, greatest(created_at, available_at))))
    WHERE (message_group IS NOT NULL OR available_at IS NOT NULL) AND dispatched_at IS NULL AND dead_at IS NULL;
COMMENT ON INDEX outbox.message_age_idx IS 'Serves due and the backlog: since when the oldest message has been due; for ungrouped fresh rows message_fresh_idx tells.';

CREATE INDEX message_held_idx ON outbox.message (destination, message_group)
    WHERE holds_group;
COMMENT ON INDEX outbox.message_held_idx IS 'Serves due and the backlog: the groups that a dead message holds.';

-- A claim leaves lost_claims as it is unless the one before it was lost, so it stays a HOT update.
CREATE INDEX message_suspect_idx ON outbox.message (destination)
    WHERE lost_claims > 0 AND dispatched_at IS NULL AND dead_at IS NULL;
COMMENT ON INDEX outbox.message_suspect_idx IS 'Serves due: whether there are messages whose claims were lost.';

-- What no relay writes, and what would stop them all: an age is taken of a moment, and counts are added to.
ALTER TABLE outbox.message
    ADD CONSTRAINT message_first_failed_at_finite CHECK (isfinite(first_failed_at)),
    ADD CONSTRAINT message_attempts_range CHECK (attempts BETWEEN 0 AND 1000000000),
    ADD CONSTRAINT message_lost_claims_range CHECK (lost_claims BETWEEN 0 AND 1000000000);

-- ---------------------------------------------------------------------------------------------------------
-- The circuit breaker

ALTER TABLE outbox.destination
    ADD COLUMN failed_requests   integer NOT NULL DEFAULT 0,
    ADD COLUMN last_error_code   text,
    ADD COLUMN breaker_opened_at timestamptz,
    ADD COLUMN probe_at          timestamptz,
    ADD COLUMN failed_probes     integer NOT NULL DEFAULT 0,
    ADD COLUMN probe_token       uuid,
    ADD CONSTRAINT destination_probed_when_open CHECK ((breaker_opened_at IS NULL) = (probe_at IS NULL));
COMMENT ON COLUMN outbox.destination.failed_requests IS 'Requests in a row that failed as a whole, of all relays.';
COMMENT ON COLUMN outbox.destination.last_error_code IS 'Error code of the latest of them.';
COMMENT ON COLUMN outbox.destination.breaker_opened_at IS 'Since when claims leave the destination out because its requests fail; NULL: the breaker is closed.';
COMMENT ON COLUMN outbox.destination.probe_at IS 'When a relay may try the destination again, with a single message.';
COMMENT ON COLUMN outbox.destination.failed_probes IS 'Probes that failed since the breaker opened; each doubles the wait for the next.';
COMMENT ON COLUMN outbox.destination.probe_token IS 'Token of the claim that probes the destination.';

GRANT INSERT (name, failed_requests, last_error_code, breaker_opened_at, probe_at) ON outbox.destination TO outbox_relay;
GRANT UPDATE (failed_requests, last_error_code, breaker_opened_at, probe_at, failed_probes, probe_token)
    ON outbox.destination TO outbox_relay;
GRANT UPDATE (holds_group) ON outbox.message TO outbox_relay, outbox_admin;

-- ---------------------------------------------------------------------------------------------------------
-- The views and the version

-- One arm for each partial index, so that the dispatched rows, which are nearly all, cost nothing.
CREATE OR REPLACE VIEW outbox.backlog AS
SELECT
    destination,
    count(*) FILTER (WHERE class = 'due') AS due,
    count(*) FILTER (WHERE class = 'retrying') AS retrying,
    count(*) FILTER (WHERE class = 'scheduled') AS scheduled,
    count(*) FILTER (WHERE class = 'claimed') AS claimed,
    count(*) FILTER (WHERE class = 'dead') AS dead,
    coalesce(extract(epoch FROM now() - min(due_since) FILTER (WHERE due_since <= now())), 0)::double precision
        AS oldest_due_seconds,
    EXISTS (
        SELECT FROM outbox.destination AS state
        WHERE state.name IN (kept.destination, '*')
          AND state.paused_at IS NOT NULL
    ) AS paused,
    EXISTS (
        SELECT FROM outbox.destination AS state
        WHERE state.name = kept.destination
          AND state.breaker_opened_at IS NOT NULL
    ) AS breaker_open,
    count(*) FILTER (WHERE holds_group) AS held_groups,
    coalesce(sum(behind.n_messages) FILTER (WHERE holds_group), 0)::bigint AS held
FROM (
    SELECT destination, message_group, id, holds_group,
           CASE WHEN locked_until > now() THEN 'claimed' ELSE 'due' END AS class,
           created_at AS due_since
    FROM outbox.message
    WHERE message_group IS NULL AND available_at IS NULL AND dispatched_at IS NULL AND dead_at IS NULL
    UNION ALL
    SELECT destination, message_group, id, holds_group,
           CASE
               WHEN locked_until > now() THEN 'claimed'
               WHEN available_at IS NULL OR available_at <= now() THEN 'due'
               WHEN first_failed_at IS NOT NULL THEN 'retrying'
               ELSE 'scheduled'
           END,
           coalesce(first_failed_at, greatest(created_at, available_at))
    FROM outbox.message
    WHERE (message_group IS NOT NULL OR available_at IS NOT NULL) AND dispatched_at IS NULL AND dead_at IS NULL
    UNION ALL
    SELECT destination, message_group, id, holds_group, 'dead', NULL
    FROM outbox.message
    WHERE dead_at IS NOT NULL
) AS kept
LEFT JOIN LATERAL (
    SELECT count(*) AS n_messages
    FROM outbox.message AS m
    WHERE kept.holds_group
      AND m.destination = kept.destination
      AND m.message_group = kept.message_group
      AND m.id > kept.id
      AND m.dispatched_at IS NULL
      AND m.dead_at IS NULL
) AS behind ON true
GROUP BY destination;
COMMENT ON VIEW outbox.backlog IS 'Per destination: messages due, waiting for a retry, scheduled, claimed and dead, for how many seconds the oldest has been due, whether it is paused or its breaker is open, the groups held by a dead message and the messages behind those.';

CREATE OR REPLACE FUNCTION outbox.schema_version() RETURNS integer
LANGUAGE sql IMMUTABLE
RETURN 2;

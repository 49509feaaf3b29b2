-- Runs: every run of the relay and of the purge leaves a row, so that an operator learns from the database alone when the
-- last one was and how it ended. And what else `outbox status` asks for.
--
-- Only additions: programs that know version 5 go on working beside later migrations, as long as serves_since says so.

-- ---------------------------------------------------------------------------------------------------------
-- The runs. See docs/adr/0011.

CREATE TABLE outbox.run (
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    function   text        COLLATE "C" NOT NULL,
    run_by     text        NOT NULL,
    db_user    text        NOT NULL DEFAULT session_user,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz NOT NULL,
    error_code text,
    report     jsonb       NOT NULL,
    CONSTRAINT run_pkey PRIMARY KEY (id),
    CONSTRAINT run_function_known CHECK (function IN ('relay', 'purge')),
    CONSTRAINT run_by_length CHECK (char_length(run_by) <= 256),
    CONSTRAINT run_error_code_length CHECK (char_length(error_code) <= 256),
    CONSTRAINT run_report_length CHECK (octet_length(report::text) <= 8192),
    CONSTRAINT run_ended_after_start CHECK (ended_at >= started_at),
    CONSTRAINT run_report_object CHECK (jsonb_typeof(report) = 'object')
);
COMMENT ON TABLE outbox.run IS 'The runs of relays and purges of the last seven days, empty and failed ones too; of each function the latest stays. A run that was killed, or could not reach the database, has no row.';
COMMENT ON COLUMN outbox.run.id IS 'Order in which they were written down.';
COMMENT ON COLUMN outbox.run.function IS 'What ran: relay or purge, as a function or from the command line.';
COMMENT ON COLUMN outbox.run.run_by IS 'Who ran it, for people; of a relay the same as in claimed_by.';
COMMENT ON COLUMN outbox.run.db_user IS 'Who ran it, as the database knows.';
COMMENT ON COLUMN outbox.run.started_at IS 'When it began: its end less its own duration.';
COMMENT ON COLUMN outbox.run.ended_at IS 'When it was written down, right after its end.';
COMMENT ON COLUMN outbox.run.error_code IS 'Code of the error that ended it; NULL: it was through.';
COMMENT ON COLUMN outbox.run.report IS 'What it did: the numbers of its report. A failed run has done these, too.';

CREATE INDEX run_latest_idx ON outbox.run (function, ended_at);
COMMENT ON INDEX outbox.run_latest_idx IS 'Serves last_runs and record_run: the latest run of a function, and those that are old.';

-- Nobody writes the table but through this function, so that a relay needs no right to delete. A run must not fail nor
-- wait for its own row: it writes none where nothing can be written, and gives up a lock soon.
CREATE FUNCTION outbox.record_run(function text, run_by text, duration_ms bigint, error_code text, report jsonb)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '500ms'
AS $function$
#variable_conflict use_column
BEGIN
    IF pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' THEN
        RETURN false;
    END IF;
    INSERT INTO outbox.run (function, run_by, started_at, ended_at, error_code, report)
    VALUES (
        record_run.function, left(record_run.run_by, 256),
        clock_timestamp() - least(greatest(record_run.duration_ms, 0), 31536000000) * interval '1 millisecond', clock_timestamp(),
        left(record_run.error_code, 256), record_run.report
    );
    -- More than come in, so that it stays small, and so few that it costs nothing. The new row is the latest.
    DELETE FROM outbox.run
    WHERE id = ANY (ARRAY(
        SELECT old.id
        FROM outbox.run AS old
        WHERE old.function = record_run.function
          AND old.ended_at < now() - interval '7 days'
        ORDER BY old.ended_at
        LIMIT 100
        FOR UPDATE SKIP LOCKED
    ));
    RETURN true;
END
$function$;
COMMENT ON FUNCTION outbox.record_run IS 'Writes down a run of the relay or the purge that has just ended, and forgets old ones. False where the database takes no writes.';

-- ---------------------------------------------------------------------------------------------------------
-- What holds back vacuum

-- A role sees the transactions of others only with pg_read_all_stats, which is too much for an operator's login. This
-- sees what the owner of the schema sees, and tells of it no statement and no user.
CREATE FUNCTION outbox.oldest_transaction(
    OUT age_seconds      double precision,
    OUT pid              integer,
    OUT state            text,
    OUT application_name text,
    OUT hidden_sessions  bigint
)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
    SELECT oldest.age_seconds, oldest.pid, oldest.state, oldest.application_name, hidden.n_sessions
    FROM (
        SELECT count(*) AS n_sessions
        FROM pg_stat_activity AS a
        WHERE a.datname = current_database()
          AND a.pid <> pg_backend_pid()
          AND a.query = '<insufficient privilege>'
    ) AS hidden
    LEFT JOIN (
        SELECT extract(epoch FROM clock_timestamp() - a.xact_start)::double precision AS age_seconds,
               a.pid, a.state, a.application_name
        FROM pg_stat_activity AS a
        WHERE a.datname = current_database()
          AND a.backend_type = 'client backend'
          AND a.pid <> pg_backend_pid()
          AND a.xact_start IS NOT NULL
        ORDER BY a.xact_start
        LIMIT 1
    ) AS oldest ON true
$function$;
COMMENT ON FUNCTION outbox.oldest_transaction IS 'The oldest open transaction of this database, and how many sessions the owner of the schema is not allowed to look at.';

-- ---------------------------------------------------------------------------------------------------------
-- What grants can't tell apart

-- A relay marks what it has claimed, so it may write dead_at and dispatched_at, and by its grants could also set them back:
-- a redrive that no audit tells of. An operator sets dead_at back and deletes dead messages, and so could delete a pending
-- one, or declare it dead first.
--
-- AFTER, not BEFORE: for a BEFORE trigger of a row PostgreSQL locks each row before it updates it, and writes that to the
-- WAL, whether the trigger fires or not. OF names what no claim writes.
CREATE FUNCTION outbox.allow_only() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    IF pg_has_role(current_user, (SELECT c.relowner FROM pg_class AS c WHERE c.oid = TG_RELID), 'USAGE')
       OR (TG_ARGV[0] <> 'the owner' AND pg_has_role(current_user, TG_ARGV[0], 'USAGE')) THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'role % may not %; allowed: %', current_user, TG_ARGV[1], TG_ARGV[0]
        USING ERRCODE = 'insufficient_privilege';
END
$function$;
COMMENT ON FUNCTION outbox.allow_only IS 'Refuses what its trigger is for to all but the role it names and the owner of the table.';

CREATE TRIGGER message_redrive AFTER UPDATE OF dead_at, dispatched_at ON outbox.message
    FOR EACH ROW WHEN (OLD.dead_at IS NOT NULL AND NEW.dead_at IS NULL
                       OR OLD.dispatched_at IS NOT NULL AND NEW.dispatched_at IS NULL)
    EXECUTE FUNCTION outbox.allow_only('outbox_admin', 'redrive a message');
CREATE TRIGGER message_dead AFTER UPDATE OF dead_at ON outbox.message
    FOR EACH ROW WHEN (OLD.dead_at IS NULL AND NEW.dead_at IS NOT NULL)
    EXECUTE FUNCTION outbox.allow_only('outbox_relay', 'mark a message dead');
CREATE TRIGGER message_unfinished AFTER DELETE ON outbox.message
    FOR EACH ROW WHEN (OLD.dead_at IS NULL AND OLD.dispatched_at IS NULL)
    EXECUTE FUNCTION outbox.allow_only('the owner', 'delete a message that is neither dispatched nor dead');

-- ---------------------------------------------------------------------------------------------------------
-- Which programs it serves

-- A migration that only adds leaves it as it is; one that takes something away sets it to the oldest version whose programs
-- do without. A program that knows an older version than the outbox has asks for it.
CREATE FUNCTION outbox.serves_since() RETURNS integer
LANGUAGE sql IMMUTABLE
RETURN 5;
COMMENT ON FUNCTION outbox.serves_since IS 'Number of the oldest migration whose programs still work with this outbox, so that functions can be deployed after a migration.';

-- ---------------------------------------------------------------------------------------------------------
-- Who may do so

REVOKE EXECUTE ON FUNCTION outbox.record_run, outbox.oldest_transaction FROM PUBLIC;
GRANT EXECUTE ON FUNCTION outbox.record_run TO outbox_relay, outbox_admin;
GRANT EXECUTE ON FUNCTION outbox.oldest_transaction TO outbox_admin;
GRANT SELECT ON outbox.run TO outbox_admin;

CREATE OR REPLACE FUNCTION outbox.schema_version() RETURNS integer
LANGUAGE sql IMMUTABLE
RETURN 5;

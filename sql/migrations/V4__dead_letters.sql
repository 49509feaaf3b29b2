-- Dead letters: what a redrive and a discard may change, and what the audit keeps of it.

-- A redrive may give a message a fresh identity, so that a FIFO target does not take it for a copy.
GRANT UPDATE (message_id) ON outbox.message TO outbox_admin;

ALTER TABLE outbox.audit
    ADD COLUMN details jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN outbox.audit.details IS 'What no other table tells any more: the message ids of what was discarded, by id; of what was redriven with a fresh message id the old and the new one, by id.';
COMMENT ON COLUMN outbox.audit.action IS 'What: redrive, discard, pause or resume.';
COMMENT ON COLUMN outbox.audit.selection IS 'Which messages, message group or destination, as asked for. A large redrive or discard has a row for each of its transactions, with the same operation.';
COMMENT ON COLUMN outbox.audit.n_messages IS 'How many messages it changed; 0 for a destination''s pause or resume.';
GRANT INSERT (details) ON outbox.audit TO outbox_admin;

CREATE OR REPLACE VIEW outbox.dead_letter AS
SELECT
    id,
    message_id,
    destination,
    message_type,
    message_group,
    attempts,
    created_at,
    first_failed_at,
    dead_at,
    dead_reason,
    last_error_code,
    last_error,
    correlation_id,
    traceparent,
    headers,
    content_type,
    payload,
    holds_group
FROM outbox.message
WHERE dead_at IS NOT NULL;
COMMENT ON VIEW outbox.dead_letter IS 'Dead messages with all their context, waiting for a person; those with holds_group keep the rest of their group waiting.';

CREATE OR REPLACE FUNCTION outbox.schema_version() RETURNS integer
LANGUAGE sql IMMUTABLE
RETURN 4;

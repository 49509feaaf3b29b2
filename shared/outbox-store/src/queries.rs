//! Every statement of the store: its file, the types of its parameters and the columns it returns.
//!
//! A test prepares each against a real server and compares.

use tokio_postgres::types::Type;

use crate::schema::Schema;

/// A statement as its file has it.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// Name of the file and of the function that binds it.
    pub name: &'static str,
    /// The file's text.
    pub sql: &'static str,
    /// Types of the parameters, in order.
    pub params: &'static [Type],
    /// Names of the returned columns, in order.
    pub columns: &'static [&'static str],
}

macro_rules! query {
    ($name:ident, [$($param:ident),*], [$($column:literal),*]) => {
        Query {
            name: stringify!($name),
            sql: include_str!(concat!("sql/", stringify!($name), ".sql")),
            params: &[$(Type::$param),*],
            columns: &[$($column),*],
        }
    };
}

#[rustfmt::skip]
mod table {
    use super::{Query, Type};

    pub(crate) const CLAIM: Query = query!(claim,
        [UUID, TEXT, INT8, INT4, INT4, TEXT_ARRAY, INT4_ARRAY],
        ["id", "message_id", "destination", "message_type", "message_group", "payload", "content_type",
         "headers", "correlation_id", "traceparent", "attempts", "lost_claims", "was_alone", "has_failed"]);
    pub(crate) const CLAIM_GROUPS: Query = query!(claim_groups,
        [UUID, TEXT, INT8, INT4, INT4, TEXT_ARRAY, TEXT_ARRAY, INT4_ARRAY],
        ["id", "message_id", "destination", "message_type", "message_group", "payload", "content_type",
         "headers", "correlation_id", "traceparent", "attempts", "lost_claims", "was_alone", "has_failed"]);
    pub(crate) const GROUPS: Query = query!(groups,
        [TEXT_ARRAY, TEXT_ARRAY, INT4], ["destination", "message_group", "lost_claims"]);
    pub(crate) const PROBE: Query = query!(probe,
        [UUID, TEXT_ARRAY, INT8], ["name"]);
    pub(crate) const PROBE_UNUSED: Query = query!(probe_unused,
        [UUID, TEXT_ARRAY], []);
    pub(crate) const REQUESTS_FAILED: Query = query!(requests_failed,
        [TEXT_ARRAY, INT4_ARRAY, TEXT_ARRAY, UUID_ARRAY], ["name"]);
    pub(crate) const RECOVERED: Query = query!(recovered,
        [TEXT_ARRAY], ["name"]);
    pub(crate) const MARK_DISPATCHED: Query = query!(mark_dispatched,
        [UUID, INT8_ARRAY, TEXT_ARRAY], ["id"]);
    pub(crate) const MARK_RETRY: Query = query!(mark_retry,
        [UUID, INT8_ARRAY, INT8_ARRAY, BOOL_ARRAY, TEXT_ARRAY, TEXT_ARRAY], ["id"]);
    pub(crate) const MARK_DEAD: Query = query!(mark_dead,
        [UUID, INT8_ARRAY, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY, BOOL_ARRAY], ["id"]);
    pub(crate) const RELEASE: Query = query!(release,
        [UUID, INT8_ARRAY], ["id"]);
    pub(crate) const ISOLATE: Query = query!(isolate,
        [UUID, INT8], ["id"]);
    pub(crate) const UNLOCKED: Query = query!(unlocked,
        [INT8_ARRAY], ["id"]);
    pub(crate) const DUE: Query = query!(due,
        [], ["destination", "oldest_due_seconds", "has_ungrouped", "has_groups", "has_suspects", "held_groups", "paused",
             "failed_requests", "breaker_open", "probe_due"]);
    pub(crate) const PURGE: Query = query!(purge,
        [INT8, INT8], ["id"]);
    pub(crate) const PURGE_PREVIEW: Query = query!(purge_preview,
        [INT8, INT8], ["destination", "n_messages", "oldest_at"]);
    pub(crate) const PURGEABLE: Query = query!(purgeable,
        [INT8, INT8, INT8],
        ["id", "message_id", "destination", "message_group", "message_type", "content_type", "correlation_id",
         "traceparent", "tracestate", "headers", "payload", "created_at", "dispatched_at", "broker_message_id",
         "attempts", "dispatched_on", "row_version"]);
    pub(crate) const PURGE_ARCHIVED: Query = query!(purge_archived,
        [INT8, INT8_ARRAY, TEXT_ARRAY], ["id"]);
    pub(crate) const NOW: Query = query!(now,
        [], ["now_us"]);
    pub(crate) const DEAD_SUMMARY: Query = query!(dead_summary,
        [INT8_ARRAY, TEXT, TEXT, TEXT, INT8, INT8], ["destination", "code", "n_messages", "oldest_dead_seconds"]);
    pub(crate) const NEXT_DEAD: Query = query!(next_dead,
        [TEXT, TEXT, TEXT, INT8, INT8, TEXT, INT8, INT8], ["destination", "id"]);
    pub(crate) const DEAD_AMONG: Query = query!(dead_among,
        [INT8_ARRAY, TEXT, TEXT, TEXT, INT8, INT8], ["destination", "id"]);
    pub(crate) const REDRIVE: Query = query!(redrive,
        [INT8_ARRAY, INT8, INT4, INT8, BOOL, TEXT, JSONB, TEXT], ["n_messages"]);
    pub(crate) const DISCARD: Query = query!(discard,
        [INT8_ARRAY, INT8, TEXT, JSONB, TEXT], ["n_messages"]);
    pub(crate) const PAUSE: Query = query!(pause,
        [TEXT, TEXT, TEXT], ["changed"]);
    pub(crate) const RESUME: Query = query!(resume,
        [TEXT, TEXT, TEXT], ["changed"]);
    pub(crate) const RESUME_GROUP: Query = query!(resume_group,
        [TEXT, TEXT, TEXT, TEXT], ["changed"]);
    pub(crate) const BACKLOG: Query = query!(backlog,
        [], ["destination", "due", "retrying", "scheduled", "claimed", "dead", "oldest_due_seconds",
         "paused", "breaker_open", "held_groups", "held"]);
    pub(crate) const LIST: Query = query!(list,
        [TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, INT8, INT8, BOOL, INT8, INT8, INT8],
        ["id", "message_id", "destination", "message_type", "message_group", "status", "attempts", "created_ms",
         "available_ms", "dispatched_ms", "dead_ms", "dead_reason", "last_error_code", "correlation_id", "now_ms", "n_looked_at", "last_id"]);
    pub(crate) const LIST_UNFINISHED: Query = query!(list_unfinished,
        [TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, INT8, INT8, BOOL, INT8, INT8],
        ["id", "message_id", "destination", "message_type", "message_group", "status", "attempts", "created_ms",
         "available_ms", "dispatched_ms", "dead_ms", "dead_reason", "last_error_code", "correlation_id", "now_ms"]);
    pub(crate) const LIST_DEAD: Query = query!(list_dead,
        [TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, INT8, INT8, BOOL, INT8, INT8],
        ["id", "message_id", "destination", "message_type", "message_group", "status", "attempts", "created_ms",
         "available_ms", "dispatched_ms", "dead_ms", "dead_reason", "last_error_code", "correlation_id", "now_ms"]);
    pub(crate) const LIST_COPIES: Query = query!(list_copies,
        [UUID],
        ["id", "message_id", "destination", "message_type", "message_group", "status", "attempts", "created_ms",
         "available_ms", "dispatched_ms", "dead_ms", "dead_reason", "last_error_code", "correlation_id", "now_ms"]);
    pub(crate) const SHOW: Query = query!(show,
        [INT8, UUID, BOOL, BOOL],
        ["id", "message_id", "destination", "message_type", "message_group", "status", "attempts", "lost_claims",
         "content_type", "correlation_id", "traceparent", "tracestate", "payload_bytes", "payload", "header_names",
         "headers", "created_ms", "available_ms", "first_failed_ms", "locked_until_ms", "dispatched_ms", "dead_ms",
         "now_ms", "claimed_by", "broker_message_id", "dead_reason", "last_error_code", "last_error", "holds_group",
         "paused_name", "paused_by", "pause_reason", "paused_ms", "breaker_opened_ms", "probe_ms", "breaker_code",
         "head_id", "head_is_dead"]);
    pub(crate) const AUDIT_OF: Query = query!(audit_of,
        [INT8_ARRAY, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY, INT8],
        ["acted_ms", "actor", "db_user", "action", "reason", "names_it"]);
    pub(crate) const TAIL: Query = query!(tail,
        [INT8, INT8_ARRAY, TEXT_ARRAY, INT8],
        ["id", "message_id", "destination", "message_type", "message_group", "correlation_id", "attempts",
         "last_error_code", "dead_reason", "known", "state", "now_ms"]);
    pub(crate) const EXAMINE: Query = query!(examine,
        [], ["server_version", "encoding", "database", "role", "takes_writes", "clock_ms", "member_of"]);
    pub(crate) const CHECKUP: Query = query!(checkup,
        [TEXT], ["aspect", "name", "value"]);
    pub(crate) const LACKING: Query = query!(lacking,
        [TEXT, TEXT, TEXT_ARRAY, TEXT_ARRAY, TEXT_ARRAY], ["grant_text", "is_member"]);
    pub(crate) const BACKEND: Query = query!(backend,
        [], ["pid"]);
    pub(crate) const TAKES_WRITES: Query = query!(takes_writes,
        [], ["takes_writes"]);
    pub(crate) const DESTINATION_STATUS: Query = query!(destination_status,
        [INT8], ["destination", "due", "retrying", "scheduled", "claimed", "dead", "oldest_due_seconds", "paused",
                 "breaker_open", "held_groups", "held", "is_bounded", "oldest_waiting_seconds", "held_group", "dead_codes",
                 "age_is_bounded"]);
    pub(crate) const DESTINATION_STATES: Query = query!(destination_states,
        [], ["name", "paused_at", "paused_seconds", "paused_by", "pause_reason", "opened_at", "open_seconds", "error_code",
             "failed_probes", "probe_in_seconds"]);
    pub(crate) const DATABASE_STATUS: Query = query!(database_status,
        [], ["takes_writes", "schema_version", "age_seconds", "pid", "state", "application_name", "hidden_sessions",
             "prepared_name", "prepared_seconds", "slot_name", "slot_in_use", "slot_age_transactions", "live_rows",
             "dead_rows", "table_bytes", "index_bytes", "vacuumed_seconds_ago"]);
    pub(crate) const KNOWS_DESTINATION: Query = query!(knows_destination,
        [TEXT], ["known"]);
    pub(crate) const RECORD_RUN: Query = query!(record_run,
        [TEXT, TEXT, INT8, TEXT, JSONB], ["recorded"]);
    pub(crate) const LAST_RUNS: Query = query!(last_runs,
        [], ["function", "run_by", "ended_at", "ended_seconds_ago", "duration_seconds", "error_code", "report"]);
    pub(crate) const SCHEMA_VERSION: Query = query!(schema_version,
        [], ["version"]);
    pub(crate) const SERVES_SINCE: Query = query!(serves_since,
        [], ["version"]);
    pub(crate) const ENQUEUE: Query = query!(enqueue,
        [TEXT, TEXT, TEXT, TEXT, UUID, JSONB, TEXT, TEXT, TEXT, TEXT, TEXT], ["id"]);
    pub(crate) const ENQUEUED_BEFORE: Query = query!(enqueued_before,
        [UUID_ARRAY, TEXT_ARRAY], ["id"]);
    pub(crate) const RECEIVE: Query = query!(receive,
        [TEXT, UUID], ["is_first"]);
    pub(crate) const BENCH_SERVER: Query = query!(bench_server,
        [], ["server_version", "synchronous_commit", "fsync", "full_page_writes", "takes_writes", "may_create",
             "grant_create", "missing_roles", "may_create_roles"]);
    pub(crate) const BENCH_LEFT_OVER: Query = query!(bench_left_over,
        [INT8], ["name", "bytes", "drop_statement"]);
    pub(crate) const BENCH_HOLD: Query = query!(bench_hold,
        [INT8, TEXT], ["held"]);
    pub(crate) const BENCH_FILL: Query = query!(bench_fill,
        [INT8, INT8, INT8, TEXT], []);
    pub(crate) const BENCH_ROUND_TRIP: Query = query!(bench_round_trip,
        [], ["one"]);
    pub(crate) const BENCH_WRITTEN: Query = query!(bench_written,
        [], ["wal_bytes", "next_transaction"]);
}
pub(crate) use table::*;

/// All of them, for the test that checks them against a server.
pub const ALL: &[Query] = &[
    CLAIM,
    CLAIM_GROUPS,
    GROUPS,
    PROBE,
    PROBE_UNUSED,
    REQUESTS_FAILED,
    RECOVERED,
    MARK_DISPATCHED,
    MARK_RETRY,
    MARK_DEAD,
    RELEASE,
    ISOLATE,
    UNLOCKED,
    DUE,
    PURGE,
    PURGE_PREVIEW,
    PURGEABLE,
    PURGE_ARCHIVED,
    NOW,
    DEAD_SUMMARY,
    NEXT_DEAD,
    DEAD_AMONG,
    REDRIVE,
    DISCARD,
    PAUSE,
    RESUME,
    RESUME_GROUP,
    BACKLOG,
    LIST,
    LIST_UNFINISHED,
    LIST_DEAD,
    LIST_COPIES,
    SHOW,
    AUDIT_OF,
    TAIL,
    EXAMINE,
    CHECKUP,
    LACKING,
    BACKEND,
    TAKES_WRITES,
    DESTINATION_STATUS,
    DESTINATION_STATES,
    DATABASE_STATUS,
    KNOWS_DESTINATION,
    RECORD_RUN,
    LAST_RUNS,
    SCHEMA_VERSION,
    SERVES_SINCE,
    ENQUEUE,
    ENQUEUED_BEFORE,
    RECEIVE,
    BENCH_SERVER,
    BENCH_LEFT_OVER,
    BENCH_HOLD,
    BENCH_FILL,
    BENCH_ROUND_TRIP,
    BENCH_WRITTEN,
];

/// Opens the transaction of a guarded statement. The settings leave only index scans and nested loops, because the
/// statistics of an outbox lie: they are mostly taken when it is drained, and a plan for an empty table took
/// minutes on a full one. The server gives a single statement up before we give the call up,
/// and does not wait long for a lock that somebody else holds.
pub const BEGIN_GUARDED: &str = "\
    BEGIN ISOLATION LEVEL READ COMMITTED; \
    SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off; \
    SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_nestloop = on; \
    SET LOCAL enable_indexscan = on; SET LOCAL enable_indexonlyscan = on; SET LOCAL enable_material = off; \
    SET LOCAL jit = off; SET LOCAL statement_timeout = '15s'; SET LOCAL lock_timeout = '2s'";

impl Query {
    /// The statement for that schema. Of the file's comments only the first line is kept, which names the
    /// statement in `pg_stat_activity` and in the server's log.
    pub fn render(&self, schema: &Schema) -> String {
        let mut sql = String::with_capacity(self.sql.len());
        for (number, line) in self.sql.lines().enumerate() {
            if number == 0 || !line.trim_start().starts_with("--") {
                sql.push_str(line);
                sql.push('\n');
            }
        }
        schema.render(&sql)
    }
}

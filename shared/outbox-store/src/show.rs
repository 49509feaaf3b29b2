//! Show: all about one message, and what it may be waiting for; for operators.

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// What of a message leaves the database on request only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WantedContent {
    /// The values of its headers; their names are always told.
    pub headers: bool,
    /// Its payload.
    pub payload: bool,
}

/// A message; times in milliseconds since 1970, by the database's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of outbox.message, where each has its comment")]
pub struct Message {
    pub id: i64,
    pub message_id: Uuid,
    pub destination: String,
    pub message_type: String,
    pub message_group: Option<String>,
    /// As in `outbox.message_status`.
    pub status: String,
    pub attempts: i32,
    pub lost_claims: i32,
    pub content_type: String,
    pub correlation_id: Option<String>,
    pub traceparent: Option<String>,
    pub tracestate: Option<String>,
    pub payload_bytes: i32,
    /// If it was asked for.
    pub payload: Option<String>,
    pub header_names: Vec<String>,
    /// A JSON object, if it was asked for.
    pub headers: Option<String>,
    pub created_ms: i64,
    pub available_ms: Option<i64>,
    pub first_failed_ms: Option<i64>,
    pub locked_until_ms: Option<i64>,
    pub dispatched_ms: Option<i64>,
    pub dead_ms: Option<i64>,
    /// When the database was asked.
    pub now_ms: i64,
    pub claimed_by: Option<String>,
    pub broker_message_id: Option<String>,
    pub dead_reason: Option<String>,
    pub last_error_code: Option<String>,
    pub last_error: Option<String>,
    pub holds_group: bool,
    /// The pause of its destination, or of all.
    pub pause: Option<PauseOf>,
    /// The open circuit breaker of its destination.
    pub breaker: Option<BreakerOf>,
    /// The message of its group that goes out before all others, if that is another one.
    pub head: Option<GroupHead>,
}

/// Who paused a destination, since when and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of outbox.destination, where each has its comment")]
pub struct PauseOf {
    /// The destination's name, or that of all.
    pub name: String,
    pub paused_ms: i64,
    pub paused_by: String,
    pub reason: Option<String>,
}

/// Since when requests to a destination fail, and when it is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of outbox.destination, where each has its comment")]
pub struct BreakerOf {
    pub opened_ms: i64,
    pub probe_ms: Option<i64>,
    pub code: Option<String>,
}

/// The message that the rest of a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupHead {
    /// Its id.
    pub id: i64,
    /// Whether it is dead and holds the group until a person decides.
    pub is_dead: bool,
}

/// What an operator did, as the audit has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of outbox.audit, where each has its comment")]
pub struct AuditEntry {
    pub acted_ms: i64,
    pub actor: String,
    pub db_user: String,
    pub action: String,
    pub reason: String,
    /// Whether it names the message; else it was on all of the message's destination, or on all, and may have been on it.
    pub names_it: bool,
}

impl Store {
    /// The message with that id, or all that have that message id: one for each destination. None if they are not there.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn show(
        &self,
        id: Option<i64>,
        message_id: Option<Uuid>,
        wanted: WantedContent,
    ) -> Result<Vec<Message>, Error> {
        let params = [
            (&id as _, Type::INT8),
            (&message_id as _, Type::UUID),
            (&wanted.headers as _, Type::BOOL),
            (&wanted.payload as _, Type::BOOL),
        ];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.show, &params)]).await?;
        Ok(rows.iter().map(message).collect())
    }

    /// What operators did to these messages, the latest first, as far as the latest rows of the audit say. Of a message that
    /// is not there, what names it by its id or message id.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn audit_of(
        &self,
        messages: &[Message],
        id: Option<i64>,
        message_id: Option<Uuid>,
    ) -> Result<Vec<AuditEntry>, Error> {
        let ids: Vec<i64> = messages.iter().map(|message| message.id).chain(id).collect();
        let message_ids = messages.iter().map(|message| message.message_id).chain(message_id);
        let mut message_ids: Vec<String> = message_ids.map(|id| id.to_string()).collect();
        message_ids.dedup();
        let destinations: Vec<&str> = messages.iter().map(|m| m.destination.as_str()).collect();
        let groups: Vec<&str> =
            messages.iter().filter_map(|message| message.message_group.as_deref()).collect();
        let created_ms = messages.iter().map(|message| message.created_ms).min();
        let params = [
            (&ids as _, Type::INT8_ARRAY),
            (&message_ids as _, Type::TEXT_ARRAY),
            (&destinations as _, Type::TEXT_ARRAY),
            (&groups as _, Type::TEXT_ARRAY),
            (&created_ms as _, Type::INT8),
        ];
        let rows = connection::query(&self.pool, &self.sql.audit_of, &params).await?;
        let entries = rows.iter().map(|row| AuditEntry {
            acted_ms: row.get("acted_ms"),
            actor: row.get("actor"),
            db_user: row.get("db_user"),
            action: row.get("action"),
            reason: row.get("reason"),
            names_it: row.get("names_it"),
        });
        Ok(entries.collect())
    }
}

fn message(row: &Row) -> Message {
    let paused_ms: Option<i64> = row.get("paused_ms");
    let pause = paused_ms.map(|paused_ms| PauseOf {
        name: row.get("paused_name"),
        paused_ms,
        paused_by: row.get("paused_by"),
        reason: row.get("pause_reason"),
    });
    let opened_ms: Option<i64> = row.get("breaker_opened_ms");
    let breaker = opened_ms.map(|opened_ms| BreakerOf {
        opened_ms,
        probe_ms: row.get("probe_ms"),
        code: row.get("breaker_code"),
    });
    let head_id: Option<i64> = row.get("head_id");
    Message {
        id: row.get("id"),
        message_id: row.get("message_id"),
        destination: row.get("destination"),
        message_type: row.get("message_type"),
        message_group: row.get("message_group"),
        status: row.get("status"),
        attempts: row.get("attempts"),
        lost_claims: row.get("lost_claims"),
        content_type: row.get("content_type"),
        correlation_id: row.get("correlation_id"),
        traceparent: row.get("traceparent"),
        tracestate: row.get("tracestate"),
        payload_bytes: row.get("payload_bytes"),
        payload: row.get("payload"),
        header_names: row.get("header_names"),
        headers: row.get("headers"),
        created_ms: row.get("created_ms"),
        available_ms: row.get("available_ms"),
        first_failed_ms: row.get("first_failed_ms"),
        locked_until_ms: row.get("locked_until_ms"),
        dispatched_ms: row.get("dispatched_ms"),
        dead_ms: row.get("dead_ms"),
        now_ms: row.get("now_ms"),
        claimed_by: row.get("claimed_by"),
        broker_message_id: row.get("broker_message_id"),
        dead_reason: row.get("dead_reason"),
        last_error_code: row.get("last_error_code"),
        last_error: row.get("last_error"),
        holds_group: row.get("holds_group"),
        pause,
        breaker,
        head: head_id.map(|id| GroupHead { id, is_dead: row.get("head_is_dead") }),
    }
}

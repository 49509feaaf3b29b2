//! Tail: what has become new since the last look, and what has come further; for operators.

use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// A message that is followed, or an id that may still be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Its id.
    pub id: i64,
    /// What was last known of it, as [`Seen::state`]; empty for an id that was not there.
    pub state: String,
}

/// A message that is new, or has come further.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of outbox.message, where each has its comment")]
pub struct Seen {
    pub id: i64,
    pub message_id: Uuid,
    pub destination: String,
    pub message_type: String,
    pub message_group: Option<String>,
    pub correlation_id: Option<String>,
    pub attempts: i32,
    pub last_error_code: Option<String>,
    pub dead_reason: Option<String>,
    /// What was known of it before; empty if nothing.
    pub known: String,
    /// `pending`, `dispatched`, `dead`, or `failed` and the time of its next attempt.
    pub state: String,
    /// When it was seen, in milliseconds since 1970, by the database's clock.
    pub now_ms: i64,
}

impl Store {
    /// The messages after that id, at most so many, and those of the followed that are not as they were known. A message
    /// that is gone is not told.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn tail(
        &self,
        after: i64,
        followed: &[Followed],
        limit: i64,
    ) -> Result<Vec<Seen>, Error> {
        let ids: Vec<i64> = followed.iter().map(|followed| followed.id).collect();
        let states: Vec<&str> = followed.iter().map(|followed| followed.state.as_str()).collect();
        let params = [
            (&after as _, Type::INT8),
            (&ids as _, Type::INT8_ARRAY),
            (&states as _, Type::TEXT_ARRAY),
            (&limit as _, Type::INT8),
        ];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.tail, &params)]).await?;
        let seen = rows.iter().map(|row| Seen {
            id: row.get("id"),
            message_id: row.get("message_id"),
            destination: row.get("destination"),
            message_type: row.get("message_type"),
            message_group: row.get("message_group"),
            correlation_id: row.get("correlation_id"),
            attempts: row.get("attempts"),
            last_error_code: row.get("last_error_code"),
            dead_reason: row.get("dead_reason"),
            known: row.get("known"),
            state: row.get("state"),
            now_ms: row.get("now_ms"),
        });
        Ok(seen.collect())
    }
}

//! Purge by way of an archive: read, archive elsewhere, and delete what was archived and has not changed since.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// A dispatched message past its retention, as it is archived: in JSON one object with the names of the columns.
#[derive(Debug, Serialize)]
pub struct PurgeableMessage {
    /// The row's id.
    pub id: i64,
    /// Identity that every copy carries.
    pub message_id: Uuid,
    /// Logical name of the destination.
    pub destination: String,
    /// Ordering key; `None` is unordered.
    pub message_group: Option<String>,
    /// Logical, versioned name of what happened.
    pub message_type: String,
    /// Media type of the payload.
    pub content_type: String,
    /// What the message belongs to.
    pub correlation_id: Option<String>,
    /// The producer's trace context.
    pub traceparent: Option<String>,
    /// The producer's trace state.
    pub tracestate: Option<String>,
    /// The `headers` column: a JSON object, as the database writes it.
    pub headers: Box<RawValue>,
    /// The body as stored.
    pub payload: String,
    /// When it was enqueued, in UTC: `2026-11-30T18:00:00.123456Z`.
    pub created_at: String,
    /// When it was dispatched, in UTC.
    pub dispatched_at: String,
    /// The id that SNS or SQS gave it.
    pub broker_message_id: Option<String>,
    /// Claims that counted.
    pub attempts: i32,
    /// The day of `dispatched_at`, in UTC: `2026-11-30`.
    #[serde(skip)]
    pub dispatched_on: String,
    #[serde(skip)]
    row_version: String,
}

/// What a message was when it was read for the archive: it is deleted only if it is that still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedRow {
    id: i64,
    row_version: String,
}

impl PurgeableMessage {
    /// What to delete once this is archived.
    pub fn row(&self) -> ArchivedRow {
        ArchivedRow { id: self.id, row_version: self.row_version.clone() }
    }
}

impl Store {
    /// Reads the oldest dispatched messages past their retention: at most so many, of about so many bytes of text
    /// at most, all dispatched on the same day. The first comes whatever its size. Empty means that none is left.
    ///
    /// No row is locked, and no transaction open when it returns: another purge may read the same.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn purgeable(
        &self,
        retention: Duration,
        max_messages: u32,
        max_bytes: u32,
    ) -> Result<Vec<PurgeableMessage>, Error> {
        let retention_ms = connection::milliseconds(retention);
        let params = [
            (&retention_ms as _, Type::INT8),
            (&i64::from(max_messages) as _, Type::INT8),
            (&i64::from(max_bytes) as _, Type::INT8),
        ];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.purgeable, &params)]).await?;
        Ok(rows.iter().map(purgeable).collect())
    }

    /// Deletes what is archived, in a transaction of its own, and returns how many. A row that was written since
    /// it was read stays, as does one that somebody holds; one that another purge has deleted is not counted.
    ///
    /// # Errors
    /// See [`Error`]; nothing is deleted, or after [`Error::Timeout`] or a lost connection perhaps everything.
    /// To call it again is safe.
    ///
    /// # Cancellation
    /// A dropped future leaves them deleted or not.
    pub async fn purge_archived(
        &self,
        retention: Duration,
        rows: &[ArchivedRow],
    ) -> Result<u64, Error> {
        let retention_ms = connection::milliseconds(retention);
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        let versions: Vec<&str> = rows.iter().map(|row| row.row_version.as_str()).collect();
        let params = [
            (&retention_ms as _, Type::INT8),
            (&ids as _, Type::INT8_ARRAY),
            (&versions as _, Type::TEXT_ARRAY),
        ];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.purge_archived, &params)]).await?;
        Ok(rows.len() as u64)
    }
}

fn purgeable(row: &Row) -> PurgeableMessage {
    let headers = RawValue::from_string(row.get("headers"));
    PurgeableMessage {
        id: row.get("id"),
        message_id: row.get("message_id"),
        destination: row.get("destination"),
        message_group: row.get("message_group"),
        message_type: row.get("message_type"),
        content_type: row.get("content_type"),
        correlation_id: row.get("correlation_id"),
        traceparent: row.get("traceparent"),
        tracestate: row.get("tracestate"),
        headers: headers.expect("the text of a jsonb is JSON"),
        payload: row.get("payload"),
        created_at: row.get("created_at"),
        dispatched_at: row.get("dispatched_at"),
        broker_message_id: row.get("broker_message_id"),
        attempts: row.get("attempts"),
        dispatched_on: row.get("dispatched_on"),
        row_version: row.get("row_version"),
    }
}

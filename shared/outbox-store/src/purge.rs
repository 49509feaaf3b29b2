//! Purge: delete dispatched messages past their retention.

use std::time::Duration;

use serde::Serialize;
use tokio_postgres::types::Type;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// Dispatched messages of one destination past their retention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PurgeableCount {
    /// The destination's logical name.
    pub destination: String,
    /// How many.
    pub messages: i64,
    /// When the oldest of them was dispatched, in UTC.
    pub oldest_at: String,
}

impl Store {
    /// Deletes at most `batch_size` dispatched messages that were dispatched longer than `retention` ago, in a
    /// transaction of its own, and returns how many. Fewer than asked means that there is nothing left for now.
    ///
    /// # Errors
    /// See [`Error`]; nothing of this batch is deleted, earlier ones stay deleted.
    ///
    /// # Cancellation
    /// A dropped future leaves the batch deleted or not.
    pub async fn purge(&self, retention: Duration, batch_size: u32) -> Result<u64, Error> {
        let retention_ms = connection::milliseconds(retention);
        let params = [(&retention_ms as _, Type::INT8), (&i64::from(batch_size) as _, Type::INT8)];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.purge, &params)]).await?;
        Ok(rows.len() as u64)
    }

    /// Counts, per destination, the dispatched messages that a purge would delete; at most so many, the oldest first. Nothing is
    /// changed.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn purge_preview(
        &self,
        retention: Duration,
        max_messages: u32,
    ) -> Result<Vec<PurgeableCount>, Error> {
        let retention_ms = connection::milliseconds(retention);
        let params =
            [(&retention_ms as _, Type::INT8), (&i64::from(max_messages) as _, Type::INT8)];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.purge_preview, &params)]).await?;
        let counts = rows.iter().map(|row| PurgeableCount {
            destination: row.get("destination"),
            messages: row.get("n_messages"),
            oldest_at: row.get("oldest_at"),
        });
        Ok(counts.collect())
    }
}

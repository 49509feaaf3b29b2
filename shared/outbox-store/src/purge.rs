//! Purge: delete dispatched messages past their retention.

use std::time::Duration;

use tokio_postgres::types::Type;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

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
}

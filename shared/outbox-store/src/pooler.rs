//! Pooler: whether something between hands the server's connections out from transaction to transaction; for operators.

use std::time::Duration;

use deadpool_postgres::{ClientWrapper, Object};

use crate::error::Error;
use crate::store::Store;

/// How long a transaction may wait for another one to end. A server lets it begin at once.
const BEGINS_WITHIN: Duration = Duration::from_secs(2);

impl Store {
    /// Tells whether transactions of one connection are served by different processes of the server, which a transaction
    /// pooler does. A few empty transactions on two connections, which are closed then; nothing is read or written.
    ///
    /// Poolers hand out the connection that was given back last, or first. So two transactions end in either order, and
    /// the one whose turn it is gets the other's. With one connection of the server for all, the second can't begin.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn is_pooled(&self) -> Result<bool, Error> {
        if self.pool.status().max_size < 2 {
            return Ok(false);
        }
        let (one, other) = tokio::try_join!(self.take(), self.take())?;
        let mut seen = None;
        for one_ends_first in [true, false, true, false] {
            let pid = self.begin(&one).await?;
            let began = tokio::time::timeout(BEGINS_WITHIN, self.begin(&other)).await;
            let Ok(other_pid) = began else { return Ok(true) };
            let pids = (pid, other_pid?);
            if seen.is_some_and(|seen| seen != pids) {
                return Ok(true);
            }
            seen = Some(pids);
            let ends = if one_ends_first { [&one, &other] } else { [&other, &one] };
            for ending in ends {
                ending.batch_execute("COMMIT").await?;
            }
        }
        Ok(false)
    }

    /// A connection that does not go back: it may be left in the middle of a transaction.
    async fn take(&self) -> Result<ClientWrapper, Error> {
        let object = self.pool.get().await.map_err(|source| Error::Connection { source })?;
        Ok(Object::take(object))
    }

    async fn begin(&self, on: &ClientWrapper) -> Result<i32, Error> {
        on.batch_execute("BEGIN").await?;
        let rows = on.query_typed(&self.sql.backend, &[]).await?;
        Ok(rows[0].get("pid"))
    }
}

//! Due: which destinations have something to publish, and since when.

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// A destination with due messages.
#[derive(Clone, Debug, PartialEq)]
pub struct DueDestination {
    /// Its logical name; the relay's settings may not know it.
    pub destination: String,
    /// How long its oldest message has been due, in seconds by the database's clock.
    pub oldest_due_seconds: f64,
    /// Whether it is paused, and a claim would get nothing.
    pub paused: bool,
}

impl Store {
    /// Lists the destinations that have due messages, leased ones included, in order of their names. It costs a few
    /// index probes for each destination, however long the backlog is.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn due(&self) -> Result<Vec<DueDestination>, Error> {
        let [rows] = connection::guarded(&self.pool, [(&self.sql.due, &[])]).await?;
        let due = rows.iter().map(|row| DueDestination {
            destination: row.get("destination"),
            oldest_due_seconds: row.get("oldest_due_seconds"),
            paused: row.get("paused"),
        });
        Ok(due.collect())
    }
}

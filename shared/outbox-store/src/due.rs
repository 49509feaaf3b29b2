//! Due: which destinations have something to publish, since when, and what stands in the way.

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// A destination with due messages.
#[derive(Clone, Debug, PartialEq)]
pub struct DueDestination {
    /// Its logical name; the relay's settings may not know it.
    pub destination: String,
    /// How long its oldest message has been due, in seconds by the database's clock. A failed message has been due since
    /// it first failed.
    pub oldest_due_seconds: f64,
    /// Whether messages without a group may be claimed.
    pub has_ungrouped: bool,
    /// Whether there are message groups; which of them can be claimed, [`Store::groups`] tells.
    pub has_groups: bool,
    /// Groups that wait behind a dead message; 1000 stands for more, too.
    pub held_groups: i64,
    /// Whether it is paused, and a claim would get nothing.
    pub paused: bool,
    /// Requests in a row, of all relays, that have failed as a whole.
    pub failed_requests: i32,
    /// Whether the breaker is open, and a claim would get nothing unless it probes.
    pub breaker_open: bool,
    /// Whether it is open and it is time for a probe.
    pub probe_due: bool,
}

impl Store {
    /// Lists the destinations that have due messages, leased, retrying and held ones included, in order of their names. It
    /// costs a few index probes for each destination, however long the backlog is.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn due(&self) -> Result<Vec<DueDestination>, Error> {
        let [rows] = connection::guarded(&self.pool, [(&self.sql.due, &[])]).await?;
        let due = rows.iter().map(|row| DueDestination {
            destination: row.get("destination"),
            oldest_due_seconds: row.get("oldest_due_seconds"),
            has_ungrouped: row.get("has_ungrouped"),
            has_groups: row.get("has_groups"),
            held_groups: row.get("held_groups"),
            paused: row.get("paused"),
            failed_requests: row.get("failed_requests"),
            breaker_open: row.get("breaker_open"),
            probe_due: row.get("probe_due"),
        });
        Ok(due.collect())
    }
}

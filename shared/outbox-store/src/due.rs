//! Due: which destinations have something to publish, since when, and what stands in the way.

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// A destination with due messages.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, as the statement tells them")]
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
    /// Whether there are messages whose last claim, at least, ended without an outcome.
    pub has_suspects: bool,
    /// Groups that wait behind a dead message; 1000 stands for more, too.
    pub held_groups: i64,
    /// Whether it is paused, and a claim would get nothing.
    pub paused: bool,
    /// Requests in a row, of all relays, that have failed as a whole.
    pub failed_requests: i32,
    /// Whether a claim would get something for all that has failed.
    pub breaker: Breaker,
}

/// The state of a destination's circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaker {
    /// Its messages are claimed.
    Closed,
    /// A claim gets nothing.
    Open,
    /// A claim gets something if it probes.
    ProbeDue,
}

impl Breaker {
    /// Whether it is open, a probe being due or not.
    pub fn is_open(self) -> bool {
        self != Self::Closed
    }
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
            has_suspects: row.get("has_suspects"),
            held_groups: row.get("held_groups"),
            paused: row.get("paused"),
            failed_requests: row.get("failed_requests"),
            breaker: match (row.get("breaker_open"), row.get("probe_due")) {
                (false, _) => Breaker::Closed,
                (true, false) => Breaker::Open,
                (true, true) => Breaker::ProbeDue,
            },
        });
        Ok(due.collect())
    }
}

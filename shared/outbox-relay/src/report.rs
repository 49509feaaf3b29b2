//! The report of a run: its return value and its log line.

use std::time::Duration;

use outbox_store::{DueDestination, Tally};
use serde::Serialize;

/// What a run did. The counts are of messages; one that was claimed twice in a run counts twice.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunReport {
    /// Leased to this run.
    pub claimed: u64,
    /// Accepted by the broker, and marked so.
    pub dispatched: u64,
    /// Failed, and waiting for another attempt.
    pub retried: u64,
    /// Given up.
    pub dead: u64,
    /// Not marked, because the lease was lost to another relay.
    pub fenced: u64,
    /// Handed back unsent.
    pub released: u64,
    /// Whether nothing was left to claim when the run ended.
    pub drained: bool,
    /// Age of the oldest due message at the end, in seconds by the database's clock; 0 if none is due, and absent if
    /// the database could not be asked.
    pub oldest_due_seconds: Option<f64>,
    /// How long the run took, in milliseconds.
    pub duration_ms: u64,
    /// The destinations that have something due, at the end; for metrics, and not part of the public report.
    #[serde(skip)]
    pub destinations: Vec<DueDestination>,
}

impl RunReport {
    /// Takes in what is due at the end.
    pub(crate) fn ages(&mut self, due: Vec<DueDestination>) {
        self.oldest_due_seconds =
            Some(due.iter().map(|d| d.oldest_due_seconds).fold(0.0, f64::max));
        self.destinations = due;
    }

    pub(crate) fn add(&mut self, tally: Tally) {
        self.dispatched += tally.dispatched;
        self.retried += tally.retried;
        self.dead += tally.dead;
        self.fenced += tally.fenced;
        self.released += tally.released;
    }

    pub(crate) fn took(&mut self, duration: Duration) {
        self.duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    }

    /// One line under the names of the report, which are public: dashboards read them.
    pub(crate) fn log(&self) {
        tracing::info!(
            claimed = self.claimed,
            dispatched = self.dispatched,
            retried = self.retried,
            dead = self.dead,
            fenced = self.fenced,
            released = self.released,
            drained = self.drained,
            oldest_due_seconds = self.oldest_due_seconds,
            duration_ms = self.duration_ms,
            "run finished"
        );
    }
}

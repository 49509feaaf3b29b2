//! Backlog: how much waits where; for operators.

use serde::Serialize;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// What is kept for one destination, dispatched messages aside.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Backlog {
    /// The destination's logical name.
    pub destination: String,
    /// Messages that a relay may claim now, or could but for their group's order or a pause.
    pub due: i64,
    /// Messages that failed and wait for their next attempt.
    pub retrying: i64,
    /// Messages that wait for their time, and have not failed.
    pub scheduled: i64,
    /// Messages that a relay holds.
    pub claimed: i64,
    /// Messages that wait for a person.
    pub dead: i64,
    /// How long the oldest due or claimed message has been due, in seconds; 0 if there is none.
    pub oldest_due_seconds: f64,
    /// Whether the destination is paused, or all are.
    pub paused: bool,
    /// Whether its requests fail, so that claims leave it out but for a probe now and then.
    pub breaker_open: bool,
    /// Message groups that wait behind a dead message, because the destination is set to `on_dead: hold`.
    pub held_groups: i64,
    /// Messages that wait in those; they are among those due, retrying and scheduled.
    pub held: i64,
}

impl Store {
    /// Counts the backlog of every destination that has one. It reads every unfinished and every dead row's index
    /// entry: an operator's question, not a run's.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn backlog(&self) -> Result<Vec<Backlog>, Error> {
        let rows = connection::query(&self.pool, &self.sql.backlog, &[]).await?;
        let backlog = rows.iter().map(|row| Backlog {
            destination: row.get("destination"),
            due: row.get("due"),
            retrying: row.get("retrying"),
            scheduled: row.get("scheduled"),
            claimed: row.get("claimed"),
            dead: row.get("dead"),
            oldest_due_seconds: row.get("oldest_due_seconds"),
            paused: row.get("paused"),
            breaker_open: row.get("breaker_open"),
            held_groups: row.get("held_groups"),
            held: row.get("held"),
        });
        Ok(backlog.collect())
    }
}

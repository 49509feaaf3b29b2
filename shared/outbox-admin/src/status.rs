//! Status: how much waits where, and whether anybody has to look.

use outbox_store::{Backlog, DeadCount, Selection, Store};
use serde::Serialize;

use crate::error::Error;

/// A due message is published within seconds; one that waits for minutes means that no relay runs, or that
/// its destination does not take it.
pub const OLDEST_DUE_LIMIT_SECONDS: f64 = 300.0;

/// The backlog of every destination that has one, and its sum.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// Whether nobody has to look: nothing is dead, nothing has been due for more than five minutes, and no destination's
    /// requests fail so that its circuit breaker is open.
    pub healthy: bool,
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
    /// How long the oldest due message has been due, in seconds.
    pub oldest_due_seconds: f64,
    /// Message groups that wait behind a dead message.
    pub held_groups: i64,
    /// Messages that wait in those; they are among those due, retrying and scheduled.
    pub held: i64,
    /// The same for each destination, by name.
    pub destinations: Vec<Backlog>,
    /// The dead ones by destination and code.
    pub dead_letters: Vec<DeadCount>,
}

/// Counts the backlog.
///
/// # Errors
/// [`Error::Store`].
pub async fn status(store: &Store) -> Result<Status, Error> {
    store.check_version().await?;
    let backlog = store.backlog().await?;
    let is_dead = backlog.iter().any(|backlog| backlog.dead > 0);
    let dead_letters =
        if is_dead { store.dead_summary(&Selection::default()).await? } else { Vec::new() };
    Ok(Status::new(backlog, dead_letters))
}

impl Status {
    fn new(destinations: Vec<Backlog>, dead_letters: Vec<DeadCount>) -> Self {
        let sum = |count: fn(&Backlog) -> i64| destinations.iter().map(count).sum::<i64>();
        let dead = sum(|backlog| backlog.dead);
        let oldest_due_seconds =
            destinations.iter().map(|backlog| backlog.oldest_due_seconds).fold(0.0, f64::max);
        let held_groups = sum(|backlog| backlog.held_groups);
        let is_open = destinations.iter().any(|backlog| backlog.breaker_open);
        Self {
            healthy: dead == 0
                && held_groups == 0
                && !is_open
                && oldest_due_seconds <= OLDEST_DUE_LIMIT_SECONDS,
            due: sum(|backlog| backlog.due),
            retrying: sum(|backlog| backlog.retrying),
            scheduled: sum(|backlog| backlog.scheduled),
            claimed: sum(|backlog| backlog.claimed),
            dead,
            oldest_due_seconds,
            held_groups,
            held: sum(|backlog| backlog.held),
            destinations,
            dead_letters,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(destination: &str, due: i64, dead: i64, oldest_due_seconds: f64) -> Backlog {
        let destination = destination.to_owned();
        Backlog {
            destination,
            due,
            retrying: 5,
            scheduled: 2,
            claimed: 1,
            dead,
            oldest_due_seconds,
            paused: false,
            breaker_open: false,
            held_groups: 0,
            held: 0,
        }
    }

    #[test]
    fn the_counts_are_summed_and_the_oldest_age_is_the_greatest() {
        let status = Status::new(vec![backlog("a", 3, 0, 1.5), backlog("b", 4, 0, 0.5)], vec![]);
        let Status { due, retrying, scheduled, claimed, dead, .. } = status;
        assert_eq!((due, retrying, scheduled, claimed, dead), (7, 10, 4, 2, 0));
        assert!((status.oldest_due_seconds - 1.5).abs() < f64::EPSILON);
    }

    #[test]
    fn a_dead_message_an_old_due_one_a_held_group_or_an_open_breaker_is_not_healthy() {
        for (of, healthy) in [
            (vec![], true),
            (vec![backlog("a", 9, 0, 300.0)], true),
            (vec![backlog("a", 0, 0, 0.0), backlog("b", 1, 0, 300.1)], false),
            (vec![backlog("a", 0, 1, 0.0)], false),
            (vec![Backlog { held_groups: 1, held: 3, ..backlog("a", 3, 0, 0.0) }], false),
            (vec![Backlog { breaker_open: true, ..backlog("a", 3, 0, 0.0) }], false),
        ] {
            assert_eq!(Status::new(of.clone(), vec![]).healthy, healthy, "{of:?}");
        }
    }
}

//! Status: how much waits where, what ran, what the database is like, and whether anybody has to look.
//!
//! Facts are gathered here; what they mean is decided in `status/verdict.rs`, which touches nothing.

mod verdict;

use outbox_store::{
    ActivePause, COUNTED_ROWS, DatabaseStatus, DeadCount, DestinationStatus, LastRuns, OpenBreaker,
    Store,
};
use serde::{Deserialize, Serialize};

use crate::age::Age;
use crate::error::Error;
pub use verdict::{
    OLDEST_DUE_LIMIT_SECONDS, PURGE_LIMIT_SECONDS, Problem, RELAY_LIMIT_SECONDS,
    SLOT_LIMIT_TRANSACTIONS, TRANSACTION_LIMIT_SECONDS,
};

/// How a status is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusOptions {
    /// How long a message may be due before that is a problem; [`OLDEST_DUE_LIMIT_SECONDS`] if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_due_limit: Option<Age>,
}

/// What an operator sees on one screen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// Whether nobody has to look: there are no problems.
    pub healthy: bool,
    /// What somebody has to look at, a sentence each and what to do next.
    pub problems: Vec<Problem>,
    /// What is worth knowing, and no problem.
    pub notes: Vec<Problem>,
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
    /// The dead ones by destination and code.
    pub dead_letters: Vec<DeadCount>,
    /// What all this was taken from.
    #[serde(flatten)]
    pub facts: Facts,
}

/// What was found, by the database's clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// The destinations that have unfinished or dead messages, by name.
    pub destinations: Vec<DestinationStatus>,
    /// The pauses, those of destinations without messages too; `*` is that of all.
    pub pauses: Vec<ActivePause>,
    /// The open circuit breakers.
    pub breakers: Vec<OpenBreaker>,
    /// The latest run of the relay and of the purge.
    pub last_runs: LastRuns,
    /// What the outbox lives on.
    pub database: DatabaseStatus,
}

/// Gathers what there is to know. What it costs is bounded, however long the backlog is.
///
/// # Errors
/// [`Error::Store`].
pub async fn status(store: &Store, options: StatusOptions) -> Result<Status, Error> {
    store.check_version().await?;
    let database = store.database_status().await?;
    let last_runs = store.last_runs().await?;
    let states = store.destination_states().await?;
    let facts = Facts {
        destinations: store.destination_status(COUNTED_ROWS).await?,
        pauses: states.pauses,
        breakers: states.breakers,
        last_runs,
        database,
    };
    Ok(Status::new(facts, options))
}

impl Status {
    fn new(facts: Facts, options: StatusOptions) -> Self {
        let limit = options
            .oldest_due_limit
            .map_or(OLDEST_DUE_LIMIT_SECONDS, |limit| limit.duration().as_secs_f64());
        let (problems, notes) = verdict::verdict(&facts, limit);
        let of = &facts.destinations;
        let sum = |count: fn(&DestinationStatus) -> i64| of.iter().map(count).sum::<i64>();
        Self {
            healthy: problems.is_empty(),
            problems,
            notes,
            due: sum(|of| of.backlog.due),
            retrying: sum(|of| of.backlog.retrying),
            scheduled: sum(|of| of.backlog.scheduled),
            claimed: sum(|of| of.backlog.claimed),
            dead: sum(|of| of.backlog.dead),
            oldest_due_seconds: of
                .iter()
                .map(|of| of.backlog.oldest_due_seconds)
                .fold(0.0, f64::max),
            held_groups: sum(|of| of.backlog.held_groups),
            held: sum(|of| of.backlog.held),
            dead_letters: of.iter().flat_map(|of| of.dead_letters.clone()).collect(),
            facts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::verdict::tests::{destination, healthy};
    use super::*;

    #[test]
    fn the_counts_are_summed_and_the_oldest_age_is_the_greatest() {
        let of = |name: &str, due: i64, age: f64| {
            let mut of = destination(name);
            of.backlog.due = due;
            (of.backlog.retrying, of.backlog.scheduled, of.backlog.claimed) = (5, 2, 1);
            of.backlog.oldest_due_seconds = age;
            of
        };
        let facts = Facts { destinations: vec![of("a", 3, 1.5), of("b", 4, 0.5)], ..healthy() };
        let status = Status::new(facts, StatusOptions::default());
        let Status { due, retrying, scheduled, claimed, dead, .. } = status;
        assert_eq!((due, retrying, scheduled, claimed, dead), (7, 10, 4, 2, 0));
        assert!((status.oldest_due_seconds - 1.5).abs() < f64::EPSILON);
    }

    #[test]
    fn a_dead_message_an_old_due_one_a_held_group_or_an_open_breaker_is_not_healthy() {
        let with = |change: fn(&mut DestinationStatus)| {
            let mut of = destination("a");
            of.backlog.due = 3;
            change(&mut of);
            Facts { destinations: vec![destination("b"), of], ..healthy() }
        };
        for (facts, is_healthy) in [
            (healthy(), true),
            (with(|of| of.backlog.oldest_due_seconds = 300.0), true),
            (with(|of| of.backlog.oldest_due_seconds = 300.1), false),
            (with(|of| of.backlog.dead = 1), false),
            (with(|of| (of.backlog.held_groups, of.backlog.held) = (1, 3)), false),
            (with(|of| of.backlog.breaker_open = true), false),
        ] {
            let status = Status::new(facts, StatusOptions::default());
            assert_eq!(status.healthy, is_healthy, "{status:?}");
        }
    }

    #[test]
    fn the_limit_can_be_given() {
        let mut of = destination("a");
        of.backlog.oldest_due_seconds = 200.0;
        let facts = Facts { destinations: vec![of], ..healthy() };
        for (limit, is_healthy) in [("3m", false), ("200s", true), ("1h", true)] {
            let options = StatusOptions { oldest_due_limit: Some(limit.parse().unwrap()) };
            assert_eq!(Status::new(facts.clone(), options).healthy, is_healthy, "{limit}");
        }
    }
}

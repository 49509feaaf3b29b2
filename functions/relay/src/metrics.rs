//! The report of a run in the form of metrics.

use outbox_lambda::{DestinationMetrics, RunMetrics};
use outbox_relay::RunReport;

/// What a run measured, with the destinations that the settings know. One of them that has nothing due has the age 0, unless
/// nobody knows.
pub(crate) fn measured(report: &RunReport, destinations: &[String]) -> RunMetrics {
    let is_known = report.oldest_due_seconds.is_some();
    let due = || report.destinations.iter();
    let idle = destinations.iter().filter(|name| !due().any(|due| due.destination == **name));
    let ages = due()
        .map(|due| (due.destination.clone(), due.oldest_due_seconds))
        .chain(idle.map(|name| (name.clone(), 0.0)));
    let count = |n: usize| is_known.then_some(n as u64);
    RunMetrics {
        claimed: report.claimed,
        published: report.dispatched,
        retried: report.retried,
        dead: report.dead,
        lease_lost: report.fenced,
        released: report.released,
        oldest_due_seconds: report.oldest_due_seconds,
        held_groups: is_known.then(|| due().map(|due| due.held_groups.unsigned_abs()).sum()),
        open_breakers: count(due().filter(|due| due.breaker.is_open()).count()),
        destinations: ages
            .filter(|_| is_known)
            .map(|(name, age)| DestinationMetrics { name, oldest_due_seconds: Some(age) })
            .collect(),
    }
}

//! Traffic: the requests in flight of all claims of a run, and what they say of each destination.
//!
//! A destination that nothing is known of yet, or whose last request failed, gets three requests at once and no more: one
//! that is down costs three calls, and one that does not answer keeps no more than three from the others. After three failed
//! requests in a row its breaker is open; the database tells all relays so, and when to probe.

mod destination;
#[cfg(test)]
mod tests;
mod work;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use outbox::{ClaimToken, Outcome};
use outbox_store::{DueDestination, FailedRequests};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use destination::Destination;
pub(crate) use destination::Standing;
pub(crate) use work::Work;

/// Requests in a row that must fail as a whole before the breaker opens. Three tell an outage from a hiccup. The
/// database counts alike (`requests_failed.sql`).
const FAILURES_TO_OPEN: u32 = 3;

/// What is going on with each destination.
#[derive(Debug)]
pub(crate) struct Traffic {
    most: usize,
    state: Mutex<State>,
    changed: Notify,
    n_at_work: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    in_flight: usize,
    by_destination: HashMap<String, Destination>,
}

/// Whether a request may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// It may, and counts as started.
    Now,
    /// When another one has ended.
    Later,
    /// Not in this run, as far as one can tell: the breaker is open.
    Not,
}

/// What the database is to be told: first who has recovered, as what failed after that is a new row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) recovered: Vec<String>,
    pub(crate) failed: Vec<FailedRequests>,
}

impl Traffic {
    /// For at most so many requests in flight.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            state: Mutex::default(),
            changed: Notify::new(),
            n_at_work: AtomicUsize::new(0),
        }
    }

    /// Takes in what the database said of the destinations when it was asked at that moment.
    pub(crate) fn observe(&self, due: &[DueDestination], asked_at: Instant) {
        let mut state = self.state();
        for due in due {
            state.of(&due.destination).observe(due, asked_at);
        }
    }

    /// Whether no more can be sent to it for now, or at all.
    pub(crate) fn is_held_up(&self, destination: &str) -> bool {
        let state = self.state();
        let held_up = |it: &Destination| it.is_open || it.in_flight >= it.most(usize::MAX);
        state.by_destination.get(destination).is_some_and(held_up)
    }

    /// Whether no request is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.state().in_flight == 0
    }

    /// Whether there is a destination whose breaker is open.
    pub(crate) fn has_open_breaker(&self) -> bool {
        self.state().by_destination.values().any(|it| it.is_open)
    }

    /// Asks for a request to the destination; a probe may go while the breaker is open.
    pub(crate) fn start(&self, destination: &str, is_probe: bool) -> Start {
        let mut state = self.state();
        let (in_flight, is_only) = (state.in_flight, state.by_destination.len() < 2);
        // A quarter is kept for others: one that stops answering must not have all of them.
        let most = if is_only { self.most } else { self.most - self.most / 4 };
        let it = state.of(destination);
        if it.is_open && !is_probe {
            return Start::Not;
        }
        if in_flight >= self.most || it.in_flight >= it.most(most) {
            return Start::Later;
        }
        it.in_flight += 1;
        state.in_flight += 1;
        Start::Now
    }

    /// Takes in what became of a request, and of which claim it was if it was a probe. Whether it tells if the destination is
    /// well.
    pub(crate) fn finish(
        &self,
        destination: &str,
        outcomes: &[Outcome],
        probe: Option<ClaimToken>,
    ) -> bool {
        let mut state = self.state();
        state.in_flight -= 1;
        let tells = state.of(destination).finish(outcomes, probe, Instant::now());
        drop(state);
        self.changed.notify_waiters();
        tells
    }

    /// What a failed entry of this destination is to be taken for.
    pub(crate) fn standing(&self, destination: &str) -> Standing {
        self.state().of(destination).standing(Instant::now())
    }

    /// Resolves when a request has ended after this call.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// What the database is to be told, once.
    pub(crate) fn news(&self) -> Option<News> {
        let mut news = News::default();
        for (name, it) in &mut self.state().by_destination {
            if it.take_recovery() {
                news.recovered.push(name.clone());
            }
            news.failed.extend(it.take_failures(name));
        }
        (news != News::default()).then_some(news)
    }

    /// The database has been told, or could not be.
    pub(crate) fn told(&self, news: &News) {
        let failed = news.failed.iter().map(|failed| &failed.destination);
        let mut state = self.state();
        for name in news.recovered.iter().chain(failed) {
            state.of(name).told(Instant::now());
        }
    }

    /// The word of a claim that has everything to send yet.
    pub(crate) fn work(&self) -> Work<'_> {
        Work::begin(&self.n_at_work)
    }

    /// How many claims have something to send that nobody holds up.
    pub(crate) fn n_at_work(&self) -> usize {
        self.n_at_work.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn of(&mut self, destination: &str) -> &mut Destination {
        if !self.by_destination.contains_key(destination) {
            self.by_destination.insert(destination.to_owned(), Destination::default());
        }
        self.by_destination.get_mut(destination).expect("it was inserted above")
    }
}

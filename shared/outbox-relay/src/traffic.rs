//! Traffic: the requests in flight of all claims of a run, and what they say of each destination.
//!
//! A destination that nothing is known of yet, or whose last request failed, gets three requests at once and no more: one
//! that is down costs three calls, and one that does not answer keeps no more than three from the others. After three failed
//! requests in a row it is left alone; the breaker in the database tells all relays so, and when to probe.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use outbox::{ClaimToken, FailureClass, Outcome, Scope};
use outbox_store::{DueDestination, FailedRequests};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Requests in a row that must fail as a whole before the destination is left alone. Three tell an outage from a hiccup. The
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

/// A claim's word on whether it has something to send that nobody holds up. While there is such a claim, the next one can
/// wait.
pub(crate) struct Work<'a> {
    n_at_work: &'a AtomicUsize,
    is_at_work: bool,
}

#[derive(Debug, Default)]
struct State {
    in_flight: usize,
    by_destination: HashMap<String, Destination>,
}

#[derive(Debug, Default)]
struct Destination {
    in_flight: usize,
    has_accepted: bool,
    failed_in_row: u32,
    /// Failed requests since the last accepted one that the database has not been told of.
    n_untold: u32,
    /// The claim that probed it in vain, if the database has not been told.
    failed_probe: Option<ClaimToken>,
    told: Told,
    is_open: bool,
    last_code: String,
}

/// What the database knows of a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Told {
    /// Of no failed request.
    #[default]
    Well,
    /// Of some, and it is to be told when one is accepted.
    Ailing,
    /// Of some, though one was accepted after them.
    NotOfRecovery,
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
#[derive(Debug, Default, PartialEq, Eq)]
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

    /// Takes in what the database says of the destinations.
    pub(crate) fn observe(&self, due: &[DueDestination]) {
        let mut state = self.state();
        for due in due {
            let destination = state.of(&due.destination);
            // What we have not told yet, the database can't know.
            if destination.told == Told::NotOfRecovery {
                continue;
            }
            destination.told = if due.failed_requests > 0 { Told::Ailing } else { Told::Well };
            // Another relay may have opened or closed it.
            destination.is_open = due.breaker_open || destination.n_untold >= FAILURES_TO_OPEN;
            if !due.breaker_open && destination.n_untold == 0 {
                destination.failed_in_row = u32::try_from(due.failed_requests).unwrap_or(0);
            }
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

    /// Whether there is a destination that is left alone.
    pub(crate) fn leaves_some(&self) -> bool {
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

    /// Takes in what became of a request, and of which claim it was if it was a probe.
    pub(crate) fn finish(
        &self,
        destination: &str,
        outcomes: &[Outcome],
        probe: Option<ClaimToken>,
    ) {
        let mut state = self.state();
        state.in_flight -= 1;
        state.of(destination).finish(destination, outcomes, probe);
        drop(state);
        self.changed.notify_waiters();
    }

    /// Whether the destination has accepted something in this run, so that a failure is not for its being down.
    pub(crate) fn has_accepted(&self, destination: &str) -> bool {
        self.state().by_destination.get(destination).is_some_and(|it| it.has_accepted)
    }

    /// Resolves when a request has ended after this call.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// What the database is to be told, once.
    pub(crate) fn news(&self) -> Option<News> {
        let mut news = News::default();
        for (name, it) in &mut self.state().by_destination {
            if it.told == Told::NotOfRecovery {
                news.recovered.push(name.clone());
                it.told = Told::Well;
            }
            if it.n_untold > 0 {
                news.failed.push(FailedRequests {
                    destination: name.clone(),
                    n_requests: std::mem::take(&mut it.n_untold),
                    code: it.last_code.clone(),
                    probe: it.failed_probe.take(),
                });
                it.told = Told::Ailing;
            }
        }
        (news != News::default()).then_some(news)
    }

    /// The word of a claim that has everything to send yet.
    pub(crate) fn work(&self) -> Work<'_> {
        self.n_at_work.fetch_add(1, Ordering::Relaxed);
        Work { n_at_work: &self.n_at_work, is_at_work: true }
    }

    /// How many claims have something to send that nobody holds up.
    pub(crate) fn n_at_work(&self) -> usize {
        self.n_at_work.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Work<'_> {
    pub(crate) fn set(&mut self, is_at_work: bool) {
        match (self.is_at_work, is_at_work) {
            (true, false) => _ = self.n_at_work.fetch_sub(1, Ordering::Relaxed),
            (false, true) => _ = self.n_at_work.fetch_add(1, Ordering::Relaxed),
            _ => {}
        }
        self.is_at_work = is_at_work;
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        self.set(false);
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

impl Destination {
    /// Most requests in flight, if a healthy destination may have so many.
    fn most(&self, healthy: usize) -> usize {
        let few = FAILURES_TO_OPEN.saturating_sub(self.failed_in_row).max(1) as usize;
        if self.has_accepted && self.failed_in_row == 0 { healthy } else { few.min(healthy) }
    }

    fn finish(&mut self, name: &str, outcomes: &[Outcome], probe: Option<ClaimToken>) {
        self.in_flight -= 1;
        if !outcomes.iter().all(is_of_the_destination) {
            self.failed_in_row = 0;
            // A message's own failure alone proves that somebody answers, and no more.
            if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Accepted { .. })) {
                self.has_accepted = true;
                if self.told == Told::Ailing {
                    self.told = Told::NotOfRecovery;
                }
                self.n_untold = 0;
                self.failed_probe = None;
                self.is_open = false;
            }
            return;
        }
        self.failed_in_row += 1;
        self.n_untold += 1;
        self.failed_probe = probe.or(self.failed_probe);
        if let Some(Outcome::Failed(failure)) = outcomes.first() {
            self.last_code.clone_from(&failure.code);
        }
        if self.failed_in_row >= FAILURES_TO_OPEN && !self.is_open {
            self.is_open = true;
            tracing::warn!(
                messaging.destination.name = name,
                error.r#type = self.last_code,
                "destination keeps failing and is left alone"
            );
        }
    }
}

/// Whether a failure says something about the destination rather than about the message.
fn is_of_the_destination(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Accepted { .. } => false,
        Outcome::Failed(failure) => match failure.class {
            FailureClass::Throttled | FailureClass::DestinationFault => true,
            FailureClass::Transient | FailureClass::Unknown => failure.scope == Scope::Request,
            FailureClass::Permanent => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use outbox::Failure;

    use super::*;

    fn failed(class: FailureClass) -> Outcome {
        let (code, detail) = ("Code".to_owned(), String::new());
        Outcome::Failed(Failure { class, scope: Scope::Request, code, detail })
    }

    fn accepted() -> Outcome {
        Outcome::Accepted { broker_message_id: "b".into() }
    }

    /// Starts and ends a request.
    fn request(traffic: &Traffic, outcomes: &[Outcome]) {
        assert_eq!(traffic.start("orders", false), Start::Now);
        traffic.finish("orders", outcomes, None);
    }

    #[test]
    fn a_destination_is_left_alone_after_three_failed_requests_in_a_row() {
        let traffic = Traffic::new(16);
        for _ in 0..3 {
            request(&traffic, &[failed(FailureClass::DestinationFault)]);
        }
        assert_eq!(traffic.start("orders", false), Start::Not);
        assert_eq!(traffic.start("events", false), Start::Now);
        let news = traffic.news().unwrap();
        assert_eq!((news.failed[0].n_requests, news.failed[0].code.as_str()), (3, "Code"));
        assert!(traffic.news().is_none(), "told once");

        assert_eq!(traffic.start("orders", true), Start::Now, "a probe may go");
        traffic.finish("orders", &[accepted()], None);
        assert_eq!(traffic.start("orders", false), Start::Now);
        assert_eq!(traffic.news().unwrap().recovered, ["orders"]);
    }

    #[test]
    fn what_failed_after_an_accepted_request_is_told_as_a_new_row() {
        let traffic = Traffic::new(16);
        let down = failed(FailureClass::DestinationFault);
        request(&traffic, std::slice::from_ref(&down));
        request(&traffic, std::slice::from_ref(&down));
        traffic.news().unwrap();
        request(&traffic, &[accepted()]);
        request(&traffic, &[down]);
        let News { recovered, failed } = traffic.news().unwrap();
        assert_eq!((recovered, failed[0].n_requests), (vec!["orders".to_owned()], 1));
        assert!(traffic.news().is_none(), "told once");
    }

    #[test]
    fn an_accepted_entry_or_a_messages_own_failure_ends_the_row() {
        for outcome in [accepted(), failed(FailureClass::Permanent)] {
            let traffic = Traffic::new(16);
            let down = failed(FailureClass::DestinationFault);
            request(&traffic, std::slice::from_ref(&down));
            request(&traffic, std::slice::from_ref(&down));
            request(&traffic, &[down.clone(), outcome]);
            request(&traffic, &[down]);
            assert_eq!(traffic.start("orders", false), Start::Now);
        }
    }

    #[test]
    fn a_destination_that_has_not_answered_yet_gets_three_requests_at_once() {
        let traffic = Traffic::new(16);
        for _ in 0..3 {
            assert_eq!(traffic.start("orders", false), Start::Now);
        }
        assert_eq!(traffic.start("orders", false), Start::Later);
        assert!(traffic.is_held_up("orders"));
        traffic.finish("orders", &[accepted()], None);
        for _ in 0..14 {
            assert_eq!(traffic.start("orders", false), Start::Now);
        }
        assert_eq!(traffic.start("orders", false), Start::Later);
        assert!(!traffic.is_held_up("orders"), "busy is not held up");
    }

    #[test]
    fn one_of_several_destinations_does_not_get_all_requests() {
        let traffic = Traffic::new(16);
        request(&traffic, &[accepted()]);
        assert_eq!(traffic.start("events", false), Start::Now);
        let n_started = (0..20).filter(|_| traffic.start("orders", false) == Start::Now).count();
        assert_eq!(n_started, 12);
    }
}

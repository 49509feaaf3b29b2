//! What a run knows of one destination, from its requests and from the database.

use std::time::{Duration, Instant};

use outbox::{ClaimToken, FailureClass, Outcome, Scope};
use outbox_store::{DueDestination, FailedRequests};

use super::FAILURES_TO_OPEN;

/// So long after it has accepted something, a destination is known to work, and a failed entry is the message's own fault.
const KNOWN_TO_WORK: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct Destination {
    pub(super) in_flight: usize,
    accepted_at: Option<Instant>,
    failed_in_row: u32,
    /// Failed requests since the last accepted one that the database has not been told of.
    n_untold: u32,
    /// The claim that probed it in vain, if the database has not been told.
    failed_probe: Option<ClaimToken>,
    told: Told,
    pub(super) is_open: bool,
    last_code: String,
    /// When a request last said something, or the database had been told of it: what it said before that is old.
    changed_at: Option<Instant>,
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
    /// It is being told of some.
    Telling,
}

/// What a failed entry is to be taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The destination accepts others.
    Works,
    /// It has accepted others, but not lately.
    FellSilent,
    /// Nothing is known of it in this run.
    Unknown,
}

impl Destination {
    /// Most requests in flight, if a healthy destination may have so many.
    pub(super) fn most(&self, healthy: usize) -> usize {
        let few = FAILURES_TO_OPEN.saturating_sub(self.failed_in_row).max(1) as usize;
        if self.accepted_at.is_some() && self.failed_in_row == 0 {
            healthy
        } else {
            few.min(healthy)
        }
    }

    pub(super) fn standing(&self, now: Instant) -> Standing {
        match self.accepted_at {
            None => Standing::Unknown,
            Some(at) if now < at + KNOWN_TO_WORK => Standing::Works,
            Some(_) => Standing::FellSilent,
        }
    }

    /// Takes in what the database said when it was asked at that moment. Another relay may have opened or closed the breaker;
    /// of what has happened here since, or is being told, it can't know.
    pub(super) fn observe(&mut self, due: &DueDestination, asked_at: Instant) {
        let is_old = self.changed_at.is_some_and(|at| asked_at <= at);
        if is_old || matches!(self.told, Told::NotOfRecovery | Told::Telling) {
            return;
        }
        self.told = if due.failed_requests > 0 { Told::Ailing } else { Told::Well };
        self.is_open = due.breaker.is_open() || self.n_untold >= FAILURES_TO_OPEN;
        if !due.breaker.is_open() && self.n_untold == 0 {
            self.failed_in_row = u32::try_from(due.failed_requests).unwrap_or(0);
        }
    }

    /// Takes in what became of a request. Whether it tells if the destination is well.
    pub(super) fn finish(
        &mut self,
        outcomes: &[Outcome],
        probe: Option<ClaimToken>,
        now: Instant,
    ) -> bool {
        self.in_flight -= 1;
        self.changed_at = Some(now);
        if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Accepted { .. })) {
            self.accepted(now);
            true
        } else if outcomes.iter().all(is_of_the_destination) {
            self.failed(outcomes, probe);
            true
        } else {
            // A message's own failure alone proves that somebody answers, and no more.
            (self.failed_in_row, self.n_untold) = (0, 0);
            false
        }
    }

    fn accepted(&mut self, now: Instant) {
        if matches!(self.told, Told::Ailing | Told::Telling) {
            self.told = Told::NotOfRecovery;
        }
        self.accepted_at = Some(now);
        (self.failed_in_row, self.n_untold, self.failed_probe) = (0, 0, None);
        self.is_open = false;
    }

    fn failed(&mut self, outcomes: &[Outcome], probe: Option<ClaimToken>) {
        self.failed_in_row += 1;
        self.n_untold += 1;
        self.failed_probe = probe.or(self.failed_probe);
        self.is_open |= self.failed_in_row >= FAILURES_TO_OPEN;
        if let Some(Outcome::Failed(failure)) = outcomes.first() {
            self.last_code.clone_from(&failure.code);
        }
    }

    /// Whether the database is to be told that it has recovered; once.
    pub(super) fn take_recovery(&mut self) -> bool {
        let has_recovered = self.told == Told::NotOfRecovery;
        if has_recovered {
            self.told = Told::Telling;
        }
        has_recovered
    }

    /// What the database is to be told of failures; once.
    pub(super) fn take_failures(&mut self, name: &str) -> Option<FailedRequests> {
        if self.n_untold == 0 {
            return None;
        }
        self.told = Told::Telling;
        Some(FailedRequests {
            destination: name.to_owned(),
            n_requests: std::mem::take(&mut self.n_untold),
            code: self.last_code.clone(),
            probe: self.failed_probe.take(),
        })
    }

    /// The database has been told, or could not be.
    pub(super) fn told(&mut self, now: Instant) {
        if self.told == Told::Telling {
            self.told = if self.failed_in_row > 0 { Told::Ailing } else { Told::Well };
        }
        self.changed_at = Some(now);
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

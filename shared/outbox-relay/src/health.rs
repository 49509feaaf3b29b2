//! Which destinations this run leaves alone for a moment, because their requests keep failing.
//!
//! A destination that is down would otherwise cost a request for each ten of its messages in every run, each with
//! the SDK's own retries and time-outs, while healthy destinations wait for the connections.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use outbox::{Failure, FailureClass, Outcome, Scope};

/// Requests in a row that must fail as a whole before the destination rests. Three tell an outage from a hiccup.
const FAILURES_TO_REST: u32 = 3;

/// How long it rests; then one more failure is enough.
const REST: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(crate) struct Health {
    by_destination: HashMap<String, State>,
}

#[derive(Debug, Default)]
struct State {
    n_failures: u32,
    resting_until: Option<Instant>,
}

impl Health {
    /// Whether requests to the destination are to wait.
    pub(crate) fn is_resting(&self, destination: &str, now: Instant) -> bool {
        self.by_destination
            .get(destination)
            .and_then(|state| state.resting_until)
            .is_some_and(|until| now < until)
    }

    /// Takes in what became of a request.
    pub(crate) fn record(&mut self, destination: &str, outcomes: &[Outcome], now: Instant) {
        if !outcomes.iter().all(is_of_the_destination) {
            self.by_destination.remove(destination);
            return;
        }
        let state = self.by_destination.entry(destination.to_owned()).or_default();
        state.n_failures += 1;
        if state.n_failures >= FAILURES_TO_REST {
            if state.resting_until.is_none_or(|until| until <= now) {
                tracing::warn!(
                    messaging.destination.name = destination,
                    rest_seconds = REST.as_secs(),
                    "destination keeps failing and rests"
                );
            }
            state.resting_until = Some(now + REST);
        }
    }
}

/// Whether a failure says something about the destination rather than about the message.
fn is_of_the_destination(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Accepted { .. } => false,
        Outcome::Failed(Failure { class, scope, .. }) => match class {
            FailureClass::Throttled | FailureClass::DestinationFault => true,
            FailureClass::Transient | FailureClass::Unknown => *scope == Scope::Request,
            FailureClass::Permanent => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(class: FailureClass) -> Outcome {
        let (code, detail) = ("Code".to_owned(), String::new());
        Outcome::Failed(Failure { class, scope: Scope::Request, code, detail })
    }

    #[test]
    fn a_destination_rests_after_three_failed_requests_in_a_row_and_is_tried_again() {
        let (mut health, now) = (Health::default(), Instant::now());
        for _ in 0..3 {
            assert!(!health.is_resting("orders", now));
            health.record("orders", &[failed(FailureClass::DestinationFault)], now);
        }
        assert!(health.is_resting("orders", now));
        assert!(!health.is_resting("events", now));

        let later = now + REST;
        assert!(!health.is_resting("orders", later));
        health.record("orders", &[failed(FailureClass::Unknown)], later);
        assert!(health.is_resting("orders", later), "one more failure is enough");
    }

    #[test]
    fn an_accepted_entry_or_a_messages_own_failure_ends_the_row() {
        let (mut health, now) = (Health::default(), Instant::now());
        let down = failed(FailureClass::DestinationFault);
        let accepted = Outcome::Accepted { broker_message_id: "b".into() };
        for outcome in [accepted, failed(FailureClass::Permanent)] {
            health.record("orders", std::slice::from_ref(&down), now);
            health.record("orders", std::slice::from_ref(&down), now);
            health.record("orders", &[down.clone(), outcome], now);
            health.record("orders", std::slice::from_ref(&down), now);
            assert!(!health.is_resting("orders", now));
        }
    }
}

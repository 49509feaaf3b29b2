//! From what the broker said of an entry to what becomes of the row.

use std::time::Duration;

use crate::defect::Defect;
use crate::destination::OnDead;
use crate::policy::RunPolicy;

/// What became of one entry of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// SQS or SNS listed the entry as taken, under this id of its own.
    Accepted {
        /// The broker's message id.
        broker_message_id: String,
    },
    /// Anything else.
    Failed(Failure),
}

/// Why an entry was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure, which decides what happens next.
    pub class: FailureClass,
    /// Whether it was said of this entry, or of the whole request.
    pub scope: Scope,
    /// The error's code, of low cardinality: `InternalError`, `timeout`.
    pub code: String,
    /// A bounded text for people; never a payload.
    pub detail: String,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// The message's own fault: it would fail every time.
    Permanent,
    /// Worth another attempt.
    Transient,
    /// Too much at once; the message is not at fault.
    Throttled,
    /// The destination is down, missing, or not permitted; the message is not at fault.
    DestinationFault,
    /// Nobody knows whether it was accepted: a time-out, or an answer that does not list the entry.
    Unknown,
}

/// What a failure was said of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// This entry.
    Entry,
    /// The request that carried it, and so nothing about the message itself.
    Request,
}

impl Failure {
    /// Whether the message's attempts stay as they were: only its own failures count, so that an outage
    /// of an hour kills nothing.
    pub fn gives_attempt_back(&self) -> bool {
        match self.class {
            FailureClass::Throttled | FailureClass::DestinationFault => true,
            FailureClass::Transient | FailureClass::Unknown => self.scope == Scope::Request,
            FailureClass::Permanent => false,
        }
    }
}

/// What is written to a claimed row.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// The broker took it.
    Dispatched {
        /// The broker's message id.
        broker_message_id: String,
    },
    /// Another attempt after a wait.
    Retry {
        /// The wait, counted by the database from the moment of the mark.
        delay: Duration,
        /// Whether the attempt is given back.
        gives_attempt_back: bool,
        /// The failure's code.
        code: String,
        /// The failure's text.
        detail: String,
    },
    /// No further attempt until a person redrives it.
    Dead {
        /// Which rule ended it.
        reason: DeadReason,
        /// The failure's or defect's code.
        code: String,
        /// Its text.
        detail: String,
        /// Whether the rest of its group waits for a person.
        holds_group: bool,
    },
    /// It was never sent: claimable again at once, with its attempt given back.
    Released,
}

/// Why a message is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeadReason {
    /// It can't be sent as it is; found before sending.
    Defect,
    /// The broker refused it for good.
    Refused,
    /// It failed on its own as often as it may.
    AttemptsExhausted,
}

impl DeadReason {
    /// The reason as stored in `dead_reason`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Defect => "defect",
            Self::Refused => "refused",
            Self::AttemptsExhausted => "attempts_exhausted",
        }
    }
}

/// Turns an outcome into the mark of its row.
///
/// `attempts` counts this one; `jitter` is a random number from 0 to 1 of the caller's.
#[must_use]
pub fn decide(
    outcome: Outcome,
    attempts: i32,
    policy: &RunPolicy,
    on_dead: OnDead,
    jitter: f64,
) -> Mark {
    let failure = match outcome {
        Outcome::Accepted { broker_message_id } => return Mark::Dispatched { broker_message_id },
        Outcome::Failed(failure) => failure,
    };
    let gives_attempt_back = failure.gives_attempt_back();
    let Failure { class, code, detail, .. } = failure;
    let attempt = u32::try_from(attempts).unwrap_or(0);
    let holds_group = on_dead == OnDead::Hold;
    if class == FailureClass::Permanent {
        Mark::Dead { reason: DeadReason::Refused, code, detail, holds_group }
    } else if gives_attempt_back {
        let delay = policy.backoff.outage_delay(jitter);
        Mark::Retry { delay, gives_attempt_back, code, detail }
    } else if attempt >= policy.max_attempts {
        Mark::Dead { reason: DeadReason::AttemptsExhausted, code, detail, holds_group }
    } else {
        let delay = policy.backoff.delay(attempt, jitter);
        Mark::Retry { delay, gives_attempt_back, code, detail }
    }
}

impl Mark {
    /// The mark of a message that can't be sent as it is.
    #[must_use]
    pub fn of_defect(defect: &Defect, on_dead: OnDead) -> Self {
        let reason = match defect {
            Defect::NoOutcome { .. } => DeadReason::AttemptsExhausted,
            _ => DeadReason::Defect,
        };
        let (code, detail) = (defect.code().to_owned(), defect.to_string());
        Self::Dead { reason, code, detail, holds_group: on_dead == OnDead::Hold }
    }
}

/// Takes failures that all entries of a request share for the request's own, if they are so many at least: a broker that takes
/// none of several messages is more likely in trouble than all of them are. A permanent failure stays that of its entry.
pub fn blame_request(outcomes: &mut [Outcome], at_least: usize) {
    let is_passing = |outcome: &Outcome| match outcome {
        Outcome::Accepted { .. } => false,
        Outcome::Failed(failure) => failure.class != FailureClass::Permanent,
    };
    if outcomes.len() < at_least || !outcomes.iter().all(is_passing) {
        return;
    }
    for outcome in outcomes {
        if let Outcome::Failed(failure) = outcome {
            failure.scope = Scope::Request;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(class: FailureClass, scope: Scope, attempts: i32) -> Mark {
        let failure = Failure { class, scope, code: "Code".into(), detail: "text".into() };
        decide(Outcome::Failed(failure), attempts, &RunPolicy::default(), OnDead::Continue, 0.5)
    }

    #[test]
    fn an_accepted_entry_is_dispatched_whatever_its_attempts() {
        let accepted = Outcome::Accepted { broker_message_id: "b".into() };
        let mark = decide(accepted, 99, &RunPolicy::default(), OnDead::Hold, 0.5);
        assert_eq!(mark, Mark::Dispatched { broker_message_id: "b".into() });
    }

    #[test]
    fn a_permanent_failure_is_dead_at_the_first_attempt() {
        let mark = failed(FailureClass::Permanent, Scope::Entry, 1);
        assert!(matches!(mark, Mark::Dead { reason: DeadReason::Refused, .. }), "{mark:?}");
    }

    #[test]
    fn a_messages_own_failures_count_and_kill_it_at_the_cap() {
        for class in [FailureClass::Transient, FailureClass::Unknown] {
            let mark = failed(class, Scope::Entry, 9);
            assert!(matches!(mark, Mark::Retry { gives_attempt_back: false, .. }), "{mark:?}");
            let mark = failed(class, Scope::Entry, 10);
            assert!(
                matches!(mark, Mark::Dead { reason: DeadReason::AttemptsExhausted, .. }),
                "{mark:?}"
            );
        }
    }

    /// Case R07 in small: no number of failed requests, outages or throttles kills a message.
    #[test]
    fn failures_that_are_not_the_messages_own_never_kill_it() {
        use FailureClass::{DestinationFault, Throttled, Transient, Unknown};
        for (class, scope) in [
            (Throttled, Scope::Entry),
            (DestinationFault, Scope::Entry),
            (Throttled, Scope::Request),
            (DestinationFault, Scope::Request),
            (Transient, Scope::Request),
            (Unknown, Scope::Request),
        ] {
            let mark = failed(class, scope, 1_000);
            assert!(matches!(mark, Mark::Retry { gives_attempt_back: true, .. }), "{mark:?}");
        }
    }

    #[test]
    fn several_entries_that_fail_together_blame_the_request_and_one_alone_is_its_own_fault() {
        let failed = |class| {
            let (code, detail) = (String::new(), String::new());
            Outcome::Failed(Failure { class, scope: Scope::Entry, code, detail })
        };
        let accepted = Outcome::Accepted { broker_message_id: "b".into() };
        let transient = failed(FailureClass::Transient);
        let scopes = |mut outcomes: Vec<Outcome>| {
            blame_request(&mut outcomes, 2);
            let is_of_request =
                |o: &Outcome| matches!(o, Outcome::Failed(f) if f.scope == Scope::Request);
            outcomes.iter().filter(|outcome| is_of_request(outcome)).count()
        };
        assert_eq!(scopes(vec![transient.clone(), failed(FailureClass::Unknown)]), 2);
        assert_eq!(scopes(vec![transient.clone()]), 0);
        assert_eq!(scopes(vec![transient.clone(), accepted]), 0);
        assert_eq!(scopes(vec![transient, failed(FailureClass::Permanent)]), 0);
    }
}

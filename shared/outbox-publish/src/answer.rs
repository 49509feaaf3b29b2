//! A batch answer: two lists, which may miss an entry or name it twice, to one outcome per entry.

use outbox::{FailureClass, Outcome, Scope};

use crate::classify::{class_of, failure, plain};

/// The id of a request's entry: its index. A message id could be too long, or have another character than
/// the letters, digits, hyphens and underscores that SQS and SNS take here (case A14).
pub(crate) fn entry_id(index: usize) -> String {
    index.to_string()
}

/// What an answer has said so far of each entry.
pub(crate) struct Answer {
    outcomes: Vec<Option<Outcome>>,
}

impl Answer {
    /// An answer to a request of so many entries.
    pub(crate) fn to(entries: usize) -> Self {
        Self { outcomes: vec![None; entries] }
    }

    /// The list of the accepted has this id.
    pub(crate) fn accepted(&mut self, id: &str, broker_message_id: &str) {
        let broker_message_id = plain(broker_message_id);
        self.listed(id, Outcome::Accepted { broker_message_id });
    }

    /// The list of the failed has this id. Whose fault it was in the service's eyes is not asked:
    /// throttling is reported as the sender's fault too.
    pub(crate) fn failed(&mut self, id: &str, code: &str, text: Option<&str>) {
        let class = class_of(code, text).unwrap_or(FailureClass::Transient);
        let failure = failure(class, Scope::Entry, code, text.unwrap_or_default());
        self.listed(id, Outcome::Failed(failure));
    }

    fn listed(&mut self, id: &str, outcome: Outcome) {
        let slot = self.outcomes.iter_mut().enumerate().find(|(index, _)| entry_id(*index) == id);
        match slot {
            Some((_, slot @ None)) => *slot = Some(outcome),
            Some((_, slot)) => *slot = Some(unknown("listed_twice", "the answer lists it twice")),
            None => tracing::warn!("an answer lists an entry that the request did not have"),
        }
    }

    /// One outcome per entry. What was not listed was not accepted, as far as anybody knows: a success
    /// answer may list nothing at all (case B01).
    pub(crate) fn into_outcomes(self) -> Vec<Outcome> {
        let missing = self.outcomes.iter().filter(|outcome| outcome.is_none()).count();
        if missing > 0 {
            tracing::warn!(missing, "an answer does not list all entries of its request");
        }
        let not_listed = || unknown("not_listed", "the answer does not list it");
        self.outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(not_listed)).collect()
    }
}

fn unknown(code: &str, text: &str) -> Outcome {
    Outcome::Failed(failure(FailureClass::Unknown, Scope::Entry, code, text))
}

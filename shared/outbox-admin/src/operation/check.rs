//! What a redrive or a discard must and must not ask for.

use super::{Action, Operation};
use crate::error::Error;

/// Ids of one operation; more are better told by a filter.
const MAX_IDS: usize = 10_000;

/// More a second than a relay publishes is no limit.
const MAX_RATE: u32 = 10_000;

impl Operation {
    /// Checks that something is selected, that a reason is given unless nothing is to be done, and that every part makes
    /// sense.
    ///
    /// # Errors
    /// [`Error::Usage`] says what is wrong, and how to put it right.
    pub fn check(&self, action: Action) -> Result<(), Error> {
        let problem = self.wrong_selection(action).or_else(|| self.wrong_terms(action));
        problem.map_or(Ok(()), |problem| Err(Error::Usage(problem)))
    }

    fn wrong_selection(&self, action: Action) -> Option<String> {
        let verb = action.name();
        let named = [
            ("destination", &self.destination, "orders"),
            ("code", &self.code, "no_route"),
            ("message group", &self.message_group, "customer-7"),
        ];
        let is_blank = |text: &Option<String>| text.as_ref().is_some_and(|t| t.trim().is_empty());
        let has_filter = named.iter().any(|(_, given, _)| given.is_some())
            || self.dead_before.is_some()
            || self.dead_after.is_some();
        if self.ids.is_empty() && !has_filter && !self.all {
            return Some(format!(
                "a {verb} needs ids, a destination, a code, a message group, an age or all: nothing is selected"
            ));
        }
        if self.all && !self.ids.is_empty() {
            return Some(format!("a {verb} takes either ids or all, not both"));
        }
        if let Some(id) = self.ids.iter().find(|&&id| id < 1) {
            return Some(format!(
                "the id {id} is not allowed; allowed: whole numbers from 1, as outbox.dead_letter shows them, for example 7"
            ));
        }
        if self.ids.len() > MAX_IDS {
            let n_ids = self.ids.len();
            return Some(format!(
                "{n_ids} ids are too many; a {verb} takes {MAX_IDS} at most: select by destination or code instead"
            ));
        }
        if let Some((part, _, example)) = named.iter().find(|(_, given, _)| is_blank(given)) {
            return Some(format!(
                "the {part} is empty; leave it out for any, or name one, for example \"{example}\""
            ));
        }
        match (self.dead_before, self.dead_after) {
            (Some(before), Some(after)) if after <= before => Some(format!(
                "nothing died both longer ago than {before} and within {after}; dead_after must be the longer one, for example 1h and 3h"
            )),
            _ => None,
        }
    }

    fn wrong_terms(&self, action: Action) -> Option<String> {
        let verb = action.name();
        if !self.dry_run && self.reason.trim().is_empty() {
            return Some(format!(
                "a {verb} needs a reason, which is kept in the audit, for example \"queue repaired\""
            ));
        }
        let is_redrive = action == Action::Redrive;
        match self.rate {
            Some(_) if !is_redrive => return Some("a discard takes no rate".to_owned()),
            Some(rate) if !(1..=i64::from(MAX_RATE)).contains(&rate) => {
                return Some(format!(
                    "the rate {rate} is not allowed; allowed: 1 to {MAX_RATE} messages a second, for example 50"
                ));
            }
            _ => {}
        }
        (self.new_dedup_id && !is_redrive).then(|| "a discard takes no new_dedup_id".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::age::Age;

    fn operation() -> Operation {
        Operation { reason: "queue repaired".into(), ..Operation::default() }
    }

    fn age(text: &str) -> Age {
        text.parse().unwrap()
    }

    #[test]
    fn a_redrive_or_a_discard_selects_something_and_says_why() {
        for good in [
            Operation { ids: vec![7], ..operation() },
            Operation { all: true, ..operation() },
            Operation { destination: Some("orders".into()), ..operation() },
            Operation { destination: Some("orders".into()), all: true, ..operation() },
            Operation { ids: vec![7], code: Some("no_route".into()), ..operation() },
            Operation { message_group: Some("customer-7".into()), ..operation() },
            Operation { dead_before: Some(age("1h")), dead_after: Some(age("3h")), ..operation() },
            Operation { all: true, dry_run: true, ..Operation::default() },
        ] {
            for action in [Action::Redrive, Action::Discard] {
                assert!(good.check(action).is_ok(), "{good:?}");
            }
        }
        for (bad, named) in [
            (operation(), "nothing is selected"),
            (Operation { all: true, reason: " \n".into(), ..operation() }, "reason"),
            (Operation { all: true, ids: vec![7], ..operation() }, "not both"),
            (Operation { ids: vec![7, 0], ..operation() }, "the id 0"),
            (Operation { ids: vec![7; MAX_IDS + 1], ..operation() }, "10001 ids"),
            (Operation { destination: Some(String::new()), ..operation() }, "destination is empty"),
            (Operation { code: Some(" ".into()), ..operation() }, "code is empty"),
            (
                Operation { message_group: Some(" ".into()), ..operation() },
                "message group is empty",
            ),
            (
                Operation {
                    dead_before: Some(age("3h")),
                    dead_after: Some(age("1h")),
                    ..operation()
                },
                "than 3h",
            ),
        ] {
            for action in [Action::Redrive, Action::Discard] {
                let error = bad.check(action).unwrap_err().to_string();
                assert!(error.contains(named), "{error}");
            }
        }
    }

    #[test]
    fn a_rate_and_fresh_message_ids_are_for_a_redrive_and_a_rate_has_bounds() {
        for (rate, is_allowed) in
            [(-1, false), (0, false), (1, true), (10_000, true), (10_001, false)]
        {
            let operation = Operation { all: true, rate: Some(rate), ..operation() };
            let checked = operation.check(Action::Redrive).map_err(|error| error.to_string());
            let expected = format!(
                "the rate {rate} is not allowed; allowed: 1 to 10000 messages a second, for example 50"
            );
            assert_eq!(checked, if is_allowed { Ok(()) } else { Err(expected) });
            assert!(operation.check(Action::Discard).unwrap_err().to_string().contains("no rate"));
        }
        let fresh = Operation { all: true, new_dedup_id: true, ..operation() };
        assert!(fresh.check(Action::Redrive).is_ok());
        assert!(fresh.check(Action::Discard).is_err());
    }
}

//! Redrive and discard: dead messages become pending again, or are deleted, because a person says so and why.

use std::num::NonZeroU32;

use outbox_store::{DeadCount, Discard, Done, Interrupted, Redrive, Selection, Store};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::age::Age;
use crate::error::Error;

/// What is done to dead messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// They become pending again.
    Redrive,
    /// They are deleted for good.
    Discard,
}

/// Which dead messages, how, and why. Whatever is given must match; something must be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deed {
    /// These ids only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<i64>,
    /// This destination only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Those whose last error has this code only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// This message group only, of whatever destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_group: Option<String>,
    /// Those that died longer ago than this only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_before: Option<Age>,
    /// Those that died no longer ago than this only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_after: Option<Age>,
    /// All that are left by the above: needed where nothing else is given, so that nobody takes everything by
    /// leaving something out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// For a redrive: how many messages of each destination fall due a second; all at once if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<i64>,
    /// For a redrive: whether each message gets a fresh message id, so that a FIFO target does not take it for a copy of
    /// one from the last five minutes. Nor do consumers then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_dedup_id: bool,
    /// Only tell what is selected; nothing is changed or written down, and no reason is needed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Why; it is kept in `outbox.audit`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// What a redrive did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Redriven {
    /// Messages that are pending again.
    pub redriven: u64,
    /// Messages that match and are still dead, because somebody else held their rows.
    pub skipped: u64,
    /// Its name in the `selection` of `outbox.audit`.
    pub operation: Uuid,
}

/// What a discard did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Discarded {
    /// Messages that are gone.
    pub discarded: u64,
    /// Messages that match and are still there, because somebody else held their rows.
    pub skipped: u64,
    /// Its name in the `selection` of `outbox.audit`.
    pub operation: Uuid,
}

/// What a redrive or a discard would take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preview {
    /// How many messages.
    pub matched: i64,
    /// The same by destination and code.
    pub dead_letters: Vec<DeadCount>,
}

/// Ids of one deed; more are better told by a filter.
const MAX_IDS: usize = 10_000;

/// More a second than a relay publishes is no limit.
const MAX_RATE: u32 = 10_000;

impl Action {
    /// The verb, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Redrive => "redrive",
            Self::Discard => "discard",
        }
    }

    /// What its messages are afterwards.
    pub fn past(self) -> &'static str {
        match self {
            Self::Redrive => "redriven",
            Self::Discard => "discarded",
        }
    }
}

impl Deed {
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

    /// Counts what is selected; nothing is changed.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn preview(&self, store: &Store) -> Result<Preview, Error> {
        store.check_version().await?;
        let dead_letters = store.dead_summary(&self.selection()).await?;
        let matched = dead_letters.iter().map(|count| count.messages).sum();
        Ok(Preview { matched, dead_letters })
    }

    pub(crate) async fn redrive(&self, store: &Store, actor: &str) -> Result<Redriven, Error> {
        store.check_version().await?;
        let redrive = Redrive {
            selection: self.selection(),
            rate: self.rate.and_then(|rate| u32::try_from(rate).ok()).and_then(NonZeroU32::new),
            with_new_message_ids: self.new_dedup_id,
            actor: actor.to_owned(),
            reason: self.reason.trim().to_owned(),
        };
        let Done { operation, n_messages, n_skipped } =
            store.redrive(&redrive).await.map_err(|error| interrupted(error, Action::Redrive))?;
        Ok(Redriven { redriven: n_messages, skipped: n_skipped, operation })
    }

    pub(crate) async fn discard(&self, store: &Store, actor: &str) -> Result<Discarded, Error> {
        store.check_version().await?;
        let discard = Discard {
            selection: self.selection(),
            actor: actor.to_owned(),
            reason: self.reason.trim().to_owned(),
        };
        let Done { operation, n_messages, n_skipped } =
            store.discard(&discard).await.map_err(|error| interrupted(error, Action::Discard))?;
        Ok(Discarded { discarded: n_messages, skipped: n_skipped, operation })
    }

    fn selection(&self) -> Selection {
        Selection {
            ids: (!self.ids.is_empty()).then(|| self.ids.clone()),
            destination: self.destination.clone(),
            code: self.code.clone(),
            message_group: self.message_group.clone(),
            dead_before: self.dead_before.map(Age::duration),
            dead_after: self.dead_after.map(Age::duration),
        }
    }
}

/// What did nothing is a plain failure.
fn interrupted(interrupted: Interrupted, action: Action) -> Error {
    match interrupted.n_messages {
        0 => Error::Store(interrupted.source),
        _ => Error::Interrupted { action, interrupted },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deed() -> Deed {
        Deed { reason: "queue repaired".into(), ..Deed::default() }
    }

    fn age(text: &str) -> Age {
        text.parse().unwrap()
    }

    #[test]
    fn a_redrive_or_a_discard_selects_something_and_says_why() {
        for good in [
            Deed { ids: vec![7], ..deed() },
            Deed { all: true, ..deed() },
            Deed { destination: Some("orders".into()), ..deed() },
            Deed { destination: Some("orders".into()), all: true, ..deed() },
            Deed { ids: vec![7], code: Some("no_route".into()), ..deed() },
            Deed { message_group: Some("customer-7".into()), ..deed() },
            Deed { dead_before: Some(age("1h")), dead_after: Some(age("3h")), ..deed() },
            Deed { all: true, dry_run: true, ..Deed::default() },
        ] {
            for action in [Action::Redrive, Action::Discard] {
                assert!(good.check(action).is_ok(), "{good:?}");
            }
        }
        for (bad, named) in [
            (deed(), "nothing is selected"),
            (Deed { all: true, reason: " \n".into(), ..deed() }, "reason"),
            (Deed { all: true, ids: vec![7], ..deed() }, "not both"),
            (Deed { ids: vec![7, 0], ..deed() }, "the id 0"),
            (Deed { ids: vec![7; MAX_IDS + 1], ..deed() }, "10001 ids"),
            (Deed { destination: Some(String::new()), ..deed() }, "destination is empty"),
            (Deed { code: Some(" ".into()), ..deed() }, "code is empty"),
            (Deed { message_group: Some(" ".into()), ..deed() }, "message group is empty"),
            (
                Deed { dead_before: Some(age("3h")), dead_after: Some(age("1h")), ..deed() },
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
            let deed = Deed { all: true, rate: Some(rate), ..deed() };
            let checked = deed.check(Action::Redrive).map_err(|error| error.to_string());
            let expected = format!(
                "the rate {rate} is not allowed; allowed: 1 to 10000 messages a second, for example 50"
            );
            assert_eq!(checked, if is_allowed { Ok(()) } else { Err(expected) });
            assert!(deed.check(Action::Discard).unwrap_err().to_string().contains("no rate"));
        }
        let fresh = Deed { all: true, new_dedup_id: true, ..deed() };
        assert!(fresh.check(Action::Redrive).is_ok());
        assert!(fresh.check(Action::Discard).is_err());
    }
}

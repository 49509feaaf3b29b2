//! Redrive: dead messages become pending again, because a person says so and why.

use outbox_store::{Selection, Store};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Which dead messages, and why. Whatever is given must match; something must be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redrive {
    /// These ids only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<i64>,
    /// This destination only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Those whose last error has this code only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// All that are left by the above: needed where nothing else is given, so that nobody redrives
    /// everything by leaving something out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// Why; it is kept in `outbox.audit`.
    #[serde(default)]
    pub reason: String,
}

/// What a redrive did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Redriven {
    /// Messages that are pending again.
    pub redriven: u64,
}

/// Ids of one redrive; more are better told by a filter.
const MAX_IDS: usize = 10_000;

impl Redrive {
    /// Checks that something is selected, and that a reason is given.
    ///
    /// # Errors
    /// [`Error::Usage`] says what is wrong, and how to put it right.
    pub fn check(&self) -> Result<(), Error> {
        let is_blank =
            |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
        let has_filter = self.destination.is_some() || self.code.is_some();
        let problem = if self.reason.trim().is_empty() {
            "a redrive needs a reason, which is kept in the audit, for example \"queue repaired\""
        } else if self.ids.is_empty() && !has_filter && !self.all {
            "a redrive needs ids, a destination, a code or all: nothing is selected"
        } else if self.all && !self.ids.is_empty() {
            "a redrive takes either ids or all, not both"
        } else if self.ids.iter().any(|&id| id < 1) {
            "an id is a whole number from 1, as the outbox's column id has it"
        } else if self.ids.len() > MAX_IDS {
            "a redrive takes 10000 ids at most; select by destination or code instead"
        } else if is_blank(&self.destination) {
            "the destination is empty; leave it out for any, or name one, for example \"orders\""
        } else if is_blank(&self.code) {
            "the code is empty; leave it out for any, or name one, for example \"no_route\""
        } else {
            return Ok(());
        };
        Err(Error::Usage(problem.to_owned()))
    }

    pub(crate) async fn execute(&self, store: &Store, actor: &str) -> Result<Redriven, Error> {
        self.check()?;
        store.check_version().await?;
        let selection = Selection {
            ids: (!self.ids.is_empty()).then(|| self.ids.clone()),
            destination: self.destination.clone(),
            code: self.code.clone(),
        };
        let (actor, reason) = (actor.to_owned(), self.reason.trim().to_owned());
        let redriven = store.redrive(&outbox_store::Redrive { selection, actor, reason }).await?;
        Ok(Redriven { redriven })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redrive() -> Redrive {
        Redrive { reason: "queue repaired".into(), ..Redrive::default() }
    }

    #[test]
    fn a_redrive_selects_something_and_says_why() {
        for good in [
            Redrive { ids: vec![7], ..redrive() },
            Redrive { all: true, ..redrive() },
            Redrive { destination: Some("orders".into()), ..redrive() },
            Redrive { destination: Some("orders".into()), all: true, ..redrive() },
            Redrive { ids: vec![7], code: Some("no_route".into()), ..redrive() },
        ] {
            assert!(good.check().is_ok(), "{good:?}");
        }
        for (bad, named) in [
            (redrive(), "nothing is selected"),
            (Redrive { all: true, reason: " \n".into(), ..redrive() }, "reason"),
            (Redrive { all: true, ids: vec![7], ..redrive() }, "not both"),
            (Redrive { ids: vec![7, 0], ..redrive() }, "from 1"),
            (Redrive { ids: vec![7; MAX_IDS + 1], ..redrive() }, "10000"),
            (Redrive { destination: Some(String::new()), ..redrive() }, "destination is empty"),
            (Redrive { code: Some(" ".into()), ..redrive() }, "code is empty"),
        ] {
            let error = bad.check().unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}

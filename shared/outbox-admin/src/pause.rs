//! Pause and resume: a destination is left out of all claims, or taken again, because a person says so and why.

use outbox_store::{ALL_DESTINATIONS, Store};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Which destination to pause or to resume, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// This one only; left out, the pause of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Why; it is kept in `outbox.audit`.
    #[serde(default)]
    pub reason: String,
}

/// What a pause did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Paused {
    /// Whether it was not paused before.
    pub paused: bool,
}

/// What a resume did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Resumed {
    /// Whether it was paused before.
    pub resumed: bool,
}

impl Pause {
    /// Checks that a reason is given, and a destination that can be one.
    ///
    /// # Errors
    /// [`Error::Usage`] says what is wrong, and how to put it right.
    pub fn check(&self) -> Result<(), Error> {
        let problem = if self.reason.trim().is_empty() {
            "a pause or a resume needs a reason, which is kept in the audit, for example \"queue repaired\""
        } else if self.destination.as_ref().is_some_and(|name| name.trim().is_empty()) {
            "the destination is empty; leave it out for all, or name one, for example \"orders\""
        } else {
            return Ok(());
        };
        Err(Error::Usage(problem.to_owned()))
    }

    pub(crate) async fn pause(&self, store: &Store, actor: &str) -> Result<Paused, Error> {
        self.check()?;
        Ok(Paused { paused: store.pause(self.name(), actor, &self.reason).await? })
    }

    pub(crate) async fn resume(&self, store: &Store, actor: &str) -> Result<Resumed, Error> {
        self.check()?;
        Ok(Resumed { resumed: store.resume(self.name(), actor, &self.reason).await? })
    }

    fn name(&self) -> &str {
        self.destination.as_deref().unwrap_or(ALL_DESTINATIONS)
    }
}

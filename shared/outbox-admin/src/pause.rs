//! Pause and resume: a destination is left out of all claims, or taken again, because a person says so and why.

use outbox_store::{ALL_DESTINATIONS, ActivePause, Store};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::words::for_a_shell;

/// Which destination to pause, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// This one only; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Why; it is kept in `outbox.audit`.
    #[serde(default)]
    pub reason: String,
}

/// What to resume, and why: a destination that is paused or whose circuit breaker is open, or a message group that a dead
/// message holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// This one only; left out, the pause of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// This group of the destination, and not the destination itself. Its dead messages stay dead. In JSON also `group`, as
    /// on the command line.
    #[serde(default, alias = "group", skip_serializing_if = "Option::is_none")]
    pub message_group: Option<String>,
    /// Why; it is kept in `outbox.audit`.
    #[serde(default)]
    pub reason: String,
}

/// What a pause did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Paused {
    /// Whether it was not paused before.
    pub paused: bool,
    /// What may be wrong with it: no message has that destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a resume did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resumed {
    /// Whether it was paused or held before, or its breaker open.
    pub resumed: bool,
    /// What still stands in its way: another pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Pause {
    /// Checks that a reason is given, and a destination that can be one.
    ///
    /// # Errors
    /// [`Error::Usage`] says what is wrong, and how to put it right.
    pub fn check(&self) -> Result<(), Error> {
        check("pause", self.destination.as_deref(), &self.reason)
    }

    pub(crate) async fn execute(&self, store: &Store, actor: &str) -> Result<Paused, Error> {
        self.check()?;
        let paused = store.pause(name(self.destination.as_deref()), actor, &self.reason).await?;
        let note = match self.destination.as_deref() {
            None | Some(ALL_DESTINATIONS) => None,
            // It is paused all the same, perhaps before its first message. That nobody can tell is no failure of the pause.
            Some(name) => match store.knows_destination(name).await {
                Ok(false) => Some(unknown(name)),
                Ok(true) | Err(_) => None,
            },
        };
        Ok(Paused { paused, note })
    }
}

impl Resume {
    /// Checks that a reason is given, a destination that can be one, and with a group a destination at all.
    ///
    /// # Errors
    /// [`Error::Usage`] says what is wrong, and how to put it right.
    pub fn check(&self) -> Result<(), Error> {
        check("resume", self.destination.as_deref(), &self.reason)?;
        let problem = match (&self.message_group, name(self.destination.as_deref())) {
            (Some(group), ALL_DESTINATIONS) => format!(
                "the message group {group:?} needs its destination, as each destination has groups of its own, for example \"orders\""
            ),
            (Some(group), _) if group.is_empty() => {
                "the message group is empty; leave it out for the destination, or name one, for example \"customer-7\"".to_owned()
            }
            _ => return Ok(()),
        };
        Err(Error::Usage(problem))
    }

    pub(crate) async fn execute(&self, store: &Store, actor: &str) -> Result<Resumed, Error> {
        self.check()?;
        let (destination, reason) = (name(self.destination.as_deref()), self.reason.as_str());
        let resumed = match &self.message_group {
            Some(group) => store.resume_group(destination, group, actor, reason).await?,
            None => store.resume(destination, actor, reason).await?,
        };
        let states = store.destination_states().await.unwrap_or_default();
        let note = self.still_paused(&states.pauses);
        Ok(Resumed { resumed, note })
    }
}

impl Resume {
    /// The pauses that stay, as each is ended by itself: that of all, and of the destination whose group was resumed, or those
    /// of single ones.
    fn still_paused(&self, pauses: &[ActivePause]) -> Option<String> {
        let resumed = name(self.destination.as_deref());
        let stands = |pause: &&ActivePause| match resumed {
            ALL_DESTINATIONS => pause.destination != ALL_DESTINATIONS,
            _ if pause.destination == resumed => self.message_group.is_some(),
            _ => pause.destination == ALL_DESTINATIONS,
        };
        let standing: Vec<String> = pauses
            .iter()
            .filter(stands)
            .map(|pause| match pause.destination.as_str() {
                ALL_DESTINATIONS => {
                    "all destinations, until: outbox resume --reason \"...\"".to_owned()
                }
                name => {
                    let arg = for_a_shell(name);
                    format!("{name}, until: outbox resume {arg} --reason \"...\"")
                }
            })
            .collect();
        (!standing.is_empty()).then(|| format!("still paused: {}", standing.join("; ")))
    }
}

fn unknown(name: &str) -> String {
    let arg = for_a_shell(name);
    format!(
        "no message has the destination {name}; if it is misspelt: outbox resume {arg} --reason \"misspelt\""
    )
}

fn check(verb: &str, destination: Option<&str>, reason: &str) -> Result<(), Error> {
    let problem = if reason.trim().is_empty() {
        format!(
            "a {verb} needs a reason, which is kept in the audit, for example \"queue repaired\""
        )
    } else if destination.is_some_and(|name| name.trim().is_empty()) {
        "the destination is empty; leave it out for all, or name one, for example \"orders\""
            .to_owned()
    } else {
        return Ok(());
    };
    Err(Error::Usage(problem))
}

fn name(destination: Option<&str>) -> &str {
    destination.unwrap_or(ALL_DESTINATIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_resumed_at_its_destination_and_with_a_reason() {
        let resume = |destination: Option<&str>, group: &str, reason: &str| {
            Resume {
                destination: destination.map(str::to_owned),
                message_group: Some(group.to_owned()),
                reason: reason.to_owned(),
            }
            .check()
        };
        assert!(resume(Some("orders"), "customer-7", "void").is_ok());
        for (checked, named) in [
            (resume(None, "customer-7", "void"), "\"customer-7\" needs its destination"),
            (resume(Some("*"), "customer-7", "void"), "\"customer-7\" needs its destination"),
            (resume(Some("orders"), "", "void"), "message group is empty"),
            (resume(Some(" "), "customer-7", "void"), "destination is empty"),
            (resume(Some("orders"), "customer-7", " "), "reason"),
        ] {
            let error = checked.unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}

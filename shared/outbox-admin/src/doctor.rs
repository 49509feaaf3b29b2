//! Doctor: whether the database and the login are as an outbox needs them.
//!
//! Facts are gathered here; what they mean is decided in the modules below, which touch nothing. The command line adds
//! what it finds of the destinations, for which it takes the relay's settings and a publisher.

mod checkup;
mod finding;
mod login;
mod plans;
mod server;

use std::time::{SystemTime, UNIX_EPOCH};

use outbox_store::{Backlog, Role, Store};
use serde::{Deserialize, Serialize};

use crate::error::Error;
pub use finding::{Finding, Severity};

/// How an examination is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Doctor {
    /// Whose rights the login is judged by; by the roles that it is a member of, if left out.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// Whether there is no problem; notes do not count.
    pub healthy: bool,
    /// Everything that was looked at.
    pub findings: Vec<Finding>,
}

impl From<Vec<Finding>> for Diagnosis {
    fn from(findings: Vec<Finding>) -> Self {
        let healthy = findings.iter().all(|finding| finding.severity != Severity::Problem);
        Self { healthy, findings }
    }
}

/// What was found of the database, and what goes with it.
#[derive(Clone, Debug)]
pub struct Examined {
    /// By whose rights the login was judged.
    pub role: Role,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What waits; nothing if there is no outbox, or for a login that has no business with that.
    pub backlog: Vec<Backlog>,
}

impl Doctor {
    /// Looks at the database and the login. Nothing is written.
    ///
    /// # Errors
    /// [`Error::Store`] if the database is away. One that refuses a statement is a finding.
    pub async fn examine(self, store: &Store) -> Result<Examined, Error> {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let schema = store.schema();
        let asked = now();
        let examination = store.examine().await?;
        let mut findings = server::judge(&examination, asked..=now());
        let role = self.role.unwrap_or_else(|| login::role_of(&examination.member_of));

        let version = told(store.check_version().await, &mut findings)?;
        let mut backlog = Vec::new();
        if version.is_some() {
            findings.push(server::outbox_is_there());
            let lacking = store.lacking(role).await?;
            findings.push(login::judge(&examination.role, role, &lacking));
            // Without its rights the rest is refused, and that is said.
            if lacking.is_empty() {
                let plans = told(store.plans(role).await, &mut findings)?;
                findings.extend(plans::judge(&plans.unwrap_or_default(), schema));
            }
            if matches!(role, Role::Relay | Role::Admin) {
                backlog = told(store.backlog().await, &mut findings)?.unwrap_or_default();
            }
        }
        findings.extend(checkup::judge(&store.checkup().await?, schema));
        findings.push(server::judge_pooler(&store.is_pooled().await));
        Ok(Examined { role, findings, backlog })
    }
}

/// An answer, or a finding in its place.
fn told<T>(
    answer: Result<T, outbox_store::Error>,
    findings: &mut Vec<Finding>,
) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_transient() => Err(error.into()),
        Err(error) => {
            findings.push(Finding::problem("outbox", error.to_string()));
            Ok(None)
        }
    }
}

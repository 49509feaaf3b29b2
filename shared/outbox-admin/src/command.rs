//! Commands and their replies.

use outbox_store::Store;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::redrive::{Redrive, Redriven};
use crate::status::{Status, status};

/// What an operator asks for; in JSON an object with the verb as its `command`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// How much waits where.
    Status {},
    /// Make dead messages pending again.
    Redrive(Redrive),
}

/// What came of it; in JSON the object of the verb.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// Of [`Command::Status`].
    Status(Status),
    /// Of [`Command::Redrive`].
    Redriven(Redriven),
}

/// One of each, for whoever got one wrong.
const EXAMPLES: &str = r#"{"command": "status"}, {"command": "redrive", "ids": [7], "reason": "queue repaired"} or {"command": "redrive", "destination": "orders", "all": true, "reason": "queue repaired"}"#;

impl Command {
    /// Reads a command.
    ///
    /// # Errors
    /// [`Error::Usage`] says what is wrong and shows every command there is.
    pub fn from_json(value: Value) -> Result<Self, Error> {
        serde_json::from_value(value).map_err(|problem| {
            Error::Usage(format!("not a command: {problem}; allowed: {EXAMPLES}"))
        })
    }
}

/// Carries a command out. `actor` is who asks for it, for the audit.
///
/// # Errors
/// [`Error::Usage`] if the command makes no sense; [`Error::Store`] is the database's.
pub async fn execute(store: &Store, command: &Command, actor: &str) -> Result<Reply, Error> {
    Ok(match command {
        Command::Status {} => Reply::Status(status(store).await?),
        Command::Redrive(redrive) => Reply::Redriven(redrive.execute(store, actor).await?),
    })
}

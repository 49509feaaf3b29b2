//! What an operator's command can fail at.

use outbox_store::Interrupted;
use thiserror::Error;

use crate::operation::Action;

/// Why a command was not carried out.
#[derive(Debug, Error)]
pub enum Error {
    /// The command is not one of those there are, or asks for something that makes no sense. Nothing was done.
    #[error("{0}")]
    Usage(String),
    /// The database was not reached, or refused.
    #[error(transparent)]
    Store(#[from] outbox_store::Error),
    /// The database failed, or the time was up, when a part was done, which stays so. The same command goes on with the rest.
    #[error("{interrupted}; {}", so_far(*action, interrupted))]
    Interrupted {
        /// What was being done.
        action: Action,
        /// How far it came, and what it failed at.
        interrupted: Interrupted,
    },
}

impl Error {
    /// The kind of error, as a label of few values.
    pub fn code(&self) -> &str {
        match self {
            Self::Usage(_) => "usage",
            Self::Store(error) => error.code(),
            Self::Interrupted { interrupted, .. } => interrupted.source.code(),
        }
    }
}

/// What an interrupted operation had done, and how to go on.
pub fn so_far(action: Action, interrupted: &Interrupted) -> String {
    let Interrupted { operation, n_messages, .. } = interrupted;
    let past = action.past();
    format!(
        "messages {past} before that: {n_messages}, as operation {operation} of outbox.audit; the same command takes the rest"
    )
}

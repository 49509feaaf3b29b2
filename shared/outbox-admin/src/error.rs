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
    /// There is too much to read for an answer: the server gave up. Nothing was changed.
    #[error(
        "{0}; so many messages wait that they can't all be read for this: give a destination, or list without a status"
    )]
    TooMuch(outbox_store::Error),
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
            Self::Store(error) | Self::TooMuch(error) => error.code(),
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

/// What to do about a right that is missing; nothing if the error is another one.
pub fn how_to_grant(error: &outbox_store::Error, role: &str) -> Option<String> {
    error.is_forbidden().then(|| {
        format!(
            "what signs in lacks the rights of the role {role}: sign in as a member, or let the owner run GRANT {role} TO \
             that user"
        )
    })
}

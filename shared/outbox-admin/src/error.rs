//! What an operator's command can fail at.

use thiserror::Error;

/// Why a command was not carried out.
#[derive(Debug, Error)]
pub enum Error {
    /// The command is not one of those there are, or asks for something that makes no sense. Nothing was done.
    #[error("{0}")]
    Usage(String),
    /// The database was not reached, or refused.
    #[error(transparent)]
    Store(#[from] outbox_store::Error),
}

impl Error {
    /// The kind of error, as a label of few values.
    pub fn code(&self) -> &str {
        match self {
            Self::Usage(_) => "usage",
            Self::Store(error) => error.code(),
        }
    }
}

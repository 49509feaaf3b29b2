//! Why a run ended before it was through.

use thiserror::Error;

/// An error of a run. Whatever the run had claimed becomes claimable again when its lease has run out.
#[derive(Debug, Error)]
pub enum Error {
    /// Nothing could be claimed. No message was touched by the failed step.
    #[error("claiming failed: {0}")]
    Claim(#[source] outbox_store::Error),
    /// Outcomes could not be written within the run's time. What the broker accepted goes out a second time, with
    /// the same ids, when the lease has run out.
    #[error("marking {n_messages} messages failed: {source}")]
    Mark {
        /// Messages whose outcome was not written.
        n_messages: usize,
        /// The last try's error.
        source: outbox_store::Error,
    },
}

impl Error {
    /// The store's error below.
    pub fn store(&self) -> &outbox_store::Error {
        match self {
            Self::Claim(source) | Self::Mark { source, .. } => source,
        }
    }
}

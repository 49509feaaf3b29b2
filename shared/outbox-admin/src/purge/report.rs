//! What a purge did, however it ended.

use outbox_store::Error;
use serde::Serialize;

/// What a purge did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PurgeReport {
    /// Messages deleted, but for those of a statement whose answer was lost.
    pub purged: u64,
    /// Messages written to the archive; more than were deleted, if some changed meanwhile or it ended between the two.
    pub archived: u64,
    /// Objects written to the archive.
    pub objects: u64,
    /// Whether nothing past its retention was left.
    pub drained: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// Why a purge ended before its time, and what it had done by then.
#[derive(Debug, thiserror::Error)]
#[error("{failure}")]
pub struct PurgeError {
    /// What it did; that stays done.
    pub report: PurgeReport,
    /// What ended it.
    pub failure: PurgeFailure,
}

/// What ended a purge.
#[derive(Debug, thiserror::Error)]
pub enum PurgeFailure {
    /// The database was not reached, or refused; or it went on failing for as long as there was time.
    #[error(transparent)]
    Store(#[from] Error),
    /// The archive did not take an object, so that none of its messages was deleted.
    #[error(transparent)]
    Archive(#[from] outbox_archive::Error),
}

impl PurgeReport {
    /// What a failed purge adds to its failure: `purged 4000 messages before that`.
    pub fn before_failure(&self) -> String {
        let plural = if self.purged == 1 { "" } else { "s" };
        match self.purged {
            0 => "nothing was purged".to_owned(),
            n_purged => format!("purged {n_purged} message{plural} before that"),
        }
    }
}

//! Purge: dispatched messages past their retention are deleted, by way of the archive if there is one.
//!
//! Each transaction is one bounded statement that waits for no row, so that a purge holds up neither a claim nor a
//! mark, and whatever ends it early leaves what it has done so far. A message is deleted only after the object that
//! holds it was acknowledged; between the two there is no transaction, and so a crash there leaves a copy in the
//! archive and nothing else. Called by the purge function and by `outbox purge`.

mod batch_size;
mod patience;
mod report;
mod run;

use std::time::Duration;

use outbox_archive::Archive;
use outbox_store::{Store, TimeLimits};

pub use report::{PurgeError, PurgeFailure, PurgeReport};
use run::Run;

/// What to purge, and how.
pub struct Purge<'a> {
    /// Where the messages are.
    pub store: &'a Store,
    /// How long a dispatched message is kept.
    pub retention: Duration,
    /// Most messages to delete with one statement.
    pub batch_size: u32,
    /// Where they are archived before they are deleted; `None` only deletes them.
    pub archive: Option<&'a Archive>,
}

impl Purge<'_> {
    /// Purges batch after batch until nothing is left, or the time is up. After each of them `progress` is told
    /// what has been done so far.
    ///
    /// What is archived is still deleted after `start_until`, and no object is begun for which, by the one before, the time
    /// does not suffice. Once anything was done, the end of the time is no failure, whatever was under way: the next purge
    /// goes on. A failure of the database that may pass is tried again within the time.
    ///
    /// # Errors
    /// [`PurgeError`] says why it ended, and what it had done by then. If the archive did not take an object, none of
    /// its messages is deleted.
    ///
    /// # Cancellation
    /// A dropped future leaves the batch in hand deleted or not; never deleted and not archived.
    pub async fn run(
        &self,
        limits: TimeLimits,
        progress: impl Fn(&PurgeReport),
    ) -> Result<PurgeReport, PurgeError> {
        let mut run = Run::new(self, limits);
        let end = run.until_drained(progress).await;
        run.report.duration_ms = milliseconds(run.started.elapsed());
        match end {
            Ok(()) => Ok(run.report),
            Err(failure) => Err(PurgeError { report: run.report, failure }),
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

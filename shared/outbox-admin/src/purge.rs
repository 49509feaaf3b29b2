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
use outbox_store::{EndedRun, Function, PurgeableCount, Store, TimeLimits};
use serde::Serialize;

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
    /// Who purges; what people see in `outbox.run`.
    pub run_by: &'a str,
}

/// What a purge would delete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PurgePreview {
    /// How many messages it would delete.
    pub matched: i64,
    /// Whether there are more than were counted.
    pub is_bounded: bool,
    /// The same by destination.
    pub destinations: Vec<PurgeableCount>,
    /// Where it would archive them first; absent if nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
}

/// A preview counts no further: a person learns no more from it. It takes two seconds on a busy machine.
const PREVIEWED: u32 = 1_000_000;

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
        self.write_down(&run.report, end.as_ref().err(), limits).await;
        match end {
            Ok(()) => Ok(run.report),
            Err(failure) => Err(PurgeError { report: run.report, failure }),
        }
    }

    /// Counts what a purge would delete. Deletes, archives and writes nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn preview(&self) -> Result<PurgePreview, outbox_store::Error> {
        self.store.check_version().await?;
        let destinations = self.store.purge_preview(self.retention, PREVIEWED).await?;
        let matched = destinations.iter().map(|of| of.messages).sum();
        Ok(PurgePreview {
            matched,
            is_bounded: matched >= i64::from(PREVIEWED),
            destinations,
            archive: self.archive.map(|archive| archive.location().to_string()),
        })
    }

    /// Leaves a row of the run, for `outbox status`. It is worth no failure, nor any time that is not there.
    async fn write_down(
        &self,
        report: &PurgeReport,
        failure: Option<&PurgeFailure>,
        limits: TimeLimits,
    ) {
        let error_code = match failure {
            Some(PurgeFailure::Store(error)) if error.leaves_nothing_to_write_to() => return,
            Some(PurgeFailure::Store(error)) => Some(error.code()),
            Some(PurgeFailure::Archive(error)) => Some(error.code()),
            None => None,
        };
        let run = EndedRun {
            function: Function::Purge,
            run_by: self.run_by,
            duration: Duration::from_millis(report.duration_ms),
            error_code,
            report,
        };
        if let Err(error) = limits.in_time(self.store.record_run(&run)).await {
            tracing::warn!(error.r#type = error.code(), "purge is not written down in outbox.run");
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

//! Purge: dispatched messages past their retention are deleted, by way of the archive if there is one.
//!
//! Each transaction is one bounded statement that waits for no row, so that a purge holds up neither a claim nor a
//! mark, and whatever ends it early leaves what it has done so far. A message is deleted only after the object that
//! holds it was acknowledged; between the two there is no transaction, and so a crash there leaves a copy in the
//! archive and nothing else. Called by the purge function and by `outbox purge`.

mod batch_size;
mod report;

use std::time::{Duration, Instant};

use outbox_archive::{Archive, Object, ObjectBuilder};
use outbox_store::{ArchivedRow, Error, PurgeableMessage, Store};

use batch_size::BatchSize;
pub use report::{PurgeError, PurgeFailure, PurgeReport};

/// Most messages of one object. They are read with one statement.
const OBJECT_MESSAGES: u32 = 10_000;

/// Most bytes of text in one object, before compression: what a run holds in memory, some two times.
const OBJECT_BYTES: u32 = 16 << 20;

/// How long one database failure after the other is put up with where there is no time limit: a fail-over takes one
/// or two minutes.
const PATIENCE: Duration = Duration::from_mins(2);

/// Pause after a failure; it doubles with each further one, up to the second number.
const PAUSE: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

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

/// How long a purge may take; without limits, until nothing is left.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeLimits {
    /// No batch is started after this moment, though the first always is; what is archived is still deleted.
    pub start_until: Option<Instant>,
    /// What is under way at this moment is given up.
    pub end_by: Option<Instant>,
}

impl Purge<'_> {
    /// Purges batch after batch until nothing is left, or the time is up. After each of them `progress` is told
    /// what has been done so far.
    ///
    /// Once it has begun, a failure of the database that may pass is tried again within the time.
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
        let end = run.to_the_end(progress).await;
        run.report.duration_ms = milliseconds(run.started.elapsed());
        match end {
            Ok(()) => Ok(run.report),
            Err(failure) => Err(PurgeError { report: run.report, failure }),
        }
    }
}

/// One run, with what it has done so far.
struct Run<'a> {
    purge: &'a Purge<'a>,
    limits: TimeLimits,
    started: Instant,
    batch_size: BatchSize,
    report: PurgeReport,
    /// In the archive, and not deleted yet.
    archived: Vec<ArchivedRow>,
    /// Whether any message of the latest object was deleted.
    got_further: bool,
}

/// What a step tells of the rest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// There may be more.
    More,
    /// Nothing past its retention is left.
    Drained,
    /// What is left is held by somebody, or changed by somebody or purged by another purge all the time.
    Stuck,
}

impl<'a> Run<'a> {
    fn new(purge: &'a Purge<'a>, limits: TimeLimits) -> Self {
        Self {
            purge,
            limits,
            started: Instant::now(),
            batch_size: BatchSize::up_to(purge.batch_size),
            report: PurgeReport::default(),
            archived: Vec::new(),
            got_further: true,
        }
    }

    async fn to_the_end(&mut self, progress: impl Fn(&PurgeReport)) -> Result<(), PurgeFailure> {
        self.in_time(self.purge.store.check_version()).await?;
        let (mut pause, mut failing_since) = (PAUSE[0], None);
        loop {
            match self.step().await {
                Ok(Step::More) => (pause, failing_since) = (PAUSE[0], None),
                Ok(step) => {
                    self.report.drained = step == Step::Drained;
                    return Ok(());
                }
                Err(PurgeFailure::Store(error)) if error.is_transient() => {
                    // It may have failed because it took too long.
                    self.batch_size.halve();
                    let give_up_at = *failing_since.get_or_insert_with(Instant::now) + PATIENCE;
                    let give_up_at = self.limits.start_until.unwrap_or(give_up_at);
                    if Instant::now() + pause >= give_up_at {
                        return Err(error.into());
                    }
                    tracing::warn!(error.r#type = error.code(), %error, "purge tries again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE[1]);
                    continue;
                }
                Err(failure) => return Err(failure),
            }
            progress(&self.report);
            let is_late = self.limits.start_until.is_some_and(|until| Instant::now() >= until);
            if is_late && self.archived.is_empty() {
                return Ok(());
            }
        }
    }

    /// One statement that deletes, and before it, once for each object, what it takes to archive.
    async fn step(&mut self) -> Result<Step, PurgeFailure> {
        let Some(archive) = self.purge.archive else { return Ok(self.delete().await?) };
        if self.archived.is_empty() {
            if !self.got_further {
                return Ok(Step::Stuck);
            }
            let messages = self.read().await?;
            if messages.is_empty() {
                return Ok(Step::Drained);
            }
            self.archive(archive, messages).await?;
        }
        self.delete_archived().await?;
        Ok(Step::More)
    }

    async fn delete(&mut self) -> Result<Step, Error> {
        let Purge { store, retention, .. } = *self.purge;
        let (n_asked, began) = (self.batch_size.get(), Instant::now());
        let n_deleted = self.in_time(store.purge(retention, n_asked)).await?;
        self.batch_size.took(began.elapsed());
        self.report.purged += n_deleted;
        Ok(if n_deleted < u64::from(n_asked) { Step::Drained } else { Step::More })
    }

    async fn read(&self) -> Result<Vec<PurgeableMessage>, Error> {
        let Purge { store, retention, .. } = *self.purge;
        self.in_time(store.purgeable(retention, OBJECT_MESSAGES, OBJECT_BYTES)).await
    }

    /// Writes an object. Only then are its messages to be deleted.
    async fn archive(
        &mut self,
        archive: &Archive,
        messages: Vec<PurgeableMessage>,
    ) -> Result<(), PurgeFailure> {
        let (object, rows) = object_of(messages);
        archive.put(object, self.time_left()).await?;
        self.report.objects += 1;
        self.report.archived += rows.len() as u64;
        (self.archived, self.got_further) = (rows, false);
        Ok(())
    }

    async fn delete_archived(&mut self) -> Result<(), Error> {
        let Purge { store, retention, .. } = *self.purge;
        let n_rows = self.archived.len().min(self.batch_size.get() as usize);
        let began = Instant::now();
        let deleted = store.purge_archived(retention, &self.archived[..n_rows]);
        let n_deleted = self.in_time(deleted).await?;
        self.batch_size.took(began.elapsed());
        self.archived.drain(..n_rows);
        self.report.purged += n_deleted;
        self.got_further |= n_deleted > 0;
        Ok(())
    }

    /// Gives a statement up when the time ends; what it was to do may have been done.
    async fn in_time<T>(
        &self,
        statement: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let time = self.time_left();
        tokio::time::timeout(time, statement).await.unwrap_or(Err(Error::Timeout(time)))
    }

    fn time_left(&self) -> Duration {
        let left = |end: Instant| end.saturating_duration_since(Instant::now());
        self.limits.end_by.map_or(Duration::MAX, left)
    }
}

/// The messages as an object, and what is to be deleted once it is written. Each message is let go as it is packed.
fn object_of(messages: Vec<PurgeableMessage>) -> (Object, Vec<ArchivedRow>) {
    let mut object = ObjectBuilder::new(&messages[0].dispatched_on);
    let mut rows = Vec::with_capacity(messages.len());
    for message in messages {
        object.push(message.id, &message).expect("a message is plain data, written to memory");
        rows.push(message.row());
    }
    let object = object.finish().expect("it is compressed in memory");
    (object.expect("there is a message"), rows)
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

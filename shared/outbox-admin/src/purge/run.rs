//! One run of the purge: a step is one statement that deletes, and what it takes to archive before it.

use std::time::{Duration, Instant};

use outbox_archive::{Archive, Object, ObjectBuilder};
use outbox_store::{ArchivedRow, Error, PurgeableMessage, TimeLimits};

use super::batch_size::BatchSize;
use super::patience::Patience;
use super::{Purge, PurgeFailure, PurgeReport};

/// Most messages of one object. They are read with one statement.
const OBJECT_MESSAGES: u32 = 10_000;

/// Most bytes of text in one object, before compression: what a run holds in memory, some two times.
const OBJECT_BYTES: u32 = 16 << 20;

/// One run, with what it has done so far.
pub(super) struct Run<'a> {
    purge: &'a Purge<'a>,
    limits: TimeLimits,
    pub(super) started: Instant,
    batch_size: BatchSize,
    pub(super) report: PurgeReport,
    /// In the archive, and not deleted yet.
    archived: Vec<ArchivedRow>,
    /// Whether any message of the latest object was deleted.
    got_further: bool,
    /// When the latest object was begun to be read, and how long the last one took until its messages were deleted.
    object_began: Instant,
    object_took: Duration,
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
    pub(super) fn new(purge: &'a Purge<'a>, limits: TimeLimits) -> Self {
        Self {
            purge,
            limits,
            started: Instant::now(),
            batch_size: BatchSize::up_to(purge.batch_size),
            report: PurgeReport::default(),
            archived: Vec::new(),
            got_further: true,
            object_began: Instant::now(),
            object_took: Duration::ZERO,
        }
    }

    /// Step after step, until nothing is left or the time is up.
    pub(super) async fn until_drained(
        &mut self,
        progress: impl Fn(&PurgeReport),
    ) -> Result<(), PurgeFailure> {
        self.limits.in_time(self.purge.store.check_version()).await?;
        // Else it would be tried again until the time is up, and end with an error that names no cause.
        self.limits.in_time(self.purge.store.check_takes_writes()).await?;
        let mut patience = Patience::until(self.limits.start_until);
        loop {
            match self.step().await {
                Ok(Step::More) => patience.is_restored(),
                Ok(step) => {
                    self.report.drained = step == Step::Drained;
                    return Ok(());
                }
                Err(failure) if self.is_over(&failure) => return Ok(()),
                Err(PurgeFailure::Store(error)) if error.is_transient() => {
                    // It may have failed because it took too long.
                    self.batch_size.halve();
                    patience.endure(error).await?;
                    continue;
                }
                Err(failure) => return Err(failure),
            }
            progress(&self.report);
            let is_enough = self.limits.is_late() || self.limits.is_too_short_for(self.object_took);
            if is_enough && self.archived.is_empty() {
                return Ok(());
            }
        }
    }

    /// Whether nothing failed but the time, after something was done. A run that got nothing done in all its time is a
    /// failure, as every further one would be the same.
    fn is_over(&self, failure: &PurgeFailure) -> bool {
        let is_late = match failure {
            PurgeFailure::Store(error) => matches!(error, Error::Timeout(_)),
            PurgeFailure::Archive(error) => error.is_timeout(),
        };
        is_late && self.limits.time_left().is_zero() && self.report.purged > 0
    }

    /// One statement that deletes, and before it, once for each object, what it takes to archive.
    async fn step(&mut self) -> Result<Step, PurgeFailure> {
        let Some(archive) = self.purge.archive else { return Ok(self.delete().await?) };
        if self.archived.is_empty() {
            if !self.got_further {
                return Ok(Step::Stuck);
            }
            self.object_began = Instant::now();
            let messages = self.read().await?;
            if messages.is_empty() {
                return Ok(Step::Drained);
            }
            self.archive(archive, messages).await?;
        }
        self.delete_archived().await?;
        if self.archived.is_empty() {
            self.object_took = self.object_began.elapsed();
        }
        Ok(Step::More)
    }

    async fn delete(&mut self) -> Result<Step, Error> {
        let Purge { store, retention, .. } = *self.purge;
        let (n_asked, began) = (self.batch_size.get(), Instant::now());
        let n_deleted = self.limits.in_time(store.purge(retention, n_asked)).await?;
        self.batch_size.took(began.elapsed());
        self.report.purged += n_deleted;
        Ok(if n_deleted < u64::from(n_asked) { Step::Drained } else { Step::More })
    }

    async fn read(&self) -> Result<Vec<PurgeableMessage>, Error> {
        let Purge { store, retention, .. } = *self.purge;
        self.limits.in_time(store.purgeable(retention, OBJECT_MESSAGES, OBJECT_BYTES)).await
    }

    /// Writes an object. Only then are its messages to be deleted.
    async fn archive(
        &mut self,
        archive: &Archive,
        messages: Vec<PurgeableMessage>,
    ) -> Result<(), PurgeFailure> {
        let (object, rows) = object_of(messages);
        archive.put(object, self.limits.time_left()).await?;
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
        let n_deleted = self.limits.in_time(deleted).await?;
        self.batch_size.took(began.elapsed());
        self.archived.drain(..n_rows);
        self.report.purged += n_deleted;
        self.got_further |= n_deleted > 0;
        Ok(())
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

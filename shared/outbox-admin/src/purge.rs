//! Purge: batch after batch, so that no transaction is long.

use std::time::Instant;

use outbox_lambda::settings::Purge;
use outbox_store::{Error, Store};
use serde::Serialize;

/// What a purge did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PurgeReport {
    /// Messages deleted.
    pub purged: u64,
    /// Whether nothing past its retention was left.
    pub drained: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// Until when a purge works.
#[derive(Clone, Copy, Debug)]
pub struct PurgeUntil {
    /// No batch is started after this, though the first always is.
    pub start: Instant,
    /// The batch in hand is given up; the database may still carry it out.
    pub answer: Instant,
}

/// Deletes dispatched messages past their retention until none is left, or until the time is up.
///
/// # Errors
/// [`Error`] of the batch that failed; those before it stay deleted.
///
/// # Cancellation
/// A dropped future leaves the batch in hand deleted or not.
pub async fn purge_until(
    store: &Store,
    settings: Purge,
    until: Option<PurgeUntil>,
) -> Result<PurgeReport, Error> {
    let started = Instant::now();
    let mut purged = 0;
    let drained = loop {
        let batch = store.purge(settings.retention, settings.batch_size);
        let n_deleted = match until {
            Some(until) => {
                let allowed = until.answer.saturating_duration_since(Instant::now());
                let in_time = tokio::time::timeout(allowed, batch).await;
                in_time.unwrap_or(Err(Error::Timeout(allowed)))?
            }
            None => batch.await?,
        };
        purged += n_deleted;
        if n_deleted < u64::from(settings.batch_size) {
            break true;
        }
        if until.is_some_and(|until| Instant::now() >= until.start) {
            break false;
        }
    };
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(PurgeReport { purged, drained, duration_ms })
}

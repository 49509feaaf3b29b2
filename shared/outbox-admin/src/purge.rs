//! Purge: batch after batch, so that no transaction is long.

use std::time::{Duration, Instant};

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

/// Deletes dispatched messages past their retention until none is left, or until that moment: no batch is
/// started after it, though the first always is.
///
/// # Errors
/// [`Error`] of the batch that failed; those before it stay deleted.
///
/// # Cancellation
/// A dropped future leaves the batch in hand deleted or not.
pub async fn purge_until(
    store: &Store,
    retention: Duration,
    batch_size: u32,
    until: Option<Instant>,
) -> Result<PurgeReport, Error> {
    let started = Instant::now();
    store.check_version().await?;
    let mut purged = 0;
    let drained = loop {
        let n_deleted = store.purge(retention, batch_size).await?;
        purged += n_deleted;
        if n_deleted < u64::from(batch_size) {
            break true;
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            break false;
        }
    };
    let duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(PurgeReport { purged, drained, duration_ms })
}

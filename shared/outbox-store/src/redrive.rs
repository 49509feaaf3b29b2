//! Redrive: dead messages become pending again, because a person says so.

use std::collections::HashMap;
use std::num::NonZeroU32;

use tokio_postgres::types::Type;

use crate::connection;
use crate::dead::Selection;
use crate::error::Error;
use crate::operation::{Batch, Done, Interrupted, Operation};
use crate::store::Store;
use crate::time_limits::TimeLimits;

/// A redrive as an operator asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redrive {
    /// Which dead messages.
    pub selection: Selection,
    /// How many messages of each destination fall due a second; all at once if `None`.
    pub rate: Option<NonZeroU32>,
    /// Whether each message gets a fresh message id. To every consumer it is then a message never seen before, copies that
    /// went out earlier notwithstanding; the audit keeps the old and the new id.
    pub new_dedup_id: bool,
    /// Who asks.
    pub actor: String,
    /// Why; kept in `outbox.audit`.
    pub reason: String,
}

impl Store {
    /// Makes dead messages pending again, with their attempts started anew. Identity, payload and group stay, so a consumer
    /// that has taken a copy before discards this one; but see [`Redrive::new_dedup_id`].
    ///
    /// A message that held its group is the group's head again. One whose group went on without it goes out after those
    /// that are dispatched by now; those of its group that are not wait for it, also for its time at a rate.
    /// A FIFO target discards a copy of its own accord within five minutes of the first.
    ///
    /// Messages that somebody redrives or discards at the same time are each taken by one of them.
    ///
    /// # Errors
    /// [`Interrupted`]: messages redriven by then stay so, with their rows in `outbox.audit`. The same redrive goes on with
    /// the rest, though its rate starts anew.
    ///
    /// # Cancellation
    /// A dropped future leaves the batch in hand redriven or not, and the rest dead.
    pub async fn redrive(&self, redrive: &Redrive) -> Result<Done, Interrupted> {
        self.redrive_within(redrive, TimeLimits::default()).await
    }

    /// The same within a time: no batch is begun too late, and one that is under way at the end is given up.
    ///
    /// # Errors
    /// As [`Store::redrive`], and with [`Error::OutOfTime`] or [`Error::Timeout`] if the time did not suffice.
    ///
    /// # Cancellation
    /// As [`Store::redrive`].
    pub async fn redrive_within(
        &self,
        redrive: &Redrive,
        limits: TimeLimits,
    ) -> Result<Done, Interrupted> {
        let mut operation = Operation::new(&redrive.selection, limits);
        let ended = self.redrive_all(redrive, &mut operation).await;
        operation.outcome(ended)
    }

    async fn redrive_all(
        &self,
        redrive: &Redrive,
        operation: &mut Operation<'_>,
    ) -> Result<(), Error> {
        operation.begin(self).await?;
        // By destination, because a rate spares the consumer of each.
        let mut n_before: HashMap<String, i64> = HashMap::new();
        while let Some(batch) = operation.next(self).await? {
            let n_before = n_before.entry(batch.destination.clone()).or_default();
            let n_messages = self.redrive_batch(redrive, operation, &batch, *n_before).await?;
            *n_before += n_messages;
            operation.n_messages += n_messages.unsigned_abs();
        }
        operation.end(self).await;
        Ok(())
    }

    async fn redrive_batch(
        &self,
        redrive: &Redrive,
        operation: &Operation<'_>,
        batch: &Batch,
        n_before: i64,
    ) -> Result<i64, Error> {
        let rate = redrive.rate.map(|rate| i32::try_from(rate.get()).unwrap_or(i32::MAX));
        let as_asked = operation.as_asked();
        let params = [
            (&batch.ids as _, Type::INT8_ARRAY),
            (&operation.began_us as _, Type::INT8),
            (&rate as _, Type::INT4),
            (&n_before as _, Type::INT8),
            (&redrive.new_dedup_id as _, Type::BOOL),
            (&redrive.actor as _, Type::TEXT),
            (&as_asked as _, Type::JSONB),
            (&redrive.reason as _, Type::TEXT),
        ];
        let batch = connection::guarded(&self.pool, [(&self.sql.redrive, &params)]);
        let [rows] = operation.limits.in_time(batch).await?;
        Ok(rows[0].get("n_messages"))
    }
}

//! Discard: dead messages are deleted for good, because a person says so.

use tokio_postgres::types::Type;

use crate::connection;
use crate::dead::Selection;
use crate::error::Error;
use crate::operation::{Batch, Done, Interrupted, Operation};
use crate::store::Store;
use crate::time_limits::TimeLimits;

/// A discard as an operator asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discard {
    /// Which dead messages.
    pub selection: Selection,
    /// Who asks.
    pub actor: String,
    /// Why; kept in `outbox.audit`.
    pub reason: String,
}

impl Store {
    /// Deletes dead messages for good; nothing but their message ids is kept, in `outbox.audit`. A group that one of them
    /// held goes on.
    ///
    /// Messages that somebody redrives or discards at the same time are each taken by one of them.
    ///
    /// # Errors
    /// [`Interrupted`]: messages discarded by then are gone, with their rows in `outbox.audit`. The same discard goes on with
    /// the rest.
    ///
    /// # Cancellation
    /// A dropped future leaves the batch in hand discarded or not, and the rest dead.
    pub async fn discard(&self, discard: &Discard) -> Result<Done, Interrupted> {
        self.discard_within(discard, TimeLimits::default()).await
    }

    /// The same within a time: no batch is begun too late, and one that is under way at the end is given up.
    ///
    /// # Errors
    /// As [`Store::discard`], and with [`Error::OutOfTime`] or [`Error::Timeout`] if the time did not suffice.
    ///
    /// # Cancellation
    /// As [`Store::discard`].
    pub async fn discard_within(
        &self,
        discard: &Discard,
        limits: TimeLimits,
    ) -> Result<Done, Interrupted> {
        let mut operation = Operation::new(&discard.selection, limits);
        let ended = self.discard_all(discard, &mut operation).await;
        operation.outcome(ended)
    }

    async fn discard_all(
        &self,
        discard: &Discard,
        operation: &mut Operation<'_>,
    ) -> Result<(), Error> {
        operation.begin(self).await?;
        while let Some(batch) = operation.next(self).await? {
            operation.n_messages += self.discard_batch(discard, operation, &batch).await?;
        }
        operation.end(self).await;
        Ok(())
    }

    async fn discard_batch(
        &self,
        discard: &Discard,
        operation: &Operation<'_>,
        batch: &Batch,
    ) -> Result<u64, Error> {
        let as_asked = operation.as_asked();
        let params = [
            (&batch.ids as _, Type::INT8_ARRAY),
            (&operation.began_us as _, Type::INT8),
            (&discard.actor as _, Type::TEXT),
            (&as_asked as _, Type::JSONB),
            (&discard.reason as _, Type::TEXT),
        ];
        let batch = connection::guarded(&self.pool, [(&self.sql.discard, &params)]);
        let [rows] = operation.limits.in_time(batch).await?;
        Ok(rows[0].get::<_, i64>("n_messages").unsigned_abs())
    }
}

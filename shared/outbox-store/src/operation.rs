//! An operation on dead messages: batch after batch, each a transaction of its own with its own row in the audit, so that
//! no transaction is long and what the audit says is true whenever the operation ends.
//!
//! ```text
//! begin: the database's time ──▶ next batch: look, lock nothing ──▶ redrive.sql or discard.sql: lock, look again, do
//!                                      ▲                                                       │
//!                                      └────────────────── until nothing is left ──────────────┘
//! ```
//!
//! What dies after the beginning is left, so that an operation ends although what it redrives may die again.

use std::collections::VecDeque;

use serde_json::Value;
use thiserror::Error as ThisError;
use uuid::Uuid;

use crate::dead::{DeadCount, Deaths, Selection};
use crate::error::Error;
use crate::store::Store;
use crate::time_limits::TimeLimits;

/// Most messages of one transaction: 0.2 s of work for the server.
const BATCH_SIZE: usize = 5_000;

/// What an operation on dead messages did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Which it was: `outbox.audit` has it in the `selection` of each row.
    pub operation: Uuid,
    /// Messages that it changed.
    pub n_messages: u64,
    /// Messages that match and are dead as before: somebody else held their rows. Again, and they are taken too. `None` if
    /// they could not be counted, in time or at all.
    pub n_skipped: Option<u64>,
}

/// An operation that failed before its end, or ran out of time. What it had done by then stays done, and is in the audit.
#[derive(Debug, ThisError)]
#[error("{source}")]
pub struct Interrupted {
    /// Which it was.
    pub operation: Uuid,
    /// Messages that it had changed, those of the failed batch aside.
    pub n_messages: u64,
    /// What it failed at; its batch is done or not after [`Error::Timeout`] or a lost connection, else not.
    /// [`Error::OutOfTime`] if there was no time for another.
    pub source: Error,
}

/// Dead messages of one destination.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) destination: String,
    /// In ascending order.
    pub(crate) ids: Vec<i64>,
}

/// An operation under way.
#[derive(Debug)]
pub(crate) struct Operation<'a> {
    selection: &'a Selection,
    pub(crate) limits: TimeLimits,
    id: Uuid,
    /// Of the database's clock.
    pub(crate) began_us: i64,
    waiting: VecDeque<Batch>,
    /// Where the last look ended; `None` if there is nothing to look for any more.
    place: Option<(String, i64)>,
    pub(crate) n_messages: u64,
    n_skipped: Option<u64>,
}

impl<'a> Operation<'a> {
    pub(crate) fn new(selection: &'a Selection, limits: TimeLimits) -> Self {
        Self {
            selection,
            limits,
            id: Uuid::new_v4(),
            began_us: 0,
            waiting: VecDeque::new(),
            place: Some((String::new(), 0)),
            n_messages: 0,
            n_skipped: None,
        }
    }

    /// The selection as asked and the operation's id, for the audit.
    pub(crate) fn as_asked(&self) -> Value {
        let mut asked = serde_json::to_value(self.selection).expect("a selection is plain data");
        asked["operation"] = self.id.to_string().into();
        asked
    }

    pub(crate) async fn begin(&mut self, store: &Store) -> Result<(), Error> {
        self.began_us = self.limits.in_time(store.now_us()).await?;
        Ok(())
    }

    /// The next batch; `None` if nothing is left.
    ///
    /// # Errors
    /// [`Error::OutOfTime`] if it is too late for it, though one that gets something done is always begun.
    pub(crate) async fn next(&mut self, store: &Store) -> Result<Option<Batch>, Error> {
        if self.waiting.is_empty()
            && let Some((destination, id)) = self.place.take()
        {
            let (selection, deaths) = (self.selection, self.deaths());
            let found = if let Some(ids) = &selection.ids {
                self.limits.in_time(store.dead_among(selection, deaths, ids)).await?
            } else {
                let after = (destination.as_str(), id);
                self.limits.in_time(store.next_dead(selection, deaths, after, BATCH_SIZE)).await?
            };
            // Ids are looked up all at once; of others there may be more where as many were found as asked for.
            let has_more = self.selection.ids.is_none() && found.len() == BATCH_SIZE;
            self.place = found.last().filter(|_| has_more).cloned();
            self.waiting = batches(found);
        }
        let is_late = self.n_messages > 0 && self.limits.is_late();
        match self.waiting.pop_front() {
            Some(_) if is_late => Err(Error::OutOfTime),
            next => Ok(next),
        }
    }

    /// Looks how many were passed over. What is done is done, whether or not they can be counted: that reads every dead
    /// message of the selection, and may take too long.
    pub(crate) async fn end(&mut self, store: &Store) {
        let left = self.limits.in_time(store.count_dead(self.selection, self.deaths())).await;
        let n_left = |left: Vec<DeadCount>| left.iter().map(|c| c.messages.unsigned_abs()).sum();
        self.n_skipped = left.ok().map(n_left);
    }

    pub(crate) fn outcome(self, ended: Result<(), Error>) -> Result<Done, Interrupted> {
        let Self { id: operation, n_messages, n_skipped, .. } = self;
        match ended {
            Ok(()) => Ok(Done { operation, n_messages, n_skipped }),
            Err(source) => Err(Interrupted { operation, n_messages, source }),
        }
    }

    fn deaths(&self) -> Deaths {
        self.selection.deaths(self.began_us)
    }
}

/// Cuts what was found into batches, each of one destination. It is in order of destination and id.
fn batches(found: Vec<(String, i64)>) -> VecDeque<Batch> {
    let mut batches: VecDeque<Batch> = VecDeque::new();
    for (destination, id) in found {
        match batches.back_mut() {
            Some(batch) if batch.destination == destination && batch.ids.len() < BATCH_SIZE => {
                batch.ids.push(id);
            }
            _ => batches.push_back(Batch { destination, ids: vec![id] }),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_one_destination_and_is_bounded() {
        let found = (1..=5_001).map(|id| ("events".to_owned(), id));
        let batches = batches(found.chain([("orders".to_owned(), 3)]).collect());
        let cut: Vec<_> = batches.iter().map(|b| (b.destination.as_str(), b.ids.len())).collect();
        assert_eq!(cut, [("events", 5_000), ("events", 1), ("orders", 1)]);
        assert_eq!(batches[1].ids, [5_001]);
    }
}

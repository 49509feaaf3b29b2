//! Mark: write what became of claimed messages, where the claim still holds them.

use std::collections::HashSet;
use std::time::Duration;

use outbox::{ClaimToken, Mark};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::connection::{self, Param, milliseconds};
use crate::error::Error;
use crate::store::Store;

/// No wait is longer: an interval added to a time must stay within Postgres's calendar.
const LONGEST_DELAY: Duration = Duration::from_hours(10 * 365 * 24);

/// The marks of one claim, sorted into the statements that write them.
#[derive(Debug, Default)]
pub struct Marks {
    marks: Vec<(i64, Mark)>,
}

/// How many messages were marked how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Accepted by the broker.
    pub dispatched: u64,
    /// Waiting for another attempt.
    pub retried: u64,
    /// Given up.
    pub dead: u64,
    /// Handed back unsent.
    pub released: u64,
    /// Not marked: the claim holds them no longer.
    pub fenced: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.dispatched += other.dispatched;
        self.retried += other.retried;
        self.dead += other.dead;
        self.released += other.released;
        self.fenced += other.fenced;
    }
}

impl Marks {
    /// Adds the mark of one message.
    pub fn push(&mut self, id: i64, mark: Mark) {
        self.marks.push((id, mark));
    }

    /// How many messages are to be marked.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Adds all marks of another.
    pub fn append(&mut self, mut other: Self) {
        self.marks.append(&mut other.marks);
    }

    /// Takes out the marks of all messages but these.
    #[must_use]
    pub fn split_off_all_but(&mut self, ids: &HashSet<i64>) -> Self {
        let (kept, taken) =
            std::mem::take(&mut self.marks).into_iter().partition(|(id, _)| ids.contains(id));
        self.marks = kept;
        Self { marks: taken }
    }

    /// Whether there is nothing to mark.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }
}

impl Extend<(i64, Mark)> for Marks {
    fn extend<I: IntoIterator<Item = (i64, Mark)>>(&mut self, marks: I) {
        self.marks.extend(marks);
    }
}

impl Store {
    /// Writes all marks of a claim in one transaction. A message that another relay has claimed since, or that is
    /// finished, is left alone and counted as fenced.
    ///
    /// Calling it again with the same marks, after an error that leaves open whether they were written, counts
    /// what the first call wrote and changes nothing.
    ///
    /// # Errors
    /// See [`Error`]; nothing is marked, or everything.
    ///
    /// # Cancellation
    /// A dropped future leaves everything marked, or nothing.
    pub async fn mark(&self, token: ClaimToken, marks: &Marks) -> Result<Tally, Error> {
        let columns = Columns::from(marks);
        let token = token.as_uuid();
        let Columns { dispatched, retried, dead, released } = &columns;
        // Statements without rows are sent all the same: they cost less than a second way through here.
        let params: [&[Param<'_>]; 4] = [
            &[
                (&token, Type::UUID),
                (&dispatched.ids, Type::INT8_ARRAY),
                (&dispatched.broker_message_ids, Type::TEXT_ARRAY),
            ],
            &[
                (&token, Type::UUID),
                (&retried.ids, Type::INT8_ARRAY),
                (&retried.delays_ms, Type::INT8_ARRAY),
                (&retried.give_attempt_back, Type::BOOL_ARRAY),
                (&retried.codes, Type::TEXT_ARRAY),
                (&retried.errors, Type::TEXT_ARRAY),
            ],
            &[
                (&token, Type::UUID),
                (&dead.ids, Type::INT8_ARRAY),
                (&dead.reasons, Type::TEXT_ARRAY),
                (&dead.codes, Type::TEXT_ARRAY),
                (&dead.errors, Type::TEXT_ARRAY),
                (&dead.hold_group, Type::BOOL_ARRAY),
            ],
            &[(&token, Type::UUID), (&released.ids, Type::INT8_ARRAY)],
        ];
        let sql = &self.sql;
        // Dead and retried come before released: until they are written, their followers stay behind them.
        let marked = connection::guarded(
            &self.pool,
            [
                (&sql.mark_dispatched, params[0]),
                (&sql.mark_retry, params[1]),
                (&sql.mark_dead, params[2]),
                (&sql.release, params[3]),
            ],
        )
        .await?;
        let [n_dispatched, n_retried, n_dead, n_released] = marked.map(|rows| n_distinct(&rows));
        Ok(Tally {
            dispatched: n_dispatched,
            retried: n_retried,
            dead: n_dead,
            released: n_released,
            fenced: marks.marks.len() as u64 - n_dispatched - n_retried - n_dead - n_released,
        })
    }
}

impl Store {
    /// Of the messages to be marked, those whose rows nobody else has locked at this moment. One row that somebody holds
    /// fails the mark of all ([`Error::is_lock_timeout`]).
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn unlocked(&self, marks: &Marks) -> Result<HashSet<i64>, Error> {
        let ids: Vec<i64> = marks.marks.iter().map(|(id, _)| *id).collect();
        let params = [(&ids as _, Type::INT8_ARRAY)];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.unlocked, &params)]).await?;
        Ok(rows.iter().map(|row| row.get("id")).collect())
    }

    /// Writes to a claimed message's row that it is about to be sent alone, where this claim still holds it. A claim that
    /// finds this after another lost one knows that it was the message.
    ///
    /// # Errors
    /// See [`Error`]; the row is as it was, or announced.
    pub async fn isolate(&self, token: ClaimToken, id: i64) -> Result<(), Error> {
        let params = [(&token.as_uuid() as _, Type::UUID), (&id as _, Type::INT8)];
        connection::guarded(&self.pool, [(&self.sql.isolate, &params)]).await?;
        Ok(())
    }
}

fn n_distinct(rows: &[Row]) -> u64 {
    rows.iter().map(|row| row.get::<_, i64>("id")).collect::<HashSet<_>>().len() as u64
}

/// The marks as the arrays that the statements take, each in ascending order of ids: all marks lock rows in one
/// order, so that two of them can't wait for each other.
#[derive(Default)]
struct Columns<'a> {
    dispatched: Dispatched<'a>,
    retried: Retried<'a>,
    dead: Dead<'a>,
    released: Released,
}

#[derive(Default)]
struct Dispatched<'a> {
    ids: Vec<i64>,
    broker_message_ids: Vec<&'a str>,
}

#[derive(Default)]
struct Retried<'a> {
    ids: Vec<i64>,
    delays_ms: Vec<i64>,
    give_attempt_back: Vec<bool>,
    codes: Vec<&'a str>,
    errors: Vec<&'a str>,
}

#[derive(Default)]
struct Dead<'a> {
    ids: Vec<i64>,
    reasons: Vec<&'static str>,
    codes: Vec<&'a str>,
    errors: Vec<&'a str>,
    hold_group: Vec<bool>,
}

#[derive(Default)]
struct Released {
    ids: Vec<i64>,
}

impl<'a> From<&'a Marks> for Columns<'a> {
    fn from(marks: &'a Marks) -> Self {
        let mut in_order: Vec<&(i64, Mark)> = marks.marks.iter().collect();
        in_order.sort_unstable_by_key(|(id, _)| *id);
        let mut columns = Self::default();
        for (id, mark) in in_order {
            columns.push(*id, mark);
        }
        columns
    }
}

impl<'a> Columns<'a> {
    fn push(&mut self, id: i64, mark: &'a Mark) {
        match mark {
            Mark::Dispatched { broker_message_id } => {
                self.dispatched.ids.push(id);
                self.dispatched.broker_message_ids.push(broker_message_id);
            }
            Mark::Retry { delay, gives_attempt_back, code, detail } => {
                self.retried.ids.push(id);
                self.retried.delays_ms.push(milliseconds((*delay).min(LONGEST_DELAY)));
                self.retried.give_attempt_back.push(*gives_attempt_back);
                self.retried.codes.push(code);
                self.retried.errors.push(detail);
            }
            Mark::Dead { reason, code, detail, holds_group } => {
                self.dead.ids.push(id);
                self.dead.reasons.push(reason.as_str());
                self.dead.codes.push(code);
                self.dead.errors.push(detail);
                self.dead.hold_group.push(*holds_group);
            }
            Mark::Released => self.released.ids.push(id),
        }
    }
}

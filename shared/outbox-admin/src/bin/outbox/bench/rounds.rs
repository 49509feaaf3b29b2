//! The rounds: the same messages through the statements alone and through the whole relay, in turns.

use std::time::{Duration, Instant};

use outbox::{Destination, Destinations, RunPolicy, Target};
use outbox_relay::Relay;
use outbox_store::{Bench, Error, Store, Written};
use tokio_util::sync::CancellationToken;

use super::load::{Load, payload};
use super::null::Null;
use super::progress::Progress;
use super::statements::{DESTINATION, Statements, claim_and_mark};

/// How often the way to the server is timed.
const ROUND_TRIPS: usize = 50;

/// What the rounds are made on.
pub(crate) struct Bed<'a> {
    pub(crate) bench: &'a mut Bench,
    pub(crate) store: Store,
    pub(crate) load: Load,
    pub(crate) policy: RunPolicy,
    pub(crate) stop: &'a CancellationToken,
    pub(crate) progress: Progress,
}

/// What was measured.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) round_trips: Vec<Duration>,
    pub(crate) rounds: Vec<Round>,
}

/// One round.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) database: Drained,
    pub(crate) claims: Vec<Duration>,
    pub(crate) marks: Vec<Duration>,
    /// Transactions of others that have written beside the database's part; `None` if the server does not tell.
    pub(crate) other_transactions: Option<u64>,
    pub(crate) relay: Drained,
}

/// Messages sent through, and what that took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drained {
    pub(crate) dispatched: u64,
    pub(crate) time: Duration,
    /// Of the whole server; `None` if it does not tell.
    pub(crate) wal_bytes: Option<u64>,
}

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Ended {
    Store(Error),
    Relay(outbox_relay::Error),
    /// By a signal.
    Stopped,
    /// Messages are not where they should be, so the figures mean nothing.
    Incomplete {
        dispatched: u64,
        what: &'static str,
    },
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl Bed<'_> {
    /// Makes the schema, and measures in it. It is not dropped here, but nobody uses it any more at the end.
    pub(crate) async fn measure(self) -> Result<Measured, Ended> {
        self.bench.create().await?;
        let payload = payload(self.load.payload_bytes);
        let relay = self.relay();
        let mut measured =
            Measured { round_trips: self.round_trips().await?, ..Measured::default() };
        self.warm_up(&relay, &payload).await?;
        for number in 1..=self.load.rounds {
            let of = format!("round {number} of {}", self.load.rounds);
            // Who comes first changes, so that a load which grows or falls favours neither.
            let relay_first = if number % 2 == 0 {
                Some(self.through_relay(&relay, &payload, &of).await?)
            } else {
                None
            };
            let (database, done, other_transactions) = self.alone(&payload, &of).await?;
            let relay = match relay_first {
                Some(drained) => drained,
                None => self.through_relay(&relay, &payload, &of).await?,
            };
            let (claims, marks) = (done.claims, done.marks);
            measured.rounds.push(Round { database, claims, marks, other_transactions, relay });
        }
        Ok(measured)
    }

    fn relay(&self) -> Relay<Null> {
        let queue = if self.load.groups == 0 { "bench" } else { "bench.fifo" };
        let target = Target::parse(&format!("arn:aws:sqs:us-east-1:000000000000:{queue}"));
        let target = target.expect("it is the ARN of a queue");
        let destinations: Destinations =
            [Destination::new(DESTINATION.to_owned(), target)].into_iter().collect();
        let publisher = Null { progress: self.progress.bar() };
        let claimed_by = "outbox bench".to_owned();
        Relay::new(self.store.clone(), publisher, destinations, self.policy.clone(), claimed_by)
    }

    async fn round_trips(&self) -> Result<Vec<Duration>, Ended> {
        let mut times = Vec::with_capacity(ROUND_TRIPS);
        while times.len() < ROUND_TRIPS {
            let started = Instant::now();
            self.bench.round_trip().await?;
            times.push(started.elapsed());
            self.go_on()?;
        }
        Ok(times)
    }

    /// A batch through both, so that neither pays for new connections and for what the server reads for the first time.
    async fn warm_up(&self, relay: &Relay<Null>, payload: &str) -> Result<(), Ended> {
        self.progress.tell("warming up");
        let few = Load { messages: self.load.batch_size.min(self.load.messages), ..self.load };
        let hidden = Progress::hidden();
        for _ in 0..2 {
            self.fill(few.messages, payload, &hidden).await?;
            let lease = self.policy.lease;
            claim_and_mark(&self.store, &few, lease, self.stop, &hidden).await?;
            self.fill(few.messages, payload, &hidden).await?;
            relay.run(None, self.stop).await.map_err(Ended::Relay)?;
            self.bench.empty().await?;
            self.go_on()?;
        }
        Ok(())
    }

    /// The statements alone.
    async fn alone(
        &self,
        payload: &str,
        of: &str,
    ) -> Result<(Drained, Statements, Option<u64>), Ended> {
        self.fill_anew(payload, of).await?;
        self.progress.tell(&format!("{of}: database alone"));
        let before = self.bench.written().await?;
        let started = Instant::now();
        let done =
            claim_and_mark(&self.store, &self.load, self.policy.lease, self.stop, &self.progress)
                .await?;
        let time = started.elapsed();
        let after = self.bench.written().await?;
        self.check(done.dispatched, "the database alone")?;

        let others = before.zip(after).map(|(before, after)| {
            let all = after.next_transaction - before.next_transaction;
            u64::try_from(all - done.transactions).unwrap_or(0)
        });
        let drained =
            Drained { dispatched: done.dispatched, time, wal_bytes: wal_bytes(before, after) };
        Ok((drained, done, others))
    }

    /// The whole relay.
    async fn through_relay(
        &self,
        relay: &Relay<Null>,
        payload: &str,
        of: &str,
    ) -> Result<Drained, Ended> {
        self.fill_anew(payload, of).await?;
        self.progress.tell(&format!("{of}: relay"));
        let before = self.bench.written().await?;
        let started = Instant::now();
        let report = relay.run(None, self.stop).await.map_err(Ended::Relay)?;
        let time = started.elapsed();
        let after = self.bench.written().await?;
        self.check(report.dispatched, "the relay")?;
        Ok(Drained { dispatched: report.dispatched, time, wal_bytes: wal_bytes(before, after) })
    }

    /// An empty table, and the round's messages in it.
    async fn fill_anew(&self, payload: &str, of: &str) -> Result<(), Ended> {
        self.progress.tell(&format!("{of}: filling"));
        self.bench.empty().await?;
        self.fill(self.load.messages, payload, &self.progress).await
    }

    async fn fill(&self, n_messages: u32, payload: &str, progress: &Progress) -> Result<(), Ended> {
        let (all, at_once) = (i64::from(n_messages), i64::from(self.load.fill_messages()));
        let mut first = 1;
        while first <= all {
            let last = all.min(first + at_once - 1);
            self.bench.fill(first..=last, self.load.groups, payload).await?;
            progress.add((last - first + 1).unsigned_abs());
            first = last + 1;
            self.go_on()?;
        }
        Ok(())
    }

    fn go_on(&self) -> Result<(), Ended> {
        if self.stop.is_cancelled() { Err(Ended::Stopped) } else { Ok(()) }
    }

    fn check(&self, dispatched: u64, what: &'static str) -> Result<(), Ended> {
        self.go_on()?;
        if dispatched != u64::from(self.load.messages) {
            return Err(Ended::Incomplete { dispatched, what });
        }
        Ok(())
    }
}

fn wal_bytes(before: Option<Written>, after: Option<Written>) -> Option<u64> {
    let bytes = after?.wal_bytes - before?.wal_bytes;
    u64::try_from(bytes).ok()
}

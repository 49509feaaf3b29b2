//! The database alone: the statements of a claim and a mark, one after another, on one connection at a time.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use outbox::Mark;
use outbox_store::{Error, GroupQuota, GroupsFrom, Marks, Quota, Store, Terms, Wanted};
use tokio_util::sync::CancellationToken;

use super::load::Load;
use super::null::broker_message_id;
use super::progress::Progress;

pub(crate) const DESTINATION: &str = "bench";

/// As the relay claims what it has no suspicion of.
const LOST_CLAIMS: RangeInclusive<i32> = 0..=1;

/// Groups visited in one look, as by the relay.
const VISITED: u32 = 2_000;

/// What was done, and how long each statement took.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    pub(crate) dispatched: u64,
    /// Where there are groups, a claim includes the look for those that are free.
    pub(crate) claims: Vec<Duration>,
    pub(crate) marks: Vec<Duration>,
    /// Transactions that have written.
    pub(crate) transactions: i64,
}

/// Claims and marks until everything is dispatched, until a claim finds nothing, or until stopped.
pub(crate) async fn claim_and_mark(
    store: &Store,
    load: &Load,
    lease: Duration,
    stop: &CancellationToken,
    progress: &Progress,
) -> Result<Statements, Error> {
    let terms = Terms { lease, claimed_by: "outbox bench" };
    let mut done = Statements::default();
    let mut groups = Groups::default();
    while done.dispatched < u64::from(load.messages) && !stop.is_cancelled() {
        let started = Instant::now();
        let wanted = match load.groups {
            0 => ungrouped(load.batch_size),
            _ => groups.wanted(store, load.batch_size).await?,
        };
        let claim = store.claim(&wanted, LOST_CLAIMS, terms).await?;
        if claim.messages.is_empty() {
            break;
        }
        done.claims.push(started.elapsed());

        let marks = claim.messages.iter().map(|message| {
            (message.id, Mark::Dispatched { broker_message_id: broker_message_id() })
        });
        let mut all = Marks::default();
        all.extend(marks);
        let started = Instant::now();
        let tally = store.mark(claim.token, &all).await?;
        done.marks.push(started.elapsed());
        done.dispatched += tally.dispatched;
        done.transactions += 2;
        progress.add(tally.dispatched);
    }
    Ok(done)
}

fn ungrouped(n_messages: u32) -> Wanted {
    let quota = Quota { destination: DESTINATION.to_owned(), n_messages };
    Wanted { ungrouped: vec![quota], ..Wanted::default() }
}

/// The groups that are known to be free, and where to look for more.
#[derive(Default)]
struct Groups {
    free: VecDeque<String>,
    from: String,
}

impl Groups {
    /// The next batch, shared among the groups that are known; nothing if none is free any more.
    async fn wanted(&mut self, store: &Store, batch_size: u32) -> Result<Wanted, Error> {
        if self.free.is_empty() {
            self.look(store).await?;
        }
        let n_groups = u32::try_from(self.free.len()).unwrap_or(u32::MAX).min(batch_size);
        let n_messages = batch_size / n_groups.max(1);
        let groups = self.free.drain(..n_groups as usize).map(|message_group| GroupQuota {
            destination: DESTINATION.to_owned(),
            message_group,
            n_messages,
        });
        Ok(Wanted { groups: groups.collect(), ..Wanted::default() })
    }

    /// Looks on from the last group visited, and after the end from the first.
    async fn look(&mut self, store: &Store) -> Result<(), Error> {
        let is_from_first = self.from.is_empty();
        self.visit(store).await?;
        if self.free.is_empty() && !is_from_first {
            self.from.clear();
            self.visit(store).await?;
        }
        Ok(())
    }

    async fn visit(&mut self, store: &Store) -> Result<(), Error> {
        let from = GroupsFrom { destination: DESTINATION.to_owned(), group: self.from.clone() };
        let visited = store.groups(&[from], VISITED).await?;
        let last = visited.iter().map(|visited| &visited.message_group).max();
        // No text lies between one and the same with U+0001 behind it.
        self.from = last.map(|last| format!("{last}\u{1}")).unwrap_or_default();
        let is_free = visited.into_iter().filter(|visited| visited.lost_claims.is_some());
        self.free.extend(is_free.map(|visited| visited.message_group));
        Ok(())
    }
}

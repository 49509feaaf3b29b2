//! The relay and its run.

use std::time::{Duration, Instant};

use outbox::{Destinations, RunPolicy};
use outbox_publish::Publish;
use outbox_store::{Claim, Marks, Store, Tally};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::cutoff::Cutoff;
use crate::error::Error;
use crate::health::Health;
use crate::quota::share;
use crate::report::RunReport;

/// The engine: built once, run many times. Several may run at once, in one process or in many.
pub struct Relay<P> {
    pub(crate) store: Store,
    pub(crate) publisher: P,
    pub(crate) destinations: Destinations,
    pub(crate) policy: RunPolicy,
    claimed_by: String,
    version_checked: OnceCell<()>,
}

/// What a run carries along.
struct Run<'a> {
    deadline: Option<Instant>,
    stop: &'a CancellationToken,
    /// The destinations that the next claim asks for.
    destinations: Vec<String>,
    health: Health,
    report: RunReport,
}

impl<P: Publish> Relay<P> {
    /// A relay; nothing is connected yet. `claimed_by` is what people see on claimed rows.
    pub fn new(
        store: Store,
        publisher: P,
        destinations: Destinations,
        policy: RunPolicy,
        claimed_by: String,
    ) -> Self {
        let version_checked = OnceCell::new();
        Self { store, publisher, destinations, policy, claimed_by, version_checked }
    }

    /// Publishes what is due until nothing is left (and then polls on for the policy's linger time), until the margin
    /// before `deadline`, or until `stop`. Logs and returns the report.
    ///
    /// # Errors
    /// [`Error`], when the database could not be used. Messages that the broker had accepted and that could not be
    /// marked go out again after the lease, with the same ids.
    ///
    /// # Cancellation
    /// Use `stop`: requests in flight are awaited and marked, the rest is released. A dropped future leaves what was
    /// claimed to its lease, and what was sent to go out again.
    pub async fn run(
        &self,
        deadline: Option<Instant>,
        stop: &CancellationToken,
    ) -> Result<RunReport, Error> {
        let started = Instant::now();
        let (destinations, health) = (Vec::new(), Health::default());
        let mut run = Run { deadline, stop, destinations, health, report: RunReport::default() };
        self.version_checked
            .get_or_try_init(|| self.store.check_version())
            .await
            .map_err(Error::Claim)?;

        let linger_until = started + self.policy.linger;
        loop {
            run.report.drained = self.drain(&mut run).await?;
            let next_poll = Instant::now() + self.policy.poll;
            if next_poll >= linger_until || !self.pause_until(next_poll, &run).await {
                break;
            }
        }

        run.report.oldest_due_seconds = self.oldest_due_seconds().await;
        run.report.took(started.elapsed());
        run.report.log();
        Ok(run.report)
    }

    /// Claims, sends and marks until a claim with nothing in flight comes back empty: `true`. Or until the run's time
    /// is up, or what is left is for resting destinations only: `false`.
    async fn drain(&self, run: &mut Run<'_>) -> Result<bool, Error> {
        let mut claimed = None;
        loop {
            let claim = match claimed.take() {
                Some(claim) => claim,
                None if self.is_over(run) => return Ok(false),
                None => match self.claim_anew(run).await? {
                    Some(claim) => claim,
                    None => return Ok(run.destinations.is_empty()),
                },
            };
            claimed = self.dispatch_and_claim_ahead(run, claim).await?;
        }
    }

    /// Asks which destinations have something due, and claims of those. `None` if there is nothing to claim, which
    /// leaves in `run.destinations` those that have something due and rest.
    async fn claim_anew(&self, run: &mut Run<'_>) -> Result<Option<Claim>, Error> {
        let due = self.store.due().await.map_err(Error::Claim)?;
        let now = Instant::now();
        let (resting, mut destinations): (Vec<String>, Vec<String>) = due
            .into_iter()
            .map(|due| due.destination)
            .partition(|name| run.health.is_resting(name, now));
        // With more destinations than messages in a batch, everyone gets its turn in the long run.
        let first = fastrand::usize(..destinations.len().max(1));
        destinations.rotate_left(first);
        run.destinations = destinations;
        let claim = self.claim(&mut run.destinations).await?;
        if claim.is_none() {
            run.destinations = resting;
        }
        Ok(claim)
    }

    /// Claims a batch, and drops those destinations from the list that had less than their share. `None` if there was
    /// nothing.
    async fn claim(&self, destinations: &mut Vec<String>) -> Result<Option<Claim>, Error> {
        let quotas = share(self.policy.batch_size, destinations);
        if quotas.is_empty() {
            return Ok(None);
        }
        let claim = self
            .store
            .claim(&quotas, self.policy.lease, &self.claimed_by)
            .await
            .map_err(Error::Claim)?;
        destinations.retain(|name| {
            let n_claimed = claim.messages.iter().filter(|m| m.destination == *name).count();
            quotas.iter().any(|q| q.destination == *name && q.n_messages as usize <= n_claimed)
        });
        Ok((!claim.messages.is_empty()).then_some(claim))
    }

    /// Sends and marks one claim while the next one is being made, and returns that.
    async fn dispatch_and_claim_ahead(
        &self,
        run: &mut Run<'_>,
        claim: Claim,
    ) -> Result<Option<Claim>, Error> {
        run.report.claimed += claim.messages.len() as u64;
        let Claim { token, messages, leased_until } = claim;
        let policy = &self.policy;
        let cutoff = Cutoff::new(leased_until, policy.lease, run.deadline, policy.deadline_margin);

        let over = self.is_over(run);
        let mut destinations = std::mem::take(&mut run.destinations);
        // A group's next messages can't be claimed before these are marked: a claim ahead would read through the
        // whole backlog of the groups in flight (145 ms for 9,000 rows) and find nothing.
        let is_grouped = |name: &String| {
            messages.iter().any(|m| m.message_group.is_some() && m.destination == *name)
        };
        destinations.retain(|name| !is_grouped(name));
        let ahead = async { if over { Ok(None) } else { self.claim(&mut destinations).await } };
        let settled = async {
            let marks = self.dispatch(messages, cutoff, run.stop, &mut run.health).await;
            self.mark(token, marks, leased_until, run.deadline).await
        };
        let (ahead, tally) = tokio::join!(ahead, settled);
        let tally = match tally {
            Ok(tally) => tally,
            Err(error) => {
                // The run ends here; what was claimed ahead must not wait for its lease.
                if let Ok(Some(claim)) = ahead {
                    self.release(&claim).await;
                }
                return Err(error);
            }
        };
        run.report.add(tally);
        if tally.fenced > 0 {
            tracing::warn!(
                outbox.claim.token = %token.as_uuid(),
                outbox.fenced = tally.fenced,
                "lease was lost before the mark"
            );
        }
        let now = Instant::now();
        destinations.retain(|name| !run.health.is_resting(name, now));
        run.destinations = destinations;
        ahead
    }

    /// Writes the marks, again and again while the database can't be reached and time is left: what is not marked goes
    /// out a second time.
    async fn mark(
        &self,
        token: outbox::ClaimToken,
        marks: Marks,
        leased_until: Instant,
        deadline: Option<Instant>,
    ) -> Result<Tally, Error> {
        let give_up_at = deadline.map_or(leased_until, |deadline| deadline.min(leased_until));
        let mut pause = Duration::from_millis(50);
        loop {
            match self.store.mark(token, &marks).await {
                Ok(tally) => return Ok(tally),
                Err(source) if source.is_transient() && Instant::now() + pause < give_up_at => {
                    tracing::warn!(
                        error.r#type = source.code(),
                        "marking failed and is tried again"
                    );
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(1));
                }
                Err(source) => return Err(Error::Mark { n_messages: marks.len(), source }),
            }
        }
    }

    /// Hands a whole claim back, as far as the database lets us; else its lease runs out.
    async fn release(&self, claim: &Claim) {
        let mut marks = Marks::default();
        marks.extend(claim.messages.iter().map(|m| (m.id, outbox::Mark::Released)));
        if let Err(error) = self.store.mark(claim.token, &marks).await {
            tracing::warn!(error.r#type = error.code(), "releasing failed, the lease will run out");
        }
    }

    /// Whether no further claim is to be made.
    fn is_over(&self, run: &Run<'_>) -> bool {
        let is_near = |deadline| Instant::now() + self.policy.deadline_margin >= deadline;
        run.stop.is_cancelled() || run.deadline.is_some_and(is_near)
    }

    /// Waits until that moment; `false` if the run is over before.
    async fn pause_until(&self, moment: Instant, run: &Run<'_>) -> bool {
        tokio::select! {
            () = tokio::time::sleep_until(moment.into()) => !self.is_over(run),
            () = run.stop.cancelled() => false,
        }
    }

    async fn oldest_due_seconds(&self) -> Option<f64> {
        match self.store.due().await {
            Ok(due) => Some(due.iter().map(|d| d.oldest_due_seconds).fold(0.0, f64::max)),
            Err(error) => {
                tracing::warn!(error.r#type = error.code(), "age of the oldest message is unknown");
                None
            }
        }
    }
}

//! The relay and its run.

use std::time::Instant;

use outbox::{Destinations, RunPolicy};
use outbox_publish::Publish;
use outbox_store::{Claim, Store};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::cutoff::{Cutoff, before, within};
use crate::error::Error;
use crate::health::Health;
use crate::report::RunReport;

/// The engine: built once, run many times. Several may run at once, in one process or in many.
pub struct Relay<P> {
    pub(crate) store: Store,
    pub(crate) publisher: P,
    pub(crate) destinations: Destinations,
    pub(crate) policy: RunPolicy,
    pub(crate) claimed_by: String,
    version_checked: OnceCell<()>,
}

/// What a run carries along.
pub(crate) struct Run<'a> {
    deadline: Option<Instant>,
    stop: &'a CancellationToken,
    /// Until when a claim is worth waiting for: nothing is sent later.
    pub(crate) claim_until: Option<Instant>,
    /// Until when the run may still ask the database; what is left is for its own answer.
    pub(crate) ask_until: Option<Instant>,
    /// The destinations that the next claim asks for.
    pub(crate) destinations: Vec<String>,
    pub(crate) health: Health,
    pub(crate) report: RunReport,
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
        let margin = self.policy.deadline_margin;
        let mut run = Run {
            deadline,
            stop,
            claim_until: deadline.map(|deadline| before(deadline, margin)),
            ask_until: deadline.map(|deadline| before(deadline, margin / 4)),
            destinations: Vec::new(),
            health: Health::default(),
            report: RunReport::default(),
        };
        let check = self.version_checked.get_or_try_init(|| self.store.check_version());
        within(run.claim_until, check).await.map_err(Error::Claim)?;

        let linger_until = started + self.policy.linger;
        loop {
            run.report.drained = self.drain(&mut run).await?;
            let next_poll = Instant::now() + self.policy.poll;
            if next_poll >= linger_until || !run.pause_until(next_poll).await {
                break;
            }
        }

        run.report.oldest_due_seconds = self.oldest_due_seconds(run.ask_until).await;
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
                None if run.is_over() => return Ok(false),
                None => match self.claim_anew(run).await? {
                    Some(claim) => claim,
                    None => return Ok(run.destinations.is_empty()),
                },
            };
            claimed = self.dispatch_and_claim_ahead(run, claim).await?;
        }
    }

    /// Sends and marks one claim while the next one is being made, and returns that.
    async fn dispatch_and_claim_ahead(
        &self,
        run: &mut Run<'_>,
        claim: Claim,
    ) -> Result<Option<Claim>, Error> {
        run.report.claimed += claim.messages.len() as u64;
        let (over, claim_until) = (run.is_over(), run.claim_until);
        let mut destinations = std::mem::take(&mut run.destinations);
        // A group's next messages can't be claimed before these are marked: a claim ahead would read through the
        // whole backlog of the groups in flight (145 ms for 9,000 rows) and find nothing.
        destinations.retain(|name| !is_grouped(&claim, name));

        let Claim { token, messages, leased_until } = claim;
        let policy = &self.policy;
        let cutoff = Cutoff::new(leased_until, policy.lease, run.deadline, policy.deadline_margin);
        let ahead = async {
            if over { Ok(None) } else { self.claim(&mut destinations, claim_until).await }
        };
        let settled = async {
            let marks = self.dispatch(messages, cutoff, run.stop, &mut run.health).await;
            self.mark(token, marks, cutoff.mark).await
        };
        match tokio::join!(ahead, settled) {
            (ahead, Ok(tally)) => {
                run.report.add(tally);
                let now = Instant::now();
                destinations.retain(|name| !run.health.is_resting(name, now));
                run.destinations = destinations;
                ahead
            }
            (ahead, Err(error)) => {
                // The run ends here; what was claimed ahead must not wait for its lease.
                if let Ok(Some(claim)) = ahead {
                    self.release(&claim, run.ask_until).await;
                }
                Err(error)
            }
        }
    }
}

impl Run<'_> {
    /// Whether no further claim is to be made.
    fn is_over(&self) -> bool {
        let is_past = |until| Instant::now() >= until;
        self.stop.is_cancelled() || self.claim_until.is_some_and(is_past)
    }

    /// Waits until that moment; `false` if the run is over then, or stopped before.
    async fn pause_until(&self, moment: Instant) -> bool {
        tokio::select! {
            () = tokio::time::sleep_until(moment.into()) => !self.is_over(),
            () = self.stop.cancelled() => false,
        }
    }
}

fn is_grouped(claim: &Claim, destination: &str) -> bool {
    claim.messages.iter().any(|m| m.message_group.is_some() && m.destination == destination)
}

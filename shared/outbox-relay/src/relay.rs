//! The relay and its run.

use std::time::Instant;

use outbox::{Destinations, RunPolicy};
use outbox_publish::Publish;
use outbox_store::{Claim, Store};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::claim::Claimed;
use crate::cutoff::{Cutoff, before, within};
use crate::error::Error;
use crate::health::Health;
use crate::report::RunReport;
use crate::suspects::Lookout;

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
    /// Until when a claim is started: nothing is sent later.
    start_until: Option<Instant>,
    /// Until when one that was started is awaited; it is released if it comes too late to be sent.
    pub(crate) claim_until: Option<Instant>,
    /// Until when the run may still ask the database; what is left is for its own answer.
    pub(crate) ask_until: Option<Instant>,
    /// Destinations that had more than their share at the last claim: a claim ahead asks for those.
    pub(crate) destinations: Vec<String>,
    pub(crate) health: Health,
    pub(crate) lookout: Lookout,
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
            start_until: deadline.map(|deadline| before(deadline, margin)),
            claim_until: deadline.map(|deadline| before(deadline, margin / 2)),
            ask_until: deadline.map(|deadline| before(deadline, margin / 4)),
            destinations: Vec::new(),
            health: Health::default(),
            lookout: Lookout::new(started),
            report: RunReport::default(),
        };
        let ended = self.drain_and_linger(&mut run, started + self.policy.linger).await;
        if ended.is_ok() {
            run.report.oldest_due_seconds = self.oldest_due_seconds(run.ask_until).await;
        }
        // Also of a run that failed: what it had sent and marked before is true.
        run.report.took(started.elapsed());
        run.report.log();
        ended.map(|()| run.report)
    }

    async fn drain_and_linger(&self, run: &mut Run<'_>, until: Instant) -> Result<(), Error> {
        if run.start_until.is_some_and(|until| Instant::now() >= until) {
            let margin_ms = self.policy.deadline_margin.as_millis();
            tracing::warn!(%margin_ms, "no time to send before the margin of the deadline");
            return Ok(());
        }
        let check = self.version_checked.get_or_try_init(|| self.store.check_version());
        within(run.claim_until, check).await.map_err(Error::Claim)?;
        loop {
            run.report.drained = self.drain(run).await?;
            let next_poll = Instant::now() + self.policy.poll;
            if next_poll >= until || !run.pause_until(next_poll).await {
                return Ok(());
            }
        }
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
                    Claimed::Messages(claim) => claim,
                    Claimed::OnlyResting => return Ok(false),
                    Claimed::Nothing => return Ok(true),
                },
            };
            claimed = self.publish_and_claim_ahead(run, claim).await?;
        }
    }

    /// Sends and marks one claim while the next one is being made, and returns that.
    async fn publish_and_claim_ahead(
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
        let sent = self.publish_and_mark(token, messages, cutoff, run.stop, &mut run.health);
        match tokio::join!(ahead, sent) {
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
        self.stop.is_cancelled() || self.start_until.is_some_and(is_past)
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

//! The relay and its run.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use outbox::{Destinations, RunPolicy};
use outbox_publish::Publish;
use outbox_store::{EndedRun, Function, Store};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::agenda::Agenda;
use crate::claim::{Batch, Claimed, Claimer};
use crate::cutoff::{before, within};
use crate::error::Error;
use crate::pace::Pace;
use crate::publish::{Sent, Shared};
use crate::report::RunReport;
use crate::span;
use crate::suspects::{Lookout, QUIET_WITHIN};
use crate::traffic::Traffic;

/// The engine: built once, run many times. Several may run at once, in one process or in many.
pub struct Relay<P> {
    pub(crate) store: Store,
    pub(crate) publisher: P,
    pub(crate) destinations: Destinations,
    pub(crate) policy: RunPolicy,
    pub(crate) claimed_by: String,
    version_checked: OnceCell<()>,
    /// Where the last run ended its way through the groups of each destination: the next one goes on there.
    positions: Mutex<HashMap<String, String>>,
}

/// Claims that may be under way at once. Two keep the requests in flight; more are only made while those before have
/// nothing to send but to destinations that hold them up, and hold less than so many full batches.
const CLAIMS_AT_WORK: usize = 2;
const MOST_BATCHES: usize = 8;

/// A claim that is only being marked is mostly through in a moment, and a poll would take its connection. Where a row is locked
/// by somebody it is not, and others must not wait for that.
const MARK_BEFORE_POLL: Duration = Duration::from_millis(500);

/// The times of a run, on the monotonic clock.
#[derive(Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "each says until when something may be done")]
struct Times {
    /// Until when a claim is started: nothing is sent later.
    start_until: Option<Instant>,
    /// Until when one that was started is awaited; it is released if it comes too late to be sent.
    claim_until: Option<Instant>,
    /// Until when the run may still ask the database; what is left is for its own answer.
    ask_until: Option<Instant>,
    /// Until when a drained run polls on.
    linger_until: Instant,
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
        let (version_checked, positions) = (OnceCell::new(), Mutex::default());
        Self { store, publisher, destinations, policy, claimed_by, version_checked, positions }
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
        let times = Times {
            start_until: deadline.map(|deadline| before(deadline, margin)),
            claim_until: deadline.map(|deadline| before(deadline, margin / 2)),
            ask_until: deadline.map(|deadline| before(deadline, margin / 4)),
            linger_until: started + self.policy.linger,
        };
        let traffic = Traffic::new(self.policy.concurrency);
        let mut report = RunReport::default();
        // A failed mark ends the run, and with it what other claims have not sent yet.
        let stop = &stop.child_token();
        let shared = Shared { traffic: &traffic, stop, deadline };
        let span = span::run();
        let run = async {
            let ended = self.check_and_drain(times, shared, &mut report).await;
            if ended.is_ok() {
                self.report_ages(&mut report, times.ask_until).await;
            }
            ended
        };
        let ended = run.instrument(span.clone()).await;
        span::record_error(&span, ended.as_ref().err());
        drop(span);
        // Also of a run that failed: what it had sent and marked before is true.
        report.took(started.elapsed());
        report.log();
        let failure = ended.as_ref().err().map(Error::store);
        self.write_down(&report, started.elapsed(), failure, times.ask_until).await;
        ended.map(|()| report)
    }

    async fn check_and_drain(
        &self,
        times: Times,
        shared: Shared<'_>,
        report: &mut RunReport,
    ) -> Result<(), Error> {
        if times.start_until.is_some_and(|until| Instant::now() >= until) {
            let margin_ms = self.policy.deadline_margin.as_millis();
            tracing::warn!(%margin_ms, "no time to send before the margin of the deadline");
            return Ok(());
        }
        let check = self.version_checked.get_or_try_init(|| self.store.check_version());
        within(times.claim_until, check).await.map_err(Error::Claim)?;

        let positions = std::mem::take(&mut *self.positions());
        let claimer =
            Claimer { agenda: Agenda::going_on(positions), lookout: Lookout::new(Instant::now()) };
        let (claimer, ended) = self.drain(claimer, times, shared, report).await;
        if let Some(claimer) = claimer {
            *self.positions() = claimer.agenda.into_positions();
        }
        ended
    }

    /// The loop of a run: one claim being made, others being sent and marked, until a claim with nothing on its way comes
    /// back empty and the time to linger is over, or the time of the run is.
    #[expect(clippy::too_many_lines, reason = "one loop that tells the story of a run")]
    async fn drain(
        &self,
        claimer: Claimer,
        times: Times,
        shared: Shared<'_>,
        report: &mut RunReport,
    ) -> (Option<Claimer>, Result<(), Error>) {
        let Shared { traffic, stop, .. } = shared;
        let stopped = CancellationToken::new();
        stopped.cancel();
        let mut idle = Some(claimer);
        let mut claiming = FuturesUnordered::new();
        let mut sending = FuturesUnordered::new();
        let mut pace = Pace::new(self.policy.poll);
        let mut failure = None;
        let mut is_quiet = false;
        let mut suspects = None;
        let mut marking_since = None;
        let mut moved = HashSet::new();
        let mut n_held = 0;
        let most_held = MOST_BATCHES.saturating_mul(self.policy.batch_size as usize);
        let is_over_now = || {
            stop.is_cancelled() || times.start_until.is_some_and(|until| Instant::now() >= until)
        };
        loop {
            let is_over = is_over_now();
            // Suspects are sent beside nothing else, and handed back if that takes too long.
            is_quiet &= !sending.is_empty();
            if let Some((batch, quiet_by)) = suspects.take() {
                if sending.is_empty() {
                    (is_quiet, report.drained) = (true, false);
                    sending.push(self.on_its_way(batch, shared));
                } else if is_over || Instant::now() >= quiet_by {
                    sending.push(self.on_its_way(batch, Shared { stop: &stopped, ..shared }));
                } else {
                    suspects = Some((batch, quiet_by));
                }
            }
            let may_claim = !is_quiet
                && suspects.is_none()
                && (sending.len() < CLAIMS_AT_WORK
                    || (n_held < most_held && traffic.n_at_work() < CLAIMS_AT_WORK));
            let is_marking = !sending.is_empty() && traffic.is_idle() && pace.is_polling();
            marking_since = is_marking.then(|| marking_since.unwrap_or_else(Instant::now));
            let marked_by = marking_since.map(|since: Instant| since + MARK_BEFORE_POLL);
            if !is_over
                && may_claim
                && pace.is_due()
                && marked_by.is_none_or(|moment| Instant::now() >= moment)
                && let Some(mut claimer) = idle.take()
            {
                pace.asks();
                claimer.agenda.have_moved(std::mem::take(&mut moved));
                claiming.push(async move {
                    let found = self
                        .claim_next(&mut claimer, traffic, is_over_now, times.claim_until)
                        .await;
                    (claimer, found)
                });
            }
            let wake_at = marked_by.map_or(pace.wake_at(), |moment| moment.max(pace.wake_at()));
            let is_drained = pace.is_drained(times.linger_until);
            let is_idle = claiming.is_empty() && sending.is_empty() && suspects.is_none();
            if is_idle && (is_over || is_drained) {
                let failure = failure.or(pace.last_error);
                return (idle, failure.map_or(Ok(()), Err));
            }
            tokio::select! {
                Some((claimer, found)) = claiming.next() => {
                    idle = Some(claimer);
                    match found {
                        Ok(Claimed::Messages(batch)) => {
                            n_held += batch.claim.messages.len();
                            report.claimed += batch.claim.messages.len() as u64;
                            pace.found();
                            if batch.is_of_suspects {
                                suspects = Some((batch, Instant::now() + QUIET_WITHIN));
                            } else {
                                report.drained = false;
                                sending.push(self.on_its_way(batch, shared));
                            }
                        }
                        Ok(nothing) => {
                            report.drained =
                                matches!(nothing, Claimed::Nothing) && sending.is_empty();
                            pace.found_nothing();
                        }
                        Err(error) => {
                            if let Some(error) = pace.failed(error) {
                                stop.cancel();
                                failure.get_or_insert(error);
                            }
                        }
                    }
                }
                Some((n_messages, sent)) = sending.next() => {
                    n_held -= n_messages;
                    match sent {
                        Ok(sent) => {
                            report.add(sent.tally);
                            moved.extend(sent.moved);
                            if let Some(claimer) = &mut idle {
                                claimer.agenda.go_on_with(sent.go_on_with);
                            }
                            pace.has_news();
                        }
                        Err(error) => {
                            stop.cancel();
                            failure = Some(error);
                        }
                    }
                }
                () = tokio::time::sleep_until(wake_at.into()),
                    if !is_over && may_claim && idle.is_some() => {}
                () = tokio::time::sleep_until(quiet_by(suspects.as_ref()).into()), if suspects.is_some() => {}
                () = stop.cancelled(), if !is_over => {}
                () = traffic.changed(), if !may_claim => {}
            }
        }
    }

    /// A claim on its way, and how many messages it holds. It counts as at work from now on, and not when it is polled first.
    fn on_its_way<'a>(
        &'a self,
        batch: Batch,
        shared: Shared<'a>,
    ) -> impl Future<Output = (usize, Result<Sent, Error>)> + use<'a, P> {
        let (n_messages, work) = (batch.claim.messages.len(), shared.traffic.work());
        async move { (n_messages, self.publish_and_mark(batch, work, shared).await) }
    }

    fn positions(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ages that the report tells, or nothing if the database does not: a zero would say that all is well.
    async fn report_ages(&self, report: &mut RunReport, until: Option<Instant>) {
        match within(until, self.store.due()).await {
            Ok(due) => report.ages(due),
            Err(error) => {
                tracing::warn!(error.r#type = error.code(), "age of the oldest message is unknown");
            }
        }
    }

    /// Leaves a row of the run, for `outbox status`. It is worth no failure and no wait: not past what is kept for the run's own
    /// answer, and not after a failure that leaves nothing to write to.
    async fn write_down(
        &self,
        report: &RunReport,
        duration: Duration,
        failure: Option<&outbox_store::Error>,
        until: Option<Instant>,
    ) {
        if failure.is_some_and(outbox_store::Error::leaves_nothing_to_write_to) {
            return;
        }
        let run = EndedRun {
            function: Function::Relay,
            run_by: &self.claimed_by,
            duration,
            error_code: failure.map(outbox_store::Error::code),
            report,
        };
        if let Err(error) = within(until, self.store.record_run(&run)).await {
            tracing::warn!(error.r#type = error.code(), "run is not written down in outbox.run");
        }
    }
}

/// Until when suspects wait for what is on its way.
fn quiet_by(suspects: Option<&(Batch, Instant)>) -> Instant {
    suspects.map_or_else(Instant::now, |(_, quiet_by)| *quiet_by)
}

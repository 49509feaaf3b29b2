//! Publish: send what was claimed, several requests at once, and mark each message by its own outcome.
//!
//! Each claim is sent and marked by itself, beside others of the run, so that a destination which does not answer keeps
//! nobody waiting. Marks are written when the claim is through, and a moment after the first of them where it is not.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use outbox::{
    ClaimToken, Failure, FailureClass, Mark, Message, OnDead, Outcome, RunPolicy, Scope,
    blame_request, decide,
};
use outbox_publish::Publish;
use outbox_store::{Marks, Tally};
use tokio_util::sync::CancellationToken;

use crate::claim::Batch;
use crate::cutoff::Cutoff;
use crate::error::Error;
use crate::lanes::{Lanes, Request, log_dead};
use crate::relay::Relay;
use crate::suspects::must_be_alone;
use crate::traffic::{Standing, Start, Traffic, Work};

/// How long a mark waits for company while requests of its claim are in flight.
const MARK_WITHIN: Duration = Duration::from_millis(250);

/// What became of a claim.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(crate) tally: Tally,
    /// Groups that may have more at once.
    pub(crate) go_on_with: Vec<(String, String)>,
    /// Destinations whose groups have moved on.
    pub(crate) moved: HashSet<String>,
}

/// What all claims of a run share.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub(crate) traffic: &'a Traffic,
    pub(crate) stop: &'a CancellationToken,
    pub(crate) deadline: Option<Instant>,
}

impl<P: Publish> Relay<P> {
    /// Sends and marks what was claimed.
    pub(crate) async fn publish_and_mark(
        &self,
        batch: Batch,
        work: Work<'_>,
        shared: Shared<'_>,
    ) -> Result<Sent, Error> {
        let Batch { claim, probes, full_groups, .. } = batch;
        let (policy, token) = (&self.policy, claim.token);
        let cutoff =
            Cutoff::new(claim.leased_until, policy.lease, shared.deadline, policy.deadline_margin);
        if let [suspect] = &claim.messages[..]
            && must_be_alone(suspect)
        {
            self.isolate(token, suspect.id, cutoff.mark).await?;
        }
        let grouped = claim.messages.iter().filter(|message| message.message_group.is_some());
        let moved = grouped.map(|message| message.destination.clone()).collect();
        let (lanes, marks) = Lanes::new(claim.messages, &self.destinations, policy.max_attempts);
        let mut sending = Sending {
            lanes,
            marks: Marks::default(),
            first_mark_at: None,
            has_released: false,
            work,
            told_of: HashSet::new(),
        };
        sending.mark(marks);
        let probe = |destination: &str| probes.contains(destination).then_some(token);
        let sent = self.send_and_mark(&mut sending, token, cutoff, &probe, shared).await;
        let unused: Vec<String> = probes.difference(&sending.told_of).cloned().collect();
        if !unused.is_empty() {
            self.give_probes_back(token, &unused, Some(cutoff.mark)).await;
        }
        let mut sent = sent?;
        sent.moved = moved;
        if !sending.has_released {
            sent.go_on_with = full_groups;
            sent.go_on_with.retain(|group| !sending.lanes.has_stopped(group));
        }
        Ok(sent)
    }

    /// The loop of a claim: hand out requests as far as may be, take in what comes back, write marks.
    async fn send_and_mark(
        &self,
        sending: &mut Sending<'_>,
        token: ClaimToken,
        cutoff: Cutoff,
        probe: &(dyn Fn(&str) -> Option<ClaimToken> + Sync),
        shared: Shared<'_>,
    ) -> Result<Sent, Error> {
        let Shared { traffic, stop, .. } = shared;
        let mut sent = Sent::default();
        let mut in_flight = FuturesUnordered::new();
        let mut writing = FuturesUnordered::new();
        let mut failure = None;
        loop {
            let changed = traffic.changed();
            let may_send =
                failure.is_none() && !stop.is_cancelled() && Instant::now() < cutoff.send;
            let mut waits = false;
            let start =
                |destination: &str| traffic.start(destination, probe(destination).is_some());
            if may_send {
                waits = loop {
                    match sending.lanes.next_request(start) {
                        Ok(request) => in_flight.push(self.send(request, cutoff.answer)),
                        Err(start) => break start == Start::Later,
                    }
                };
            }
            if in_flight.is_empty() && !waits {
                break;
            }
            let has_work = may_send && sending.lanes.has_work(|name| traffic.is_held_up(name));
            sending.work.set(has_work);
            if writing.is_empty() && sending.is_mark_due(Instant::now()) {
                writing.push(self.write(token, sending.take_marks(), traffic, cutoff));
            }
            tokio::select! {
                Some((request, outcomes)) = in_flight.next() => {
                    let probe = probe(&request.destination.name);
                    if traffic.finish(&request.destination.name, &outcomes, probe) {
                        sending.told_of.insert(request.destination.name.clone());
                    }
                    self.take_in(sending, request, outcomes, traffic);
                }
                Some(written) = writing.next() => match written {
                    Ok(tally) => sent.tally += tally,
                    Err(error) => failure = Some(error),
                },
                () = changed, if waits => {}
                () = sleep_until(cutoff.send), if waits => {}
                () = stop.cancelled(), if waits => {}
                () = sleep_until(sending.mark_due_at(cutoff.mark)), if writing.is_empty() => {}
            }
        }
        while let Some(written) = writing.next().await {
            match written {
                Ok(tally) => sent.tally += tally,
                Err(error) => failure = Some(error),
            }
        }
        let unsent: Vec<i64> = sending.lanes.take_unsent().collect();
        sending.has_released |= !unsent.is_empty();
        sending.mark(unsent.iter().map(|&id| (id, Mark::Released)));
        match self.write(token, sending.take_marks(), traffic, cutoff).await {
            Ok(tally) => sent.tally += tally,
            Err(error) => {
                // What can't be marked dispatched may still be handed back.
                sending.mark(unsent.iter().map(|&id| (id, Mark::Released)));
                _ = self.write(token, sending.take_marks(), traffic, cutoff).await;
                failure.get_or_insert(error);
            }
        }
        failure.map_or(Ok(sent), Err)
    }

    async fn send(&self, request: Request, answer_until: Instant) -> (Request, Vec<Outcome>) {
        let answer = self.publisher.publish(&request.destination, &request.entries);
        let answer = tokio::time::timeout_at(answer_until.into(), answer).await;
        let mut outcomes = answer.unwrap_or_default();
        // An entry without an outcome, which a publisher owes us, counts as not accepted.
        outcomes.resize_with(request.entries.len(), || Outcome::Failed(gave_up()));
        (request, outcomes)
    }

    fn take_in(
        &self,
        sending: &mut Sending<'_>,
        request: Request,
        mut outcomes: Vec<Outcome>,
        traffic: &Traffic,
    ) {
        match traffic.standing(&request.destination.name) {
            Standing::Works => {}
            Standing::FellSilent => blame_request(&mut outcomes, 1),
            Standing::Unknown => blame_request(&mut outcomes, 2),
        }
        sending.lanes.take_in(&request, &outcomes);
        sending.mark(mark_each(request, outcomes, &self.policy));
    }

    /// Writes marks, and tells the database what the traffic says of the destinations.
    async fn write(
        &self,
        token: ClaimToken,
        marks: Marks,
        traffic: &Traffic,
        cutoff: Cutoff,
    ) -> Result<Tally, Error> {
        let written = if marks.is_empty() {
            Ok(Tally::default())
        } else {
            self.mark(token, marks, cutoff).await
        };
        if let Some(news) = traffic.news() {
            self.tell(&news, cutoff.mark).await;
            traffic.told(&news);
        }
        written
    }
}

/// A claim on its way.
struct Sending<'a> {
    lanes: Lanes,
    marks: Marks,
    first_mark_at: Option<Instant>,
    has_released: bool,
    work: Work<'a>,
    /// Destinations of which a request has told whether they are well.
    told_of: HashSet<String>,
}

impl Sending<'_> {
    fn mark(&mut self, marks: impl IntoIterator<Item = (i64, Mark)>) {
        self.marks.extend(marks);
        if self.first_mark_at.is_none() && !self.marks.is_empty() {
            self.first_mark_at = Some(Instant::now());
        }
    }

    fn mark_due_at(&self, otherwise: Instant) -> Instant {
        self.first_mark_at.map_or(otherwise, |at| at + MARK_WITHIN)
    }

    fn is_mark_due(&self, now: Instant) -> bool {
        self.first_mark_at.is_some_and(|at| now >= at + MARK_WITHIN)
    }

    fn take_marks(&mut self) -> Marks {
        self.first_mark_at = None;
        std::mem::take(&mut self.marks)
    }
}

async fn sleep_until(moment: Instant) {
    tokio::time::sleep_until(moment.into()).await;
}

fn gave_up() -> Failure {
    Failure {
        class: FailureClass::Unknown,
        scope: Scope::Request,
        code: "timeout".to_owned(),
        detail: "no answer before the end of the lease or of the run".to_owned(),
    }
}

/// One mark for each entry.
fn mark_each(
    request: Request,
    outcomes: Vec<Outcome>,
    policy: &RunPolicy,
) -> impl Iterator<Item = (i64, Mark)> {
    let on_dead: OnDead = request.destination.on_dead;
    request.entries.into_iter().zip(outcomes).map(move |(entry, outcome)| {
        let mark = decide(outcome, entry.message.attempts, policy, on_dead, fastrand::f64());
        log_dead(&entry.message, &mark);
        log_retry(&entry.message, &mark);
        (entry.message.id, mark)
    })
}

fn log_retry(message: &Message, mark: &Mark) {
    if let Mark::Retry { delay, gives_attempt_back, code, .. } = mark {
        tracing::debug!(
            outbox.message.id = message.id,
            messaging.message.id = %message.message_id,
            messaging.destination.name = message.destination,
            outbox.attempts = message.attempts,
            outbox.attempt_given_back = gives_attempt_back,
            outbox.delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            error.r#type = code,
            "message will be retried"
        );
    }
}

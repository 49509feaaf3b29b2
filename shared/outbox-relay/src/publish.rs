//! Publish: send what was claimed, several requests at once, and collect a mark for each message.

use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use outbox::{ClaimToken, Failure, FailureClass, Mark, Message, Outcome, RunPolicy, Scope, decide};
use outbox_publish::Publish;
use outbox_store::{Marks, Tally};
use tokio_util::sync::CancellationToken;

use crate::cutoff::Cutoff;
use crate::error::Error;
use crate::health::Health;
use crate::lanes::{Lanes, Request, log_dead};
use crate::relay::Relay;
use crate::suspects::must_be_alone;

impl<P: Publish> Relay<P> {
    /// Sends and marks what was claimed.
    pub(crate) async fn publish_and_mark(
        &self,
        token: ClaimToken,
        messages: Vec<Message>,
        cutoff: Cutoff,
        stop: &CancellationToken,
        health: &mut Health,
    ) -> Result<Tally, Error> {
        if let [suspect] = &messages[..]
            && must_be_alone(suspect)
        {
            self.isolate(token, suspect.id, cutoff.mark).await?;
        }
        let marks = self.publish(messages, cutoff, stop, health).await;
        self.mark(token, marks, cutoff.mark).await
    }

    /// Sends the messages and returns a mark for every one of them: released, for those that were not sent before the
    /// cut-off or before `stop`.
    async fn publish(
        &self,
        messages: Vec<Message>,
        cutoff: Cutoff,
        stop: &CancellationToken,
        health: &mut Health,
    ) -> Marks {
        let mut marks = Marks::default();
        let (mut lanes, unsendable) =
            Lanes::new(messages, &self.destinations, self.policy.max_attempts);
        marks.extend(unsendable);

        let mut in_flight = FuturesUnordered::new();
        loop {
            while in_flight.len() < self.policy.concurrency {
                let now = Instant::now();
                if stop.is_cancelled() || now >= cutoff.send {
                    break;
                }
                match lanes.next_request(health, now) {
                    Some(request) => in_flight.push(self.send(request, cutoff.answer)),
                    None => break,
                }
            }
            let Some((request, outcomes)) = in_flight.next().await else { break };
            health.record(&request.destination.name, &outcomes, Instant::now());
            lanes.take_in(&request, &outcomes);
            marks.extend(mark_each(request, outcomes, &self.policy));
        }
        marks.extend(lanes.into_unsent().map(|id| (id, Mark::Released)));
        marks
    }

    async fn send(&self, request: Request, answer_until: Instant) -> (Request, Vec<Outcome>) {
        let answer = self.publisher.publish(&request.destination, &request.entries);
        let outcomes = match tokio::time::timeout_at(answer_until.into(), answer).await {
            Ok(outcomes) => outcomes,
            Err(_) => vec![Outcome::Failed(gave_up()); request.entries.len()],
        };
        (request, outcomes)
    }
}

fn gave_up() -> Failure {
    Failure {
        class: FailureClass::Unknown,
        scope: Scope::Request,
        code: "timeout".to_owned(),
        detail: "no answer before the end of the lease or of the run".to_owned(),
    }
}

/// One mark for each entry; an entry without an outcome, which a publisher owes us, counts as not accepted.
fn mark_each(
    request: Request,
    outcomes: Vec<Outcome>,
    policy: &RunPolicy,
) -> impl Iterator<Item = (i64, Mark)> {
    let missing = std::iter::repeat_with(|| Outcome::Failed(gave_up()));
    let outcomes = outcomes.into_iter().chain(missing);
    request.entries.into_iter().zip(outcomes).map(|(entry, outcome)| {
        let mark = decide(outcome, entry.message.attempts, policy, fastrand::f64());
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

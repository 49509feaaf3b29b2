//! The publisher for SQS and SNS themselves: which service to call, in which region and how long at most.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use futures_util::future;
use outbox::{Destination, Entry, Failure, Outcome, Target};
use tracing::Instrument;

use crate::echo::{code_without, without_echoes};
use crate::request_error::RequestError;
use crate::{Properties, Publish, inspect, knock, sns, span, sqs};

/// Attempts of one call, by the SDK: enough for a lost connection or a short 5xx. Whatever lasts longer is
/// for the relay's backoff, which every relay shares, and not for a function that is paid by the second.
const MAX_ATTEMPTS: u32 = 3;

/// Time to connect. Within a region that takes milliseconds; seconds mean that no packet comes back, as in
/// a VPC without a route to the service.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Time for one attempt. A batch is answered in tens of milliseconds, and a megabyte on a slow link within
/// seconds.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for all attempts of one call, so that `publish` (a call, and at worst one more beside it for each
/// entry) ends within 50 seconds: under half the default lease of 120.
const CALL_TIMEOUT: Duration = Duration::from_secs(25);

/// Publishes to SQS and SNS. Cheap to clone; build it once, at cold start, for its connections and
/// credentials are kept from call to call.
#[derive(Clone, Debug)]
pub struct AwsPublisher {
    sqs: aws_sdk_sqs::Client,
    sns: aws_sdk_sns::Client,
}

impl AwsPublisher {
    /// A publisher with the configuration's credentials and endpoints. Its region serves the targets that
    /// name none; its retries and time-outs are replaced by this crate's.
    #[must_use]
    pub fn new(config: &SdkConfig) -> Self {
        let retries = RetryConfig::standard().with_max_attempts(MAX_ATTEMPTS);
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .operation_timeout(CALL_TIMEOUT)
            .build();
        let sqs = aws_sdk_sqs::config::Builder::from(config)
            .retry_config(retries.clone())
            .timeout_config(timeouts.clone())
            .build();
        let sns = aws_sdk_sns::config::Builder::from(config)
            .retry_config(retries)
            .timeout_config(timeouts)
            .build();
        Self { sqs: aws_sdk_sqs::Client::from_conf(sqs), sns: aws_sdk_sns::Client::from_conf(sns) }
    }

    /// Asks a queue or topic what it is like: up to three calls for a topic beside one for each of its
    /// subscriptions, and one for a queue. It sends no message.
    ///
    /// # Errors
    /// Why it did not tell, classified as for a message. That it may not be asked does not mean that nothing
    /// may be sent to it: those are different permissions.
    pub async fn inspect(&self, target: &Target) -> Result<Properties, Failure> {
        let inspected = match target {
            Target::Queue { url, region } => {
                inspect::queue(&self.sqs, url, region.as_deref()).await
            }
            Target::Topic { arn, region } => inspect::topic(&self.sns, arn, region).await,
        };
        inspected.map_err(RequestError::into_failure)
    }

    /// Asks a queue or topic to take a request without an entry, which it can't carry out: one call, and no message.
    ///
    /// # Errors
    /// Why it refused, classified as for a message, if that is not that there is nothing to send. Without an error it was
    /// reached and did not refuse, which proves no permission.
    pub async fn knock(&self, target: &Target) -> Result<(), Failure> {
        knock::refusal(match target {
            Target::Queue { url, region } => knock::queue(&self.sqs, url, region.as_deref()).await,
            Target::Topic { arn, region } => knock::topic(&self.sns, arn, region).await,
        })
    }

    /// What became of each entry, in the service's own words.
    async fn outcomes(&self, destination: &Destination, request: &[Entry]) -> Vec<Outcome> {
        match self.send(destination, request).await {
            Ok(outcomes) => outcomes,
            Err(error) if request.len() == 1 => vec![error.into_outcome_of_one(false)],
            Err(error) if error.may_be_one_entrys_fault() => {
                tracing::warn!(
                    messaging.destination.name = %destination.name,
                    messaging.batch.message_count = request.len(),
                    error.r#type = code_without(error.code(), request),
                    "a request was refused for what may be one entry's fault; sending one by one"
                );
                self.send_one_by_one(destination, request).await
            }
            Err(error) => vec![error.into_outcome(); request.len()],
        }
    }

    /// One call to the service behind the target, in a span of its own.
    async fn send(
        &self,
        destination: &Destination,
        request: &[Entry],
    ) -> Result<Vec<Outcome>, RequestError> {
        let span = span::of(destination, request);
        let answer = self.call(&destination.target, request).instrument(span.clone()).await;
        span::record_answer(&span, &answer, request);
        answer
    }

    async fn call(&self, target: &Target, request: &[Entry]) -> Result<Vec<Outcome>, RequestError> {
        match target {
            Target::Queue { url, region } => {
                sqs::send(&self.sqs, url, region.as_deref(), request).await
            }
            Target::Topic { arn, region } => sns::send(&self.sns, arn, region, request).await,
        }
    }

    /// Each entry in a request of its own, so that one that can't be sent does not take its neighbours
    /// along, on this attempt and on every later one. All at once: one after the other, ten slow answers
    /// would outlast the lease. The order within a group is safe, for a request holds one of each at most.
    async fn send_one_by_one(&self, destination: &Destination, request: &[Entry]) -> Vec<Outcome> {
        let calls = request.chunks(1).map(|alone| self.send(destination, alone));
        let answers = future::join_all(calls).await;
        let is_accepted = |outcome: &Outcome| matches!(outcome, Outcome::Accepted { .. });
        let took_a_neighbour = answers.iter().flatten().flatten().any(is_accepted);
        let outcomes = answers.into_iter().map(|answer| match answer {
            Ok(outcomes) => outcomes,
            Err(error) => vec![error.into_outcome_of_one(took_a_neighbour)],
        });
        outcomes.flatten().collect()
    }
}

impl Publish for AwsPublisher {
    async fn publish(&self, destination: &Destination, request: &[Entry]) -> Vec<Outcome> {
        if request.is_empty() {
            return Vec::new();
        }
        let outcomes = self.outcomes(destination, request).await;
        without_echoes(outcomes, request)
    }
}

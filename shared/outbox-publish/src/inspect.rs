//! What a queue or topic says of itself, for whoever compares it with the settings. Reads only.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_sns::config::Config as SnsConfig;
use aws_sdk_sns::types::Subscription;
use aws_sdk_sqs::config::{Config as SqsConfig, Region};
use aws_sdk_sqs::types::QueueAttributeName;
use futures_util::future;

use crate::request_error::RequestError;

/// Most subscriptions of a topic that are asked for their delivery, each with a call.
const MAX_ASKED_SUBSCRIPTIONS: usize = 25;

/// What is known of a queue or topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// Its `MaximumMessageSize` in bytes; a topic that has never been given one does not tell.
    pub max_bytes: Option<usize>,
    /// Whether it is FIFO.
    pub is_fifo: bool,
    /// Whether it makes deduplication ids of bodies.
    pub content_based_deduplication: bool,
    /// The KMS key that encrypts it; `None` also for the encryption that needs no permission.
    pub kms_key: Option<String>,
    /// Whether a queue is encrypted with keys of SQS itself, which needs no permission.
    pub has_sqs_key: bool,
    /// What a queue does with its messages; `None` for a topic.
    pub keeping: Option<Keeping>,
    /// Confirmed subscriptions of a topic, up to 100; `None` for a queue.
    pub subscriptions: Option<usize>,
    /// How many of a topic's queues, up to 25, get the message as it is; `None` if that may not be asked.
    pub raw_queues: Option<usize>,
}

/// How a queue keeps messages. What it does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// ARN of its dead-letter queue.
    pub dead_letter_queue: Option<String>,
    /// How long a message that nobody deletes stays.
    pub retention: Option<Duration>,
    /// How long each message is withheld at first.
    pub delay: Option<Duration>,
    /// How long a message that was received is hidden.
    pub visibility_timeout: Option<Duration>,
}

/// Asks a queue.
pub(crate) async fn queue(
    client: &aws_sdk_sqs::Client,
    queue_url: &str,
    region: Option<&str>,
) -> Result<Properties, RequestError> {
    let mut call = client
        .get_queue_attributes()
        .queue_url(queue_url)
        .attribute_names(QueueAttributeName::All)
        .customize();
    if let Some(region) = region {
        call = call.config_override(SqsConfig::builder().region(Region::new(region.to_owned())));
    }
    let told = call.send().await?.attributes.unwrap_or_default();
    let told: HashMap<String, String> =
        told.into_iter().map(|(name, value)| (name.as_str().to_owned(), value)).collect();
    Ok(Properties { keeping: Some(keeping(&told)), ..common(&told) })
}

fn keeping(told: &HashMap<String, String>) -> Keeping {
    let seconds = |name| Some(Duration::from_secs(told.get(name)?.parse().ok()?));
    Keeping {
        dead_letter_queue: told.get("RedrivePolicy").map(|policy| dead_letter_queue(policy)),
        retention: seconds("MessageRetentionPeriod"),
        delay: seconds("DelaySeconds"),
        visibility_timeout: seconds("VisibilityTimeout"),
    }
}

/// The name in a redrive policy, which is JSON. The whole policy, where that can't be found.
fn dead_letter_queue(policy: &str) -> String {
    let value = policy.split("\"deadLetterTargetArn\"").nth(1);
    let arn = value.and_then(|value| value.split('"').nth(1));
    arn.unwrap_or(policy).to_owned()
}

/// Asks a topic, and then its subscriptions: whoever may ask the one may not always ask the others.
pub(crate) async fn topic(
    client: &aws_sdk_sns::Client,
    topic_arn: &str,
    region: &str,
) -> Result<Properties, RequestError> {
    let config = || SnsConfig::builder().region(Region::new(region.to_owned()));
    let call = client.get_topic_attributes().topic_arn(topic_arn).customize();
    let told = call.config_override(config()).send().await?.attributes.unwrap_or_default();

    let call = client.list_subscriptions_by_topic().topic_arn(topic_arn).customize();
    let listed = call.config_override(config()).send().await.ok();
    let listed = listed.map(|listed| listed.subscriptions.unwrap_or_default());
    let confirmed: Option<Vec<_>> =
        listed.map(|listed| listed.into_iter().filter(is_confirmed).collect());

    let told_count = told.get("SubscriptionsConfirmed").and_then(|count| count.parse().ok());
    let subscriptions = confirmed.as_ref().map(Vec::len).or(told_count);
    let raw_queues = match confirmed {
        Some(confirmed) => raw_queues(client, config, confirmed).await,
        None => None,
    };
    Ok(Properties { subscriptions, raw_queues, ..common(&told) })
}

/// One that is not confirmed has a word in place of its ARN.
fn is_confirmed(subscription: &Subscription) -> bool {
    subscription.subscription_arn.as_deref().is_some_and(|arn| arn.starts_with("arn:"))
}

/// How many of them are queues with raw delivery; `None` if one may not be asked.
async fn raw_queues(
    client: &aws_sdk_sns::Client,
    config: impl Fn() -> aws_sdk_sns::config::Builder,
    confirmed: Vec<Subscription>,
) -> Option<usize> {
    let queues = confirmed.into_iter().filter(|s| s.protocol.as_deref() == Some("sqs"));
    let asked = queues.take(MAX_ASKED_SUBSCRIPTIONS).map(async |queue| {
        let call = client.get_subscription_attributes();
        let call = call.set_subscription_arn(queue.subscription_arn).customize();
        let told = call.config_override(config()).send().await.ok()?.attributes?;
        Some(told.get("RawMessageDelivery").is_some_and(|value| value == "true"))
    });
    let told: Option<Vec<bool>> = future::join_all(asked).await.into_iter().collect();
    told.map(|is_raw| is_raw.into_iter().filter(|is_raw| *is_raw).count())
}

/// The attributes that both services call alike.
fn common(told: &HashMap<String, String>) -> Properties {
    let is_true = |name| told.get(name).is_some_and(|value| value == "true");
    Properties {
        max_bytes: told.get("MaximumMessageSize").and_then(|bytes| bytes.parse().ok()),
        is_fifo: is_true("FifoQueue") || is_true("FifoTopic"),
        content_based_deduplication: is_true("ContentBasedDeduplication"),
        has_sqs_key: is_true("SqsManagedSseEnabled"),
        kms_key: told.get("KmsMasterKeyId").filter(|key| !key.is_empty()).cloned(),
        ..Properties::default()
    }
}

//! What a queue or topic says of itself, for whoever compares it with the settings. Reads only.

use std::collections::HashMap;

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
    /// Whether a queue has a dead-letter queue; `None` for a topic.
    pub has_redrive_policy: Option<bool>,
    /// Confirmed subscriptions of a topic; `None` for a queue.
    pub subscriptions: Option<u64>,
    /// How many of a topic's queues get the message as it is; `None` if that may not be asked.
    pub raw_queues: Option<usize>,
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
    let has_redrive_policy = Some(told.contains_key("RedrivePolicy"));
    Ok(Properties { has_redrive_policy, ..common(&told) })
}

/// Asks a topic, and then its subscriptions: whoever may ask the one may not always ask the others.
pub(crate) async fn topic(
    client: &aws_sdk_sns::Client,
    topic_arn: &str,
    region: &str,
) -> Result<Properties, RequestError> {
    let in_region = || SnsConfig::builder().region(Region::new(region.to_owned()));
    let call = client.get_topic_attributes().topic_arn(topic_arn).customize();
    let told = call.config_override(in_region()).send().await?.attributes.unwrap_or_default();
    let subscriptions = told.get("SubscriptionsConfirmed").and_then(|count| count.parse().ok());

    let call = client.list_subscriptions_by_topic().topic_arn(topic_arn).customize();
    let listed = call.config_override(in_region()).send().await;
    let raw_queues = match listed {
        Ok(listed) => {
            let queues =
                listed.subscriptions.unwrap_or_default().into_iter().filter_map(queue_subscription);
            let is_raw = queues.take(MAX_ASKED_SUBSCRIPTIONS).map(|arn| async move {
                let call = client.get_subscription_attributes().subscription_arn(arn).customize();
                let told = call.config_override(in_region()).send().await.ok()?.attributes?;
                (told.get("RawMessageDelivery")? == "true").then_some(())
            });
            Some(future::join_all(is_raw).await.into_iter().flatten().count())
        }
        Err(_) => None,
    };
    Ok(Properties { subscriptions, raw_queues, ..common(&told) })
}

/// The ARN of a subscription to a queue; one that is not confirmed has none.
fn queue_subscription(subscription: Subscription) -> Option<String> {
    let is_queue = subscription.protocol.as_deref() == Some("sqs");
    subscription.subscription_arn.filter(|arn| is_queue && arn.starts_with("arn:"))
}

/// The attributes that both services call alike.
fn common(told: &HashMap<String, String>) -> Properties {
    let is_true = |name| told.get(name).is_some_and(|value| value == "true");
    Properties {
        max_bytes: told.get("MaximumMessageSize").and_then(|bytes| bytes.parse().ok()),
        is_fifo: is_true("FifoQueue") || is_true("FifoTopic"),
        content_based_deduplication: is_true("ContentBasedDeduplication"),
        kms_key: told.get("KmsMasterKeyId").filter(|key| !key.is_empty()).cloned(),
        ..Properties::default()
    }
}

//! Queues and topics of a test's own on the local stack.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName, QueueAttributeName,
};
use uuid::Uuid;

use crate::local;
use crate::teardown;

/// An SQS queue with a random name, deleted when dropped.
pub struct Queue {
    client: Client,
    url: String,
}

/// A message as a consumer gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The body.
    pub body: String,
    /// The attribute `message_id`.
    pub message_id: String,
    /// Data type and value of every attribute, by name.
    pub attributes: BTreeMap<String, (String, String)>,
    /// `MessageGroupId`, on a FIFO queue.
    pub message_group: Option<String>,
    /// `MessageDeduplicationId`, on a FIFO queue.
    pub deduplication_id: Option<String>,
    /// The system attribute `AWSTraceHeader`.
    pub trace_header: Option<String>,
}

impl Queue {
    /// A standard queue.
    pub async fn standard() -> Self {
        Self::create(name(""), &[]).await
    }

    /// A standard queue that takes messages of at most so many bytes.
    pub async fn of_at_most(max_bytes: usize) -> Self {
        let max_bytes = max_bytes.to_string();
        Self::create(name(""), &[(QueueAttributeName::MaximumMessageSize, &max_bytes)]).await
    }

    /// A FIFO queue without content-based deduplication.
    pub async fn fifo() -> Self {
        Self::create(name(".fifo"), &[(QueueAttributeName::FifoQueue, "true")]).await
    }

    async fn create(name: String, attributes: &[(QueueAttributeName, &str)]) -> Self {
        let client = Client::new(&Self::sdk_config());
        let mut create = client.create_queue().queue_name(name);
        for (attribute, value) in attributes {
            create = create.attributes(attribute.clone(), *value);
        }
        let url = create.send().await.unwrap().queue_url.unwrap();
        Self { client, url }
    }

    /// The configuration of a client of the local stack.
    pub fn sdk_config() -> SdkConfig {
        let credentials = Credentials::new("test", "test", None, None, "test");
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .endpoint_url(Self::endpoint_url())
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .build()
    }

    /// Where the local stack answers, as the programs take it: the value for `AWS_ENDPOINT_URL`.
    pub fn endpoint_url() -> String {
        local::var("AWS_ENDPOINT_URL")
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Receives and deletes messages until there are `n`, in the order of arrival, and makes sure that there are no
    /// more.
    ///
    /// # Panics
    /// If there are not `n` within a minute.
    pub async fn received(&self, n: usize) -> Vec<Received> {
        let started = Instant::now();
        let mut received = Vec::new();
        loop {
            let batch = self.receive().await;
            if batch.is_empty() && received.len() >= n {
                return received;
            }
            received.extend(batch);
            let in_time = started.elapsed() < Duration::from_mins(1);
            assert!(in_time, "{} of {n} messages within a minute", received.len());
        }
    }

    async fn receive(&self) -> Vec<Received> {
        let receive = self.client.receive_message().queue_url(&self.url);
        let receive = receive.max_number_of_messages(10).wait_time_seconds(1);
        let receive = receive.message_attribute_names("All");
        let receive = receive.message_system_attribute_names(MessageSystemAttributeName::All);
        let messages = receive.send().await.unwrap().messages.unwrap_or_default();
        if !messages.is_empty() {
            self.delete(&messages).await;
        }
        messages.into_iter().map(received).collect()
    }

    async fn delete(&self, messages: &[Message]) {
        let handles = messages.iter().map(|message| message.receipt_handle.as_deref().unwrap());
        let entries = handles.enumerate().map(|(index, handle)| {
            let entry = DeleteMessageBatchRequestEntry::builder().id(index.to_string());
            entry.receipt_handle(handle).build().unwrap()
        });
        let delete = self.client.delete_message_batch().queue_url(&self.url);
        let deleted = delete.set_entries(Some(entries.collect())).send().await.unwrap();
        assert!(deleted.failed.is_empty(), "{:?}", deleted.failed);
    }

    async fn arn(&self) -> String {
        let get = self.client.get_queue_attributes().queue_url(&self.url);
        let got = get.attribute_names(QueueAttributeName::QueueArn).send().await.unwrap();
        got.attributes.unwrap().remove(&QueueAttributeName::QueueArn).unwrap()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let url = self.url.clone();
        teardown::wait_for(async move {
            // A client of its own: the connections of the other belong to the test's runtime.
            let _ = Client::new(&Self::sdk_config()).delete_queue().queue_url(url).send().await;
        });
    }
}

/// An SNS topic with a random name, deleted when dropped with its subscriptions.
pub struct Topic {
    client: aws_sdk_sns::Client,
    arn: String,
}

impl Topic {
    /// A standard topic.
    pub async fn standard() -> Self {
        Self::create(name(""), &[]).await
    }

    /// A FIFO topic without content-based deduplication.
    pub async fn fifo() -> Self {
        Self::create(name(".fifo"), &[("FifoTopic", "true")]).await
    }

    async fn create(name: String, attributes: &[(&str, &str)]) -> Self {
        let client = aws_sdk_sns::Client::new(&Queue::sdk_config());
        let mut create = client.create_topic().name(name);
        for (attribute, value) in attributes {
            create = create.attributes(*attribute, *value);
        }
        let arn = create.send().await.unwrap().topic_arn.unwrap();
        Self { client, arn }
    }

    /// Its ARN.
    pub fn arn(&self) -> &str {
        &self.arn
    }

    /// Delivers to that queue from now on, the messages as they are and not wrapped in JSON.
    pub async fn deliver_to(&self, queue: &Queue) {
        let subscribe = self.client.subscribe().topic_arn(&self.arn).protocol("sqs");
        let subscribe = subscribe.endpoint(queue.arn().await);
        subscribe.attributes("RawMessageDelivery", "true").send().await.unwrap();
    }
}

impl Drop for Topic {
    fn drop(&mut self) {
        let arn = self.arn.clone();
        teardown::wait_for(async move {
            let client = aws_sdk_sns::Client::new(&Queue::sdk_config());
            let _ = client.delete_topic().topic_arn(arn).send().await;
        });
    }
}

fn name(end: &str) -> String {
    format!("test-{}{end}", Uuid::new_v4().simple())
}

fn received(message: Message) -> Received {
    let value = |name| message.attributes.as_ref().and_then(|system| system.get(&name)).cloned();
    let message_group = value(MessageSystemAttributeName::MessageGroupId);
    let deduplication_id = value(MessageSystemAttributeName::MessageDeduplicationId);
    let trace_header = value(MessageSystemAttributeName::AwsTraceHeader);
    let attributes = message.message_attributes.unwrap_or_default().into_iter();
    let attributes: BTreeMap<_, _> = attributes
        .map(|(name, value)| (name, (value.data_type, value.string_value.unwrap_or_default())))
        .collect();
    Received {
        body: message.body.unwrap_or_default(),
        message_id: attributes["message_id"].1.clone(),
        attributes,
        message_group,
        deduplication_id,
        trace_header,
    }
}

//! A queue of a test's own on the local stack.

use std::time::{Duration, Instant};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use aws_sdk_sqs::types::{Message, QueueAttributeName};

use crate::local;

/// An SQS queue with a random name.
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
    /// `MessageGroupId`, on a FIFO queue.
    pub message_group: Option<String>,
}

impl Queue {
    /// A standard queue.
    pub async fn standard() -> Self {
        let name = format!("test-{}", uuid::Uuid::new_v4().simple());
        Self::create(name, &[]).await
    }

    /// A FIFO queue without content-based deduplication.
    pub async fn fifo() -> Self {
        let name = format!("test-{}.fifo", uuid::Uuid::new_v4().simple());
        Self::create(name, &[(QueueAttributeName::FifoQueue, "true")]).await
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
            .endpoint_url(local::var("AWS_ENDPOINT_URL"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .build()
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
            let in_time = started.elapsed() < Duration::from_secs(60);
            assert!(in_time, "{} of {n} messages within a minute", received.len());
        }
    }

    async fn receive(&self) -> Vec<Received> {
        let receive = self.client.receive_message().queue_url(&self.url);
        let receive = receive.max_number_of_messages(10).wait_time_seconds(1);
        let receive = receive.message_attribute_names("All");
        let receive = receive.message_system_attribute_names("All".into());
        let messages = receive.send().await.unwrap().messages.unwrap_or_default();
        for message in &messages {
            let handle = message.receipt_handle.as_deref().unwrap();
            self.client
                .delete_message()
                .queue_url(&self.url)
                .receipt_handle(handle)
                .send()
                .await
                .unwrap();
        }
        messages.into_iter().map(received).collect()
    }
}

fn received(message: Message) -> Received {
    let attributes = message.message_attributes.unwrap_or_default();
    let system = message.attributes.unwrap_or_default();
    Received {
        body: message.body.unwrap(),
        message_id: attributes["message_id"].string_value.clone().unwrap(),
        message_group: system
            .get(&aws_sdk_sqs::types::MessageSystemAttributeName::MessageGroupId)
            .cloned(),
    }
}

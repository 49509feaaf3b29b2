//! Queues and a topic of this run's own, and what a consumer finds in a queue.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use aws_config::SdkConfig;
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName, QueueAttributeName,
};
use indicatif::ProgressBar;
use serde_json::json;
use uuid::Uuid;

/// SQS and SNS, where this run's things have names of their own.
pub(crate) struct Broker {
    sqs: aws_sdk_sqs::Client,
    sns: aws_sdk_sns::Client,
    run: String,
}

/// A queue.
pub(crate) struct Queue {
    sqs: aws_sdk_sqs::Client,
    pub(crate) url: String,
    arn: String,
}

/// A message as a consumer gets it.
pub(crate) struct Received {
    pub(crate) message_id: Uuid,
    pub(crate) message_group: Option<String>,
    pub(crate) body: String,
    receipt: String,
}

/// How long a queue may be silent before what has not arrived counts as lost.
const PATIENCE: Duration = Duration::from_secs(10);

const QUEUES: [&str; 4] = ["orders.fifo", "events-audit", "events-billing", "invoices"];
const TOPIC: &str = "events";

impl Broker {
    pub(crate) fn new(config: &SdkConfig, run: &str) -> Self {
        let sqs = aws_sdk_sqs::Client::new(config);
        Self { sqs, sns: aws_sdk_sns::Client::new(config), run: run.to_owned() }
    }

    /// Creates one of [`QUEUES`].
    pub(crate) async fn create_queue(&self, name: &str) -> Result<Queue> {
        let mut create = self.sqs.create_queue().queue_name(self.name(name));
        #[expect(
            clippy::case_sensitive_file_extension_comparisons,
            reason = "SQS takes the ending in this form only"
        )]
        if name.ends_with(".fifo") {
            create = create.attributes(QueueAttributeName::FifoQueue, "true");
        }
        let url = create.send().await.context("a queue cannot be created")?.queue_url;
        let url = url.context("a new queue has no URL")?;
        let attributes = self.sqs.get_queue_attributes().queue_url(&url);
        let attributes = attributes.attribute_names(QueueAttributeName::QueueArn).send().await?;
        let arn = attributes.attributes.unwrap_or_default().remove(&QueueAttributeName::QueueArn);
        Ok(Queue { sqs: self.sqs.clone(), url, arn: arn.context("a new queue has no ARN")? })
    }

    /// Creates the topic, which copies every message to these queues as it is, and returns its ARN.
    pub(crate) async fn create_topic(&self, subscribers: [&Queue; 2]) -> Result<String> {
        let topic = self.topic_arn().await.context("a topic cannot be created")?;
        for queue in subscribers {
            queue.allow(&topic).await?;
            let subscribe = self.sns.subscribe().topic_arn(&topic).protocol("sqs");
            let subscribe = subscribe.endpoint(&queue.arn).attributes("RawMessageDelivery", "true");
            subscribe.send().await.context("a queue cannot be subscribed")?;
        }
        Ok(topic)
    }

    /// Deletes all of them, those that this run has not come to create too.
    pub(crate) async fn delete_all(&self) -> Result<()> {
        for name in QUEUES {
            let found = self.sqs.get_queue_url().queue_name(self.name(name)).send().await;
            // An error says that it is not there, or that the endpoint isn't, which the topic will tell.
            if let Some(url) = found.ok().and_then(|found| found.queue_url) {
                self.sqs.delete_queue().queue_url(url).send().await?;
            }
        }
        let topic = self.topic_arn().await.context("the topic cannot be deleted")?;
        self.sns.delete_topic().topic_arn(topic).send().await?;
        Ok(())
    }

    /// Creates the topic if it is not there: no other call of SNS finds one by its name.
    async fn topic_arn(&self) -> Result<String> {
        let topic = self.sns.create_topic().name(self.name(TOPIC)).send().await?;
        topic.topic_arn.context("a topic has no ARN")
    }

    fn name(&self, name: &str) -> String {
        format!("demo-{}-{name}", self.run)
    }
}

impl Queue {
    /// Lets the topic send here.
    async fn allow(&self, topic: &str) -> Result<()> {
        let policy = json!({
            "Version": "2012-10-17",
            "Statement": [{
                "Effect": "Allow",
                "Principal": { "Service": "sns.amazonaws.com" },
                "Action": "sqs:SendMessage",
                "Resource": self.arn,
                "Condition": { "ArnEquals": { "aws:SourceArn": topic } },
            }],
        });
        let set = self.sqs.set_queue_attributes().queue_url(&self.url);
        set.attributes(QueueAttributeName::Policy, policy.to_string()).send().await?;
        Ok(())
    }

    /// Receives until `n` messages have come and then none for a second, or none for ten before that, and deletes
    /// each batch after `effect` was done for all of it.
    pub(crate) async fn consume(
        &self,
        n: usize,
        bar: &ProgressBar,
        mut effect: impl AsyncFnMut(Received) -> Result<()>,
    ) -> Result<()> {
        let (mut n_received, mut last_arrival) = (0, Instant::now());
        loop {
            let batch = self.receive().await?;
            if batch.is_empty() {
                if n_received >= n || last_arrival.elapsed() > PATIENCE {
                    return Ok(());
                }
                continue;
            }
            last_arrival = Instant::now();
            n_received += batch.len();
            bar.inc(batch.len() as u64);
            let receipts: Vec<String> =
                batch.iter().map(|message| message.receipt.clone()).collect();
            for message in batch {
                effect(message).await?;
            }
            self.delete(&receipts).await?;
        }
    }

    /// All that [`consume`](Self::consume) receives, in the order of arrival.
    pub(crate) async fn collect(&self, n: usize, bar: &ProgressBar) -> Result<Vec<Received>> {
        let mut all = Vec::with_capacity(n);
        self.consume(n, bar, async |message| {
            all.push(message);
            Ok(())
        })
        .await?;
        Ok(all)
    }

    async fn receive(&self) -> Result<Vec<Received>> {
        let receive = self.sqs.receive_message().queue_url(&self.url);
        let receive = receive.max_number_of_messages(10).wait_time_seconds(1);
        let receive = receive.message_attribute_names("All");
        let receive =
            receive.message_system_attribute_names(MessageSystemAttributeName::MessageGroupId);
        let messages = receive.send().await.context("a queue cannot be read")?.messages;
        messages.unwrap_or_default().into_iter().map(Received::try_from).collect()
    }

    async fn delete(&self, receipts: &[String]) -> Result<()> {
        let mut delete = self.sqs.delete_message_batch().queue_url(&self.url);
        for (index, receipt) in receipts.iter().enumerate() {
            let entry = DeleteMessageBatchRequestEntry::builder();
            delete = delete.entries(entry.id(index.to_string()).receipt_handle(receipt).build()?);
        }
        delete.send().await.context("messages cannot be deleted")?;
        Ok(())
    }
}

impl TryFrom<Message> for Received {
    type Error = anyhow::Error;

    fn try_from(message: Message) -> Result<Self> {
        let attributes = message.message_attributes.unwrap_or_default();
        let message_id = attributes.get("message_id").and_then(|id| id.string_value.as_deref());
        let message_id = message_id.context("a message came without the attribute message_id")?;
        let mut system = message.attributes.unwrap_or_default();
        Ok(Self {
            message_id: message_id.parse()?,
            message_group: system.remove(&MessageSystemAttributeName::MessageGroupId),
            body: message.body.unwrap_or_default(),
            receipt: message.receipt_handle.unwrap_or_default(),
        })
    }
}

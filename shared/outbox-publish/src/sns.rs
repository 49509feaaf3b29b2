//! `PublishBatch`: entries to the wire, and its answer to outcomes.

use aws_sdk_sns::Client;
use aws_sdk_sns::config::{Config, Region};
use aws_sdk_sns::error::BuildError;
use aws_sdk_sns::operation::RequestId;
use aws_sdk_sns::types::{MessageAttributeValue, PublishBatchRequestEntry};
use outbox::{Attribute, Entry, Outcome};

use crate::answer::{Answer, entry_id};
use crate::request_error::RequestError;
use crate::span::record_request_id;

/// Publishes the entries to the topic with one call.
pub(crate) async fn send(
    client: &Client,
    topic_arn: &str,
    region: &str,
    request: &[Entry],
) -> Result<Vec<Outcome>, RequestError> {
    let entries = request.iter().enumerate().map(wire_entry).collect::<Result<_, _>>()?;
    let output = client
        .publish_batch()
        .topic_arn(topic_arn)
        .set_publish_batch_request_entries(Some(entries))
        .customize()
        // SNS answers "Invalid parameter: TopicArn" in any other region than the topic's (case B18).
        .config_override(Config::builder().region(Region::new(region.to_owned())))
        .send()
        .await;
    record_request_id(output.request_id());
    let output = output?;

    let mut answer = Answer::to(request.len());
    for entry in output.successful.unwrap_or_default() {
        answer.accepted(&entry.id.unwrap_or_default(), &entry.message_id.unwrap_or_default());
    }
    for entry in output.failed.unwrap_or_default() {
        answer.failed(&entry.id, &entry.code, entry.message.as_deref());
    }
    Ok(answer.into_outcomes())
}

/// Without `Subject`: its rules differ from those of a type's name (case A33), and `message_type` is an
/// attribute already.
fn wire_entry((index, entry): (usize, &Entry)) -> Result<PublishBatchRequestEntry, BuildError> {
    let attributes = entry.attributes.iter().map(wire_attribute).collect::<Result<_, _>>()?;
    PublishBatchRequestEntry::builder()
        .id(entry_id(index))
        .message(&entry.message.payload)
        .set_message_attributes(Some(attributes))
        .set_message_group_id(entry.group_id.clone())
        .set_message_deduplication_id(entry.deduplication_id.clone())
        .build()
}

fn wire_attribute(attribute: &Attribute) -> Result<(String, MessageAttributeValue), BuildError> {
    let value = MessageAttributeValue::builder()
        .data_type(attribute.data_type.as_str())
        .string_value(&attribute.value)
        .build()?;
    Ok((attribute.name.clone(), value))
}

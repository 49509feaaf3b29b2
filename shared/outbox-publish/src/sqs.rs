//! `SendMessageBatch`: entries to the wire, and its answer to outcomes.

use std::collections::HashMap;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{Config, Region};
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::operation::RequestId;
use aws_sdk_sqs::types::{
    MessageAttributeValue, MessageSystemAttributeNameForSends, MessageSystemAttributeValue,
    SendMessageBatchRequestEntry,
};
use outbox::{Attribute, AttributeType, Entry, Outcome};

use crate::answer::{Answer, entry_id};
use crate::request_error::RequestError;
use crate::span::record_request_id;

type SystemAttributes = HashMap<MessageSystemAttributeNameForSends, MessageSystemAttributeValue>;

/// Sends the entries to the queue with one call.
pub(crate) async fn send(
    client: &Client,
    queue_url: &str,
    region: Option<&str>,
    request: &[Entry],
) -> Result<Vec<Outcome>, RequestError> {
    let entries = request.iter().enumerate().map(wire_entry).collect::<Result<_, _>>()?;
    let mut call =
        client.send_message_batch().queue_url(queue_url).set_entries(Some(entries)).customize();
    if let Some(region) = region {
        // The SDK calls the region of its client, whatever the URL says (case B18).
        call = call.config_override(Config::builder().region(Region::new(region.to_owned())));
    }
    let output = call.send().await;
    record_request_id(output.request_id());
    let output = output?;

    let mut answer = Answer::to(request.len());
    for entry in output.successful {
        answer.accepted(&entry.id, &entry.message_id);
    }
    for entry in output.failed {
        answer.failed(&entry.id, &entry.code, entry.message.as_deref());
    }
    Ok(answer.into_outcomes())
}

/// Without `DelaySeconds`, also where it would be 0: FIFO queues refuse it (case A31).
fn wire_entry((index, entry): (usize, &Entry)) -> Result<SendMessageBatchRequestEntry, BuildError> {
    let attributes = entry.attributes.iter().map(wire_attribute).collect::<Result<_, _>>()?;
    SendMessageBatchRequestEntry::builder()
        .id(entry_id(index))
        .message_body(&entry.message.payload)
        .set_message_attributes(Some(attributes))
        .set_message_system_attributes(system_attributes(entry)?)
        .set_message_group_id(entry.group_id.clone())
        .set_message_deduplication_id(entry.deduplication_id.clone())
        .build()
}

/// The only one there is: where a consumer's own tracing looks for the producer's trace.
fn system_attributes(entry: &Entry) -> Result<Option<SystemAttributes>, BuildError> {
    let Some(header) = &entry.trace_header else { return Ok(None) };
    let value = MessageSystemAttributeValue::builder()
        .data_type(AttributeType::String.as_str())
        .string_value(header)
        .build()?;
    Ok(Some([(MessageSystemAttributeNameForSends::AwsTraceHeader, value)].into()))
}

fn wire_attribute(attribute: &Attribute) -> Result<(String, MessageAttributeValue), BuildError> {
    let value = MessageAttributeValue::builder()
        .data_type(attribute.data_type.as_str())
        .string_value(&attribute.value)
        .build()?;
    Ok((attribute.name.clone(), value))
}

//! A request to send that can't be carried out, for whoever wants to know whether it would be refused. It has no entry.
//!
//! Both services answer such a request with `EmptyBatchRequest`. Neither documents whether it looks at the permissions
//! before that, so that this answer proves no permission; a refusal for want of one is sure.

use aws_sdk_sns::config::Config as SnsConfig;
use aws_sdk_sqs::config::{Config as SqsConfig, Region};
use outbox::Failure;

use crate::request_error::RequestError;

/// What it says of a request without an entry.
const NOTHING_TO_SEND: &str = "EmptyBatchRequest";

/// Asks a queue.
pub(crate) async fn queue(
    client: &aws_sdk_sqs::Client,
    queue_url: &str,
    region: Option<&str>,
) -> Result<(), RequestError> {
    let call = client.send_message_batch().queue_url(queue_url).set_entries(Some(Vec::new()));
    let mut call = call.customize();
    if let Some(region) = region {
        call = call.config_override(SqsConfig::builder().region(Region::new(region.to_owned())));
    }
    Ok(call.send().await.map(drop)?)
}

/// Asks a topic.
pub(crate) async fn topic(
    client: &aws_sdk_sns::Client,
    topic_arn: &str,
    region: &str,
) -> Result<(), RequestError> {
    let call = client.publish_batch().topic_arn(topic_arn);
    let call = call.set_publish_batch_request_entries(Some(Vec::new())).customize();
    let config = SnsConfig::builder().region(Region::new(region.to_owned()));
    Ok(call.config_override(config).send().await.map(drop)?)
}

/// Whether it was refused for anything else than that it holds nothing.
pub(crate) fn refusal(answer: Result<(), RequestError>) -> Result<(), Failure> {
    match answer.map_err(RequestError::into_failure) {
        Err(failure) if failure.code != NOTHING_TO_SEND => Err(failure),
        _ => Ok(()),
    }
}

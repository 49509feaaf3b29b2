//! Names of spans and of their attributes, once: for the code that makes them, for the document and for the tests.
//!
//! They are those of OpenTelemetry's semantic conventions for messaging, where these have one, and ours under `outbox.`
//! where not. `docs/telemetry.md` is the same table for people, and a test compares the two.

/// The version of the semantic conventions that the names are taken from. Messaging is in development there.
pub const CONVENTIONS: &str = "1.45.0";

/// One kind of span.
#[derive(Debug, PartialEq, Eq)]
pub struct SpanKind {
    /// Its name; `{destination}` stands for the logical name of one.
    pub name: &'static str,
    /// OpenTelemetry's kind.
    pub kind: &'static str,
    /// The attributes that it may have.
    pub attributes: &'static [&'static str],
    /// What it covers, in one sentence.
    pub about: &'static str,
}

/// Names of attributes.
pub mod attribute {
    /// `aws_sqs` or `aws.sns`.
    pub const SYSTEM: &str = "messaging.system";
    /// `send` to a queue, `publish` to a topic.
    pub const OPERATION_NAME: &str = "messaging.operation.name";
    /// `send`.
    pub const OPERATION_TYPE: &str = "messaging.operation.type";
    /// The logical name of the destination.
    pub const DESTINATION: &str = "messaging.destination.name";
    /// Messages of a request or a claim; left out for a request of one.
    pub const MESSAGE_COUNT: &str = "messaging.batch.message_count";
    /// The broker's id of the message, if it is the only one and was accepted.
    pub const MESSAGE_ID: &str = "messaging.message.id";
    /// The queue.
    pub const QUEUE_URL: &str = "aws.sqs.queue.url";
    /// The topic.
    pub const TOPIC_ARN: &str = "aws.sns.topic.arn";
    /// The broker's id of the request.
    pub const REQUEST_ID: &str = "aws.request_id";
    /// Why it failed, as a code of few values; only on failure.
    pub const ERROR_TYPE: &str = "error.type";
    /// Lambda's id of the invocation.
    pub const INVOCATION_ID: &str = "faas.invocation_id";
    /// Whether the invocation is the first of its container.
    pub const COLD_START: &str = "faas.coldstart";
    /// The token of the claim.
    pub const CLAIM_TOKEN: &str = "outbox.claim.token";
}

use attribute as a;

/// One request to SQS or SNS, with a link to the context that each of its messages was created in.
pub const SEND: SpanKind = SpanKind {
    name: "send {destination}",
    kind: "CLIENT",
    attributes: &[
        a::SYSTEM,
        a::OPERATION_NAME,
        a::OPERATION_TYPE,
        a::DESTINATION,
        a::MESSAGE_COUNT,
        a::MESSAGE_ID,
        a::QUEUE_URL,
        a::TOPIC_ARN,
        a::REQUEST_ID,
        a::ERROR_TYPE,
    ],
    about: "One request to SQS or SNS with all of its attempts, linked to the `traceparent` of each message.",
};

/// A run of the relay.
pub const RUN: SpanKind = SpanKind {
    name: "outbox run",
    kind: "INTERNAL",
    attributes: &[a::INVOCATION_ID, a::COLD_START, a::ERROR_TYPE],
    about: "A run of the relay, the root of the others.",
};

/// One statement that leases messages.
pub const CLAIM: SpanKind = SpanKind {
    name: "outbox claim",
    kind: "INTERNAL",
    attributes: &[a::MESSAGE_COUNT, a::CLAIM_TOKEN, a::ERROR_TYPE],
    about: "One statement that leases messages.",
};

/// The marks of a claim, with all tries.
pub const MARK: SpanKind = SpanKind {
    name: "outbox mark",
    kind: "INTERNAL",
    attributes: &[a::MESSAGE_COUNT, a::CLAIM_TOKEN, a::ERROR_TYPE],
    about: "Writing the marks of messages, with all tries.",
};

/// All kinds of spans, in the order of `docs/telemetry.md`.
pub const SPANS: &[&SpanKind] = &[&RUN, &CLAIM, &SEND, &MARK];

#[cfg(test)]
mod tests {
    use super::*;

    /// A span as the document has it.
    fn row(span: &SpanKind) -> String {
        let attributes: Vec<_> = span.attributes.iter().map(|name| format!("`{name}`")).collect();
        format!("| `{}` | {} | {} | {} |", span.name, span.kind, attributes.join(", "), span.about)
    }

    #[test]
    fn the_document_has_a_row_for_each_span_in_order_and_no_other() {
        let page = include_str!("../../../docs/telemetry.md");
        let spans = page.split("\n## Spans").nth(1).unwrap();
        assert!(spans.contains(CONVENTIONS), "the version of the conventions");
        let table = spans.split("To turn them on").next().unwrap();
        let rows: Vec<_> = table.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(rows, SPANS.iter().map(|span| row(span)).collect::<Vec<_>>());
    }
}

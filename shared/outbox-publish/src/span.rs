//! The span of a request. It is made only where somebody takes spans in (feature `otel` of a function); else it costs a look
//! at a flag.

use outbox::telemetry::attribute;
use outbox::{Destination, Entry, Outcome, Target};
use tracing::field::Empty;
use tracing::{Span, info_span};

use crate::echo::code_without;
use crate::request_error::RequestError;

/// The span of a request with these entries, linked to the context that each was created in.
///
/// It is of the kind `CLIENT`: a message's own context is its producer's, and is never replaced by this one.
pub(crate) fn of(destination: &Destination, request: &[Entry]) -> Span {
    let (system, operation) = match destination.target {
        Target::Queue { .. } => ("aws_sqs", "send"),
        Target::Topic { .. } => ("aws.sns", "publish"),
    };
    let span = info_span!(
        "send",
        otel.name = format_args!("send {}", destination.name),
        otel.kind = "client",
        otel.status_code = Empty,
        { attribute::SYSTEM } = system,
        { attribute::OPERATION_NAME } = operation,
        { attribute::OPERATION_TYPE } = "send",
        { attribute::DESTINATION } = destination.name,
        { attribute::MESSAGE_COUNT } = message_count(request),
        { attribute::MESSAGE_ID } = Empty,
        { attribute::QUEUE_URL } = Empty,
        { attribute::TOPIC_ARN } = Empty,
        { attribute::REQUEST_ID } = Empty,
        { attribute::ERROR_TYPE } = Empty,
    );
    match &destination.target {
        Target::Queue { url, .. } => span.record(attribute::QUEUE_URL, url),
        Target::Topic { arn, .. } => span.record(attribute::TOPIC_ARN, arn),
    };
    #[cfg(feature = "otel")]
    link::to_creation(&span, request);
    span
}

/// As a signed number: the bridge to OpenTelemetry makes a text of an unsigned one.
fn message_count(request: &[Entry]) -> Option<i64> {
    i64::try_from(request.len()).ok().filter(|n| *n > 1)
}

/// Notes the broker's id of the request in the span that is open.
pub(crate) fn record_request_id(request_id: Option<&str>) {
    Span::current().record(attribute::REQUEST_ID, request_id);
}

/// Notes what became of the request: with an error if it failed, or the first of its entries that did.
pub(crate) fn record_answer(
    span: &Span,
    answer: &Result<Vec<Outcome>, RequestError>,
    request: &[Entry],
) {
    let failed = match answer {
        Err(error) => Some(error.code()),
        Ok(outcomes) => outcomes.iter().find_map(|outcome| match outcome {
            Outcome::Failed(failure) => Some(failure.code.as_str()),
            Outcome::Accepted { .. } => None,
        }),
    };
    if let Some(code) = failed {
        span.record(attribute::ERROR_TYPE, code_without(code, request))
            .record("otel.status_code", "ERROR");
    }
    if let Ok([Outcome::Accepted { broker_message_id }]) = answer.as_deref() {
        span.record(attribute::MESSAGE_ID, broker_message_id);
    }
}

#[cfg(feature = "otel")]
mod link {
    use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};
    use outbox::{Entry, TraceContext};
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    /// One link for each message with a well-formed `traceparent`, sampled or not.
    pub(super) fn to_creation(span: &Span, request: &[Entry]) {
        if span.is_disabled() {
            return;
        }
        let traceparents = request.iter().filter_map(|entry| entry.message.traceparent.as_deref());
        for context in traceparents.filter_map(TraceContext::parse) {
            let (trace, parent) = (
                TraceId::from_hex(context.trace_id).unwrap_or(TraceId::INVALID),
                SpanId::from_hex(context.span_id).unwrap_or(SpanId::INVALID),
            );
            let flags = TraceFlags::default().with_sampled(context.is_sampled);
            span.add_link(SpanContext::new(trace, parent, flags, true, TraceState::default()));
        }
    }
}

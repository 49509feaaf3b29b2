//! The spans of a run, made only where somebody takes spans in (feature `otel` of a function). Those of requests are the
//! publisher's.

use outbox::ClaimToken;
use outbox::telemetry::attribute;
use outbox_store::Claim;
use tracing::field::{Empty, display};
use tracing::{Span, info_span};

use crate::error::Error;

/// A run.
pub(crate) fn run() -> Span {
    info_span!("outbox run", otel.status_code = Empty, { attribute::ERROR_TYPE } = Empty)
}

/// One statement that leases messages.
pub(crate) fn claim() -> Span {
    info_span!(
        "outbox claim",
        otel.status_code = Empty,
        { attribute::MESSAGE_COUNT } = Empty,
        { attribute::CLAIM_TOKEN } = Empty,
        { attribute::ERROR_TYPE } = Empty,
    )
}

/// Notes what was claimed.
pub(crate) fn record_claim(span: &Span, claim: &Claim) {
    span.record(attribute::MESSAGE_COUNT, signed(claim.messages.len()))
        .record(attribute::CLAIM_TOKEN, display(claim.token.as_uuid()));
}

/// Writing so many marks of a claim.
pub(crate) fn mark(token: ClaimToken, n_messages: usize) -> Span {
    info_span!(
        "outbox mark",
        otel.status_code = Empty,
        { attribute::MESSAGE_COUNT } = signed(n_messages),
        { attribute::CLAIM_TOKEN } = %token.as_uuid(),
        { attribute::ERROR_TYPE } = Empty,
    )
}

/// The bridge to OpenTelemetry makes a text of an unsigned number.
fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Notes that it failed, if it did.
pub(crate) fn record_error(span: &Span, error: Option<&Error>) {
    if let Some(error) = error {
        span.record(attribute::ERROR_TYPE, error.store().code())
            .record("otel.status_code", "ERROR");
    }
}

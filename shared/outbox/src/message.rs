//! A message: as an application enqueues it, and as a relay claims it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A message to enqueue; the fields are the named arguments of the SQL function `outbox.enqueue`.
///
/// Also one line of an `outbox enqueue --file` input. A field of another name is refused, so that a
/// misspelt `message_grup` cannot silently lose an ordering.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewMessage {
    /// Logical name of where it goes, such as `orders`; the relay's settings map it to a queue or topic.
    pub destination: String,
    /// Logical, versioned name of what happened, such as `order.placed.v1`.
    pub message_type: String,
    /// The body, which leaves byte for byte as given here.
    pub payload: String,
    /// Ordering key: messages of one group of a destination are published in `id` order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_group: Option<String>,
    /// Identity that every copy carries, unique per destination. Left out, the database makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Uuid>,
    /// Further message attributes: a JSON string is sent as `String`, a JSON number as `Number`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, serde_json::Value>,
    /// Earliest time of publication, as Postgres reads a `timestamptz` (`2026-12-24T18:00:00Z`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_at: Option<String>,
    /// What this message belongs to, for people and for consumers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// W3C trace context of the producer, sent on as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// W3C trace state of the producer, kept with the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
    /// Media type of the payload; `application/json` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

impl NewMessage {
    /// A message with the three fields that every message has.
    pub fn new(
        destination: impl Into<String>,
        message_type: impl Into<String>,
        payload: impl Into<String>,
    ) -> Self {
        Self {
            destination: destination.into(),
            message_type: message_type.into(),
            payload: payload.into(),
            ..Self::default()
        }
    }

    /// Puts the message into an ordering group.
    #[must_use]
    pub fn in_group(mut self, message_group: impl Into<String>) -> Self {
        self.message_group = Some(message_group.into());
        self
    }

    /// Gives the message an identity of the caller's, which makes enqueueing it repeatable.
    #[must_use]
    pub fn with_message_id(mut self, message_id: Uuid) -> Self {
        self.message_id = Some(message_id);
        self
    }
}

/// A claimed row of `outbox.message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Order of publication inside a group.
    pub id: i64,
    /// Identity that every copy carries.
    pub message_id: Uuid,
    /// Logical name of the destination.
    pub destination: String,
    /// Logical, versioned name of what happened.
    pub message_type: String,
    /// Ordering key; `None` is unordered.
    pub message_group: Option<String>,
    /// The body as stored.
    pub payload: String,
    /// Media type of the payload.
    pub content_type: String,
    /// The `headers` column: the text of a JSON object.
    pub headers: String,
    /// What the message belongs to.
    pub correlation_id: Option<String>,
    /// The producer's trace context.
    pub traceparent: Option<String>,
    /// How often the message has been claimed, this claim included: 1 or more.
    pub attempts: i32,
    /// Claims in a row before this one that ended without an outcome.
    pub lost_claims: i32,
    /// Whether it has been sent alone since then, and that claim was lost too.
    pub was_alone: bool,
    /// Whether an attempt has failed since it was enqueued or redriven.
    pub has_failed: bool,
}

/// The fence of one claim: fresh each time, so that a relay that lost its lease can mark nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClaimToken(Uuid);

impl ClaimToken {
    /// A token made of a random number that no other claim has.
    #[must_use]
    pub fn new(fresh: Uuid) -> Self {
        Self(fresh)
    }

    /// The token as stored in `claim_token`.
    pub fn as_uuid(self) -> Uuid {
        self.0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A plain message, the arrangement of most tests here.
    pub(crate) fn message(id: i64) -> Message {
        Message {
            id,
            message_id: Uuid::from_u128(u128::try_from(id).unwrap()),
            destination: "orders".into(),
            message_type: "order.placed.v1".into(),
            message_group: None,
            payload: r#"{"id":42}"#.into(),
            content_type: "application/json".into(),
            headers: "{}".into(),
            correlation_id: None,
            traceparent: None,
            attempts: 1,
            lost_claims: 0,
            was_alone: false,
            has_failed: false,
        }
    }

    #[test]
    fn a_misspelt_field_is_refused_by_name() {
        let line = r#"{"destination":"d","message_type":"t","payload":"p","message_grup":"g"}"#;
        let error = serde_json::from_str::<NewMessage>(line).unwrap_err().to_string();
        assert!(error.contains("message_grup"), "{error}");
    }
}

//! Show: all about one message: where it is, what happened to it, what it waits for, and what can be done.

mod waits;

use outbox_store::{AuditEntry, Message, Store, WantedContent};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use uuid::Uuid;

use crate::error::Error;
use crate::meaning::meaning;
use crate::moment::time;

/// Which message, and whether what is in it is wanted, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// The message with this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// Those with this message id: one for each destination that it was enqueued to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Uuid>,
    /// Whether to show the payload.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub payload: bool,
    /// Whether to show the values of the headers; their names are always shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headers: bool,
}

/// What there is to know.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// The messages; none if they are not in the outbox.
    pub messages: Vec<ShownMessage>,
    /// What operators did, the latest first, as far as the latest rows of `outbox.audit` say.
    pub audit: Vec<Deed>,
    /// What to do if there is no message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// A message. Times are in UTC, by the database's clock.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the columns of outbox.message, where each has its comment")]
pub struct ShownMessage {
    pub id: i64,
    pub message_id: Uuid,
    pub destination: String,
    pub message_type: String,
    pub message_group: Option<String>,
    /// `pending`, `claimed`, `dispatched` or `dead`.
    pub status: String,
    /// What it waits for, a sentence each; nothing if it is finished.
    pub waits_for: Vec<String>,
    /// What can be typed next.
    pub next: Vec<String>,
    pub attempts: i32,
    pub lost_claims: i32,
    pub created_at: String,
    /// How long ago that was, in seconds.
    pub age_seconds: i64,
    pub available_at: Option<String>,
    pub claimed_by: Option<String>,
    pub locked_until: Option<String>,
    pub first_failed_at: Option<String>,
    pub last_error: Option<LastError>,
    pub dispatched_at: Option<String>,
    pub broker_message_id: Option<String>,
    pub dead_at: Option<String>,
    pub dead_reason: Option<String>,
    pub holds_group: bool,
    pub correlation_id: Option<String>,
    pub traceparent: Option<String>,
    pub tracestate: Option<String>,
    pub content_type: String,
    pub header_names: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Box<RawValue>>,
    pub payload_bytes: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
}

/// The latest failure, and what it means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastError {
    /// Its code, as in docs/outcomes.md and docs/limits.md.
    pub code: Option<String>,
    /// Its text.
    pub text: Option<String>,
    /// What the code means.
    pub meaning: &'static str,
    /// What to do.
    pub advice: &'static str,
}

/// What an operator did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deed {
    /// When.
    pub acted_at: String,
    /// Who, as the program was told.
    pub actor: String,
    /// Who, as the database knows.
    pub db_user: String,
    /// What.
    pub action: String,
    /// Why.
    pub reason: String,
    /// Whether the audit names the message; else it was on all of its destination, or on all, and may have been on it.
    pub names_it: bool,
}

impl Show {
    /// Checks that it names a message, and one only.
    ///
    /// # Errors
    /// [`Error::Usage`] says what is wrong, and how to put it right.
    pub fn check(&self) -> Result<(), Error> {
        match (self.id, self.message_id) {
            (Some(_), None) | (None, Some(_)) => Ok(()),
            _ => Err(Error::Usage(
                "show needs either an id or a message id, for example {\"command\": \"show\", \"id\": 7}".to_owned(),
            )),
        }
    }

    pub(crate) async fn execute(&self, store: &Store) -> Result<Shown, Error> {
        self.check()?;
        store.check_version().await?;
        let wanted = WantedContent { headers: self.headers, payload: self.payload };
        let messages = store.show(self.id, self.message_id, wanted).await?;
        let audit = store.audit_of(&messages, self.id, self.message_id).await?;
        let advice = messages.is_empty().then(|| not_there(&audit));
        Ok(Shown {
            messages: messages.into_iter().map(ShownMessage::from).collect(),
            audit: audit.into_iter().map(Deed::from).collect(),
            advice,
        })
    }
}

/// Where a message may be that is not there.
fn not_there(audit: &[AuditEntry]) -> String {
    match audit.first() {
        Some(AuditEntry { action, .. }) if action == "discard" => {
            "it was discarded: the audit has who and why; the message itself is gone".to_owned()
        }
        Some(_) => "it is not there any more under this id, but the audit names it; if it was redriven with a fresh \
                    message id, the audit has the new one in its details"
            .to_owned(),
        None => "it was never enqueued or its transaction rolled back, or it was dispatched and is purged by now: then it \
                 is in the archive if OUTBOX_ARCHIVE was set for the purge (docs/archive.md)"
            .to_owned(),
    }
}

impl From<Message> for ShownMessage {
    fn from(of: Message) -> Self {
        let (waits_for, next) = waits::judge(&of);
        let has_failed = of.last_error_code.is_some() || of.last_error.is_some();
        let last_error = has_failed.then(|| {
            let (meaning, advice) = meaning(of.last_error_code.as_deref().unwrap_or_default());
            LastError { code: of.last_error_code, text: of.last_error, meaning, advice }
        });
        Self {
            id: of.id,
            message_id: of.message_id,
            destination: of.destination,
            message_type: of.message_type,
            message_group: of.message_group,
            status: of.status,
            waits_for,
            next,
            attempts: of.attempts,
            lost_claims: of.lost_claims,
            created_at: time(of.created_ms),
            age_seconds: of.now_ms.saturating_sub(of.created_ms) / 1_000,
            available_at: of.available_ms.map(time),
            claimed_by: of.claimed_by,
            locked_until: of.locked_until_ms.map(time),
            first_failed_at: of.first_failed_ms.map(time),
            last_error,
            dispatched_at: of.dispatched_ms.map(time),
            broker_message_id: of.broker_message_id,
            dead_at: of.dead_ms.map(time),
            dead_reason: of.dead_reason,
            holds_group: of.holds_group,
            correlation_id: of.correlation_id,
            traceparent: of.traceparent,
            tracestate: of.tracestate,
            content_type: of.content_type,
            header_names: of.header_names,
            headers: of.headers.map(raw),
            payload_bytes: of.payload_bytes,
            payload: of.payload,
        }
    }
}

impl From<AuditEntry> for Deed {
    fn from(entry: AuditEntry) -> Self {
        let AuditEntry { acted_ms, actor, db_user, action, reason, names_it } = entry;
        Self { acted_at: time(acted_ms), actor, db_user, action, reason, names_it }
    }
}

/// The headers as the database wrote them, digit for digit.
fn raw(headers: String) -> Box<RawValue> {
    RawValue::from_string(headers)
        .or_else(|_| serde_json::value::to_raw_value(&Value::Null))
        .expect("null is JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_show_names_a_message_by_one_of_its_two_ids() {
        let message_id = Some(Uuid::nil());
        for (show, is_allowed) in [
            (Show { id: Some(7), ..Show::default() }, true),
            (Show { message_id, ..Show::default() }, true),
            (Show::default(), false),
            (Show { id: Some(7), message_id, ..Show::default() }, false),
        ] {
            assert_eq!(show.check().is_ok(), is_allowed, "{show:?}");
        }
    }
}

//! List: the messages that match, a page at a time.

use outbox_store::{Filter, ListedMessage, State, Store};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::Error;
use crate::moment::{Moment, time};

/// Messages of a page if nothing is said, and the most.
const LIMIT: i64 = 50;
const MOST: i64 = 1_000;

/// Which messages; whatever is given must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Those that are there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<State>,
    /// This destination only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// This type only; in JSON also `type`, as on the command line.
    #[serde(default, alias = "type", skip_serializing_if = "Option::is_none")]
    pub message_type: Option<String>,
    /// This message group only, of whatever destination; in JSON also `group`, as on the command line.
    #[serde(default, alias = "group", skip_serializing_if = "Option::is_none")]
    pub message_group: Option<String>,
    /// What belongs to this only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// The message with this message id, at each of its destinations; goes with nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<Uuid>,
    /// Those whose last error has this code only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Those enqueued at that time or later only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Moment>,
    /// Those enqueued at that time or earlier only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
    /// Whether the oldest come first, and not the newest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub oldest_first: bool,
    /// Only what comes after the message with this id: the `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    /// Most messages; 50 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

/// A page of messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Page {
    /// The messages, in order.
    pub messages: Vec<Item>,
    /// The id after which the next page begins, if there may be one.
    pub next: Option<i64>,
    /// Whether the time was up before the page was full: `next` goes on.
    pub ended_early: bool,
}

/// A message as a list has it, without payload and headers. Times are in UTC, by the database's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the columns of outbox.message_status, where each has its comment")]
pub struct Item {
    pub id: i64,
    pub message_id: Uuid,
    pub destination: String,
    pub message_type: String,
    pub message_group: Option<String>,
    pub status: String,
    pub attempts: i32,
    pub created_at: String,
    /// How long ago that was, in seconds.
    pub age_seconds: i64,
    pub available_at: Option<String>,
    pub dispatched_at: Option<String>,
    pub dead_at: Option<String>,
    pub dead_reason: Option<String>,
    pub last_error_code: Option<String>,
    pub correlation_id: Option<String>,
}

impl List {
    /// Checks that every part makes sense.
    ///
    /// # Errors
    /// [`Error::Usage`] says what is wrong, and how to put it right.
    pub fn check(&self) -> Result<(), Error> {
        let named = [
            ("destination", &self.destination, "orders"),
            ("type", &self.message_type, "order.placed.v1"),
            ("message group", &self.message_group, "customer-7"),
            ("correlation id", &self.correlation_id, "order-42"),
            ("code", &self.code, "no_route"),
        ];
        let is_blank = |text: &Option<String>| text.as_ref().is_some_and(|t| t.trim().is_empty());
        let has_more = named.iter().any(|(_, given, _)| given.is_some())
            || self.status.is_some()
            || self.since.is_some()
            || self.until.is_some()
            || self.after.is_some();
        let problem = if let Some((part, _, example)) = named.iter().find(|(_, of, _)| is_blank(of))
        {
            format!(
                "the {part} is empty; leave it out for any, or name one, for example \"{example}\""
            )
        } else if let Some(limit) = self.limit.filter(|limit| !(1..=MOST).contains(limit)) {
            format!(
                "the limit {limit} is not allowed; allowed: 1 to {MOST} messages, for example {LIMIT}"
            )
        } else if self.message_id.is_some() && has_more {
            "a message id goes with nothing else: it names its message at each of its destinations"
                .to_owned()
        } else {
            return Ok(());
        };
        Err(Error::Usage(problem))
    }

    pub(crate) async fn execute(&self, store: &Store) -> Result<Page, Error> {
        self.check()?;
        store.check_version().await?;
        let listed = match self.message_id {
            Some(message_id) => store.list_copies(message_id).await,
            None => store.list(&self.filter()).await,
        };
        let listed = listed.map_err(|error| match error {
            error if error.is_cancelled() => Error::TooMuch(error),
            error => Error::Store(error),
        })?;
        let messages = listed.messages.into_iter().map(Item::from).collect();
        Ok(Page { messages, next: listed.next, ended_early: listed.ended_early })
    }

    fn filter(&self) -> Filter {
        Filter {
            state: self.status,
            destination: self.destination.clone(),
            message_type: self.message_type.clone(),
            message_group: self.message_group.clone(),
            correlation_id: self.correlation_id.clone(),
            code: self.code.clone(),
            since: self.since.map(Moment::when),
            until: self.until.map(Moment::when),
            oldest_first: self.oldest_first,
            after: self.after,
            limit: self.limit.unwrap_or(LIMIT),
        }
    }
}

impl From<ListedMessage> for Item {
    fn from(of: ListedMessage) -> Self {
        Self {
            id: of.id,
            message_id: of.message_id,
            destination: of.destination,
            message_type: of.message_type,
            message_group: of.message_group,
            status: of.status,
            attempts: of.attempts,
            created_at: time(of.created_ms),
            age_seconds: of.now_ms.saturating_sub(of.created_ms) / 1_000,
            available_at: of.available_ms.map(time),
            dispatched_at: of.dispatched_ms.map(time),
            dead_at: of.dead_ms.map(time),
            dead_reason: of.dead_reason,
            last_error_code: of.last_error_code,
            correlation_id: of.correlation_id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_bounded_and_its_parts_make_sense() {
        let uuid = Some(Uuid::nil());
        for good in [
            List::default(),
            List { limit: Some(1_000), ..List::default() },
            List { message_id: uuid, ..List::default() },
        ] {
            assert!(good.check().is_ok(), "{good:?}");
        }
        for (bad, named) in [
            (List { limit: Some(0), ..List::default() }, "1 to 1000"),
            (List { limit: Some(1_001), ..List::default() }, "the limit 1001"),
            (List { code: Some(" ".into()), ..List::default() }, "code is empty"),
            (List { message_id: uuid, after: Some(7), ..List::default() }, "with nothing else"),
        ] {
            let error = bad.check().unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}

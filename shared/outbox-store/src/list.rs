//! List: the messages that match a filter, in order of id; for operators.
//!
//! No index serves all that may be asked for, and a table of millions is not read for a question. So there are four ways:
//! a message id has an index; the dead and the unfinished have theirs, which do not know the dispatched messages, nearly
//! all there are; and for the rest the table is walked in order of id, in windows, each a statement of its own, until
//! enough were found or the time is up. Then the answer says where to go on.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::connection::{self, Param};
use crate::error::Error;
use crate::store::Store;

/// Rows of the first window, which is nearly always enough, and of the largest: 300,000 rows without a match took 1.1 s on
/// a busy machine.
const WINDOWS: (i64, i64) = (2_000, 100_000);

/// How long to walk.
const WALK_FOR: Duration = Duration::from_secs(10);

/// Where a message is; `due`, `retrying` and `scheduled` are kinds of `pending`, as in `outbox.backlog`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Neither claimed nor finished.
    Pending,
    /// Pending, and its time has come.
    Due,
    /// Pending, and waiting for another attempt.
    Retrying,
    /// Pending, not failed, and waiting for its time.
    Scheduled,
    /// Held by a relay.
    Claimed,
    /// Accepted by SQS or SNS, and marked.
    Dispatched,
    /// Waiting for a person.
    Dead,
}

/// A time, by the database's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// So long before now.
    Ago(Duration),
    /// In milliseconds since 1970.
    At(i64),
}

/// Which messages; every part that is given must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Where they are.
    pub state: Option<State>,
    /// Their destination.
    pub destination: Option<String>,
    /// Their type.
    pub message_type: Option<String>,
    /// Their message group, of whatever destination.
    pub message_group: Option<String>,
    /// What they belong to.
    pub correlation_id: Option<String>,
    /// Code of their last error.
    pub code: Option<String>,
    /// Enqueued at that time or later.
    pub since: Option<When>,
    /// Enqueued at that time or earlier.
    pub until: Option<When>,
    /// Whether the oldest come first.
    pub oldest_first: bool,
    /// Only those that come after the message with this id, in that order.
    pub after: Option<i64>,
    /// Most messages.
    pub limit: i64,
}

/// A message as a list has it; times in milliseconds since 1970, by the database's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of outbox.message_status, where each has its comment")]
pub struct ListedMessage {
    pub id: i64,
    pub message_id: Uuid,
    pub destination: String,
    pub message_type: String,
    pub message_group: Option<String>,
    pub status: String,
    pub attempts: i32,
    pub created_ms: i64,
    pub available_ms: Option<i64>,
    pub dispatched_ms: Option<i64>,
    pub dead_ms: Option<i64>,
    pub dead_reason: Option<String>,
    pub last_error_code: Option<String>,
    pub correlation_id: Option<String>,
    /// When the database was asked.
    pub now_ms: i64,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The messages, in order.
    pub messages: Vec<ListedMessage>,
    /// The id after which to go on, if there may be more.
    pub next: Option<i64>,
    /// Whether the time was up before enough were found, so that there may be more although fewer are here.
    pub ended_early: bool,
}

impl State {
    /// The word, as it is typed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Due => "due",
            Self::Retrying => "retrying",
            Self::Scheduled => "scheduled",
            Self::Claimed => "claimed",
            Self::Dispatched => "dispatched",
            Self::Dead => "dead",
        }
    }
}

impl Store {
    /// Lists messages by the way that reads least. None of them takes a lock, or a payload out of the database.
    ///
    /// # Errors
    /// See [`Error`]; [`Error::is_cancelled`] if the dead or the unfinished messages are too many to read.
    pub async fn list(&self, filter: &Filter) -> Result<Listed, Error> {
        match filter.state {
            None | Some(State::Dispatched) => self.walk(filter, WALK_FOR).await,
            Some(State::Dead) => self.list_kept(&self.sql.list_dead, None, filter).await,
            Some(state) => {
                let sql = &self.sql.list_unfinished;
                self.list_kept(sql, Some(state.as_str()), filter).await
            }
        }
    }

    /// The messages with that message id: one for each destination that it was enqueued to.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn list_copies(&self, message_id: Uuid) -> Result<Listed, Error> {
        let params = [(&message_id as _, Type::UUID)];
        let rows = connection::query(&self.pool, &self.sql.list_copies, &params).await?;
        Ok(Listed { messages: rows.iter().map(message).collect(), ..Listed::default() })
    }

    /// The newest messages that are neither dispatched nor dead, and the newest of the dead: at most so many of each.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn newest_kept(&self, limit: i64) -> Result<Vec<ListedMessage>, Error> {
        let filter = Filter { limit, ..Filter::default() };
        let unfinished = &self.sql.list_unfinished;
        let mut kept = self.list_kept(unfinished, Some("unfinished"), &filter).await?.messages;
        kept.extend(self.list_kept(&self.sql.list_dead, None, &filter).await?.messages);
        Ok(kept)
    }

    async fn list_kept(
        &self,
        sql: &str,
        state: Option<&str>,
        filter: &Filter,
    ) -> Result<Listed, Error> {
        let (since, until) = self.times(filter).await?;
        let after = filter.begin();
        let newest_first = !filter.oldest_first;
        let params = [
            (&state as _, Type::TEXT),
            (&filter.destination as _, Type::TEXT),
            (&filter.message_type as _, Type::TEXT),
            (&filter.message_group as _, Type::TEXT),
            (&filter.correlation_id as _, Type::TEXT),
            (&filter.code as _, Type::TEXT),
            (&until as _, Type::INT8),
            (&since as _, Type::INT8),
            (&newest_first as _, Type::BOOL),
            (&after as _, Type::INT8),
            (&filter.limit as _, Type::INT8),
        ];
        let [rows] = connection::guarded(&self.pool, [(sql, &params)]).await?;
        let messages: Vec<_> = rows.iter().map(message).collect();
        let is_full = i64::try_from(messages.len()).unwrap_or(i64::MAX) >= filter.limit;
        let next = messages.last().filter(|_| is_full).map(|last| last.id);
        Ok(Listed { messages, next, ended_early: false })
    }

    /// The times of enqueueing that count; ages are taken from the database's clock, once.
    async fn times(&self, filter: &Filter) -> Result<(Option<i64>, Option<i64>), Error> {
        if filter.since.is_none() && filter.until.is_none() {
            return Ok((None, None));
        }
        let now_ms = self.now_us().await? / 1_000;
        let at = |when: Option<When>| when.map(|when| when.at(now_ms));
        Ok((at(filter.since), at(filter.until)))
    }

    async fn walk(&self, filter: &Filter, walk_for: Duration) -> Result<Listed, Error> {
        let started = Instant::now();
        let (since, until) = self.times(filter).await?;
        let mut after = filter.begin();
        let (state, newest_first) = (filter.state.map(State::as_str), !filter.oldest_first);
        let mut listed = Listed::default();
        let (mut window, largest) = WINDOWS;
        loop {
            let n_found = i64::try_from(listed.messages.len()).unwrap_or(i64::MAX);
            let n_wanted = filter.limit - n_found;
            let params: [Param<'_>; 12] = [
                (&state as _, Type::TEXT),
                (&filter.destination as _, Type::TEXT),
                (&filter.message_type as _, Type::TEXT),
                (&filter.message_group as _, Type::TEXT),
                (&filter.correlation_id as _, Type::TEXT),
                (&filter.code as _, Type::TEXT),
                (&until as _, Type::INT8),
                (&since as _, Type::INT8),
                (&newest_first as _, Type::BOOL),
                (&after as _, Type::INT8),
                (&n_wanted as _, Type::INT8),
                (&window as _, Type::INT8),
            ];
            let [rows] = connection::guarded(&self.pool, [(&self.sql.list, &params)]).await?;
            let n_looked_at: i64 = rows[0].get("n_looked_at");
            let last_id: Option<i64> = rows[0].get("last_id");
            let is_match = |row: &&Row| row.get::<_, Option<i64>>("id").is_some();
            listed.messages.extend(rows.iter().filter(is_match).map(message));
            if i64::try_from(listed.messages.len()).unwrap_or(i64::MAX) >= filter.limit {
                listed.next = listed.messages.last().map(|last| last.id);
                return Ok(listed);
            }
            match last_id {
                Some(last_id) if n_looked_at == window => after = last_id,
                _ => return Ok(listed),
            }
            if started.elapsed() >= walk_for {
                (listed.next, listed.ended_early) = (Some(after), true);
                return Ok(listed);
            }
            window = (window * 4).min(largest);
        }
    }
}

impl Filter {
    /// The id to begin after.
    fn begin(&self) -> i64 {
        self.after.unwrap_or(if self.oldest_first { i64::MIN } else { i64::MAX })
    }
}

impl When {
    fn at(self, now_ms: i64) -> i64 {
        match self {
            Self::Ago(age) => now_ms.saturating_sub(connection::milliseconds(age)),
            Self::At(ms) => ms,
        }
    }
}

fn message(row: &Row) -> ListedMessage {
    ListedMessage {
        id: row.get("id"),
        message_id: row.get("message_id"),
        destination: row.get("destination"),
        message_type: row.get("message_type"),
        message_group: row.get("message_group"),
        status: row.get("status"),
        attempts: row.get("attempts"),
        created_ms: row.get("created_ms"),
        available_ms: row.get("available_ms"),
        dispatched_ms: row.get("dispatched_ms"),
        dead_ms: row.get("dead_ms"),
        dead_reason: row.get("dead_reason"),
        last_error_code: row.get("last_error_code"),
        correlation_id: row.get("correlation_id"),
        now_ms: row.get("now_ms"),
    }
}

//! Status: what an operator sees on one screen, with a bound to what it costs.

use serde::{Deserialize, Serialize};
use tokio_postgres::Row;
use tokio_postgres::types::{Json, Type};

use crate::backlog::Backlog;
use crate::connection;
use crate::dead::DeadCount;
use crate::error::Error;
use crate::pause::ALL_DESTINATIONS;
use crate::store::Store;

/// How many rows of each kind of index are looked at, in all. On a busy machine, of a backlog of a million with and without
/// groups, this takes 0.9 s; to count all of it took 6 s.
pub const COUNTED_ROWS: u32 = 100_000;

/// A destination that has unfinished or dead messages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DestinationStatus {
    /// What is kept for it.
    #[serde(flatten)]
    pub backlog: Backlog,
    /// Whether there is more than was counted: the counts are the least there is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_bounded: bool,
    /// Whether what was not counted may be older than `oldest_due_seconds`: that is the least, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub age_is_bounded: bool,
    /// How long ago the oldest unfinished message was enqueued, scheduled ones included, in seconds.
    #[serde(skip)]
    pub oldest_waiting_seconds: f64,
    /// One of the groups that a dead message holds.
    #[serde(skip)]
    pub held_group: Option<String>,
    /// Its dead messages by code, as far as they were counted.
    #[serde(skip)]
    pub dead_letters: Vec<DeadCount>,
}

/// A pause that somebody asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActivePause {
    /// The destination's logical name; [`ALL_DESTINATIONS`] for the pause of all.
    pub destination: String,
    /// Since when, in UTC.
    pub since: String,
    /// The same as an age.
    pub seconds: f64,
    /// Who asked for it.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// A circuit breaker that is open.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenBreaker {
    /// The destination's logical name.
    pub destination: String,
    /// Since when, in UTC.
    pub since: String,
    /// The same as an age.
    pub seconds: f64,
    /// Error code of the latest request that failed.
    pub error_code: Option<String>,
    /// Probes that failed since it opened.
    pub failed_probes: i32,
    /// When a relay may probe it; 0 if it may now.
    pub probe_in_seconds: f64,
}

/// What stands in the way of destinations, whether they have messages or not, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DestinationStates {
    /// The pauses; that of all is among them.
    pub pauses: Vec<ActivePause>,
    /// The open breakers.
    pub breakers: Vec<OpenBreaker>,
}

impl DestinationStates {
    /// The pause of all, if there is one.
    #[must_use]
    pub fn pause_of_all(&self) -> Option<&ActivePause> {
        self.pauses.iter().find(|pause| pause.destination == ALL_DESTINATIONS)
    }
}

/// What the outbox lives on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DatabaseStatus {
    /// Whether the database takes writes: a replica, or one set read-only, does not.
    pub takes_writes: bool,
    /// Number of the outbox's latest migration.
    pub schema_version: i32,
    /// The oldest open transaction of this database that the schema's owner may look at.
    pub oldest_transaction: Option<OpenTransaction>,
    /// Sessions of this database that he may not look at.
    pub hidden_sessions: i64,
    /// The oldest transaction that was prepared for a second phase.
    pub prepared_transaction: Option<PreparedTransaction>,
    /// The replication slot that holds back vacuum most.
    pub replication_slot: Option<SlotHorizon>,
    /// How large the table of messages is.
    pub storage: Storage,
}

/// An open transaction: vacuum removes no row version that it might still see.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenTransaction {
    /// How long it has been open.
    pub age_seconds: f64,
    /// Process id of its session.
    pub pid: i32,
    /// `active`, or `idle in transaction`.
    pub state: Option<String>,
    /// As what the session announces itself.
    pub application_name: Option<String>,
}

/// A transaction that waits for COMMIT PREPARED or ROLLBACK PREPARED.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PreparedTransaction {
    /// Its name.
    pub name: String,
    /// How long ago it was prepared.
    pub age_seconds: f64,
}

/// A replication slot: vacuum removes no row version that its consumer might still see.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlotHorizon {
    /// Its name.
    pub name: String,
    /// Whether a consumer is connected.
    pub in_use: bool,
    /// How many transactions began since the one that it keeps.
    pub age_transactions: i32,
}

/// How large `outbox.message` is, as the server's statistics tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Storage {
    /// Rows, about.
    pub live_rows: i64,
    /// Row versions that vacuum is to remove, about.
    pub dead_rows: i64,
    /// Bytes of the table.
    pub table_bytes: i64,
    /// Bytes of its indexes.
    pub index_bytes: i64,
    /// When it was vacuumed last, by autovacuum or by hand.
    pub vacuumed_seconds_ago: Option<f64>,
}

#[derive(Deserialize)]
struct CodeCount {
    code: Option<String>,
    messages: i64,
    oldest_dead_seconds: f64,
}

impl Store {
    /// Counts what waits and what is dead, per destination, and no further than so many rows of each kind in all. With
    /// [`COUNTED_ROWS`] it answers at once, however long the backlog is; where it stops short, it says so.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn destination_status(
        &self,
        counted_rows: u32,
    ) -> Result<Vec<DestinationStatus>, Error> {
        let params = [(&i64::from(counted_rows) as _, Type::INT8)];
        let [rows] =
            connection::guarded(&self.pool, [(&self.sql.destination_status, &params)]).await?;
        Ok(rows.iter().map(destination_status).collect())
    }

    /// Lists pauses and open breakers, also of destinations without any message.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn destination_states(&self) -> Result<DestinationStates, Error> {
        let rows = connection::query(&self.pool, &self.sql.destination_states, &[]).await?;
        let mut states = DestinationStates::default();
        for row in &rows {
            let destination: String = row.get("name");
            if let Some(since) = row.get("paused_at") {
                states.pauses.push(ActivePause {
                    destination: destination.clone(),
                    since,
                    seconds: row.get("paused_seconds"),
                    by: row.get("paused_by"),
                    reason: row.get::<_, Option<_>>("pause_reason").unwrap_or_default(),
                });
            }
            if let Some(since) = row.get("opened_at") {
                states.breakers.push(OpenBreaker {
                    destination,
                    since,
                    seconds: row.get("open_seconds"),
                    error_code: row.get("error_code"),
                    failed_probes: row.get("failed_probes"),
                    probe_in_seconds: row.get("probe_in_seconds"),
                });
            }
        }
        Ok(states)
    }

    /// Looks at what the outbox lives on. It reads catalogs and statistics only.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn database_status(&self) -> Result<DatabaseStatus, Error> {
        let rows = connection::query(&self.pool, &self.sql.database_status, &[]).await?;
        Ok(database_status(&rows[0]))
    }

    /// Whether any message has this destination: one that is not dispatched, or of the 10,000 dispatched last.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn knows_destination(&self, destination: &str) -> Result<bool, Error> {
        let params = [(&destination as _, Type::TEXT)];
        let [rows] =
            connection::guarded(&self.pool, [(&self.sql.knows_destination, &params)]).await?;
        Ok(rows[0].get("known"))
    }
}

fn destination_status(row: &Row) -> DestinationStatus {
    let destination: String = row.get("destination");
    let Json(codes): Json<Vec<CodeCount>> = row.get("dead_codes");
    let dead_letters = codes.into_iter().map(|of| DeadCount {
        destination: destination.clone(),
        code: of.code,
        messages: of.messages,
        oldest_dead_seconds: of.oldest_dead_seconds,
    });
    DestinationStatus {
        dead_letters: dead_letters.collect(),
        is_bounded: row.get("is_bounded"),
        age_is_bounded: row.get("age_is_bounded"),
        oldest_waiting_seconds: row.get("oldest_waiting_seconds"),
        held_group: row.get("held_group"),
        backlog: Backlog {
            destination,
            due: row.get("due"),
            retrying: row.get("retrying"),
            scheduled: row.get("scheduled"),
            claimed: row.get("claimed"),
            dead: row.get("dead"),
            oldest_due_seconds: row.get("oldest_due_seconds"),
            paused: row.get("paused"),
            breaker_open: row.get("breaker_open"),
            held_groups: row.get("held_groups"),
            held: row.get("held"),
        },
    }
}

fn database_status(row: &Row) -> DatabaseStatus {
    let transaction = row.get::<_, Option<f64>>("age_seconds").map(|age_seconds| OpenTransaction {
        age_seconds,
        pid: row.get("pid"),
        state: row.get("state"),
        application_name: row.get("application_name"),
    });
    let prepared = row.get::<_, Option<String>>("prepared_name");
    let slot = row.get::<_, Option<String>>("slot_name");
    DatabaseStatus {
        takes_writes: row.get("takes_writes"),
        schema_version: row.get("schema_version"),
        oldest_transaction: transaction,
        hidden_sessions: row.get("hidden_sessions"),
        prepared_transaction: prepared
            .map(|name| PreparedTransaction { name, age_seconds: row.get("prepared_seconds") }),
        replication_slot: slot.map(|name| SlotHorizon {
            name,
            in_use: row.get("slot_in_use"),
            age_transactions: row.get("slot_age_transactions"),
        }),
        storage: Storage {
            live_rows: row.get("live_rows"),
            dead_rows: row.get("dead_rows"),
            table_bytes: row.get("table_bytes"),
            index_bytes: row.get("index_bytes"),
            vacuumed_seconds_ago: row.get("vacuumed_seconds_ago"),
        },
    }
}

//! What can go wrong in the database, by what a caller does about it.

use std::time::Duration;

use thiserror::Error;
use tokio_postgres::error::SqlState;

/// An error of the store.
#[derive(Debug, Error)]
pub enum Error {
    /// No connection could be had: the server is down, refuses us, or has no slot left. Nothing was done.
    #[error("no connection to the database: {source}")]
    Connection {
        /// What the pool met; it carries no password.
        source: deadpool_postgres::PoolError,
    },
    /// The server answered with an error, or the connection was lost. What a lost connection had asked for may
    /// have been done.
    #[error("database error{}", describe(.0))]
    Database(#[from] tokio_postgres::Error),
    /// No answer in time; the connection is given up. What was asked for may have been done.
    #[error("the database did not answer within {:.1} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The time that the caller gave was up before the next batch. Nothing of that was done.
    #[error("the time for it is up")]
    OutOfTime,
    /// The database is a replica, or set to take no writes. Nothing was done.
    #[error(
        "the database takes no writes, as it is a replica or set read-only: set OUTBOX_DATABASE_URL to the primary, or look at default_transaction_read_only"
    )]
    ReadOnly,
    /// The database's outbox is of another version than this program. Run `outbox migrate`, or the right program.
    #[error(
        "the outbox in schema {schema:?} has version {found}, and this program needs version {needed}: {advice}"
    )]
    SchemaVersion {
        /// The schema's name.
        schema: String,
        /// The version there.
        found: i32,
        /// The version that this program knows.
        needed: i32,
        /// What to do.
        advice: &'static str,
    },
    /// There is no outbox. Run `outbox migrate`.
    #[error(
        "there is no outbox in schema {schema:?}: run `outbox migrate`, or check OUTBOX_SCHEMA"
    )]
    NoOutbox {
        /// The schema's name.
        schema: String,
    },
    /// A migration failed; the database is as it was before it.
    #[error("{0}{cause}", cause = cause(.0))]
    Migration(#[from] refinery::Error),
    /// The database can't hold every message: its encoding is not UTF8. Nothing was done.
    #[error(
        "the database's encoding is {found}; the outbox needs UTF8, or one message could stop all others"
    )]
    Encoding {
        /// The encoding.
        found: String,
    },
}

impl Error {
    /// A short code of low cardinality: the SQLSTATE, or a word of ours.
    pub fn code(&self) -> &str {
        match self {
            Self::Connection { source } => match source {
                deadpool_postgres::PoolError::Backend(error) => state_of(error, "connection"),
                deadpool_postgres::PoolError::Timeout(_) => "timeout",
                _ => "connection",
            },
            Self::Database(error) => state_of(error, "connection"),
            Self::Timeout(_) => "timeout",
            Self::OutOfTime => "out_of_time",
            Self::ReadOnly => "read_only",
            Self::SchemaVersion { .. } | Self::NoOutbox { .. } => "schema_version",
            Self::Migration(_) => "migration",
            Self::Encoding { .. } => "encoding",
        }
    }

    /// Whether the same call may succeed a moment later: lost connection, fail-over, deadlock, no slot left.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connection { .. } | Self::Timeout(_) => true,
            Self::Database(error) => match error.code() {
                Some(state) => is_transient_state(state),
                None => error.is_closed() || error.as_db_error().is_none(),
            },
            Self::OutOfTime
            | Self::ReadOnly
            | Self::SchemaVersion { .. }
            | Self::NoOutbox { .. }
            | Self::Migration(_)
            | Self::Encoding { .. } => false,
        }
    }

    /// Whether somebody else held a lock for too long.
    pub fn is_lock_timeout(&self) -> bool {
        matches!(self, Self::Database(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE))
    }

    /// Whether nothing can be written where this error came from: no server was reached, it takes no writes, or it has not
    /// the outbox that this program knows.
    pub fn leaves_nothing_to_write_to(&self) -> bool {
        self.is_read_only()
            || matches!(
                self,
                Self::Connection { .. }
                    | Self::Timeout(_)
                    | Self::ReadOnly
                    | Self::SchemaVersion { .. }
                    | Self::NoOutbox { .. }
            )
    }

    /// Whether the role that signed in lacks a right for it.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Database(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE))
    }

    /// Whether the server gave the statement up, because it took too long.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Database(error) if error.code() == Some(&SqlState::QUERY_CANCELED))
    }

    /// Whether the server has become a replica, or is set to take no writes.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Self::Database(error) if error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION))
    }

    /// Whether the connection must not be used again: it is lost, or leads to a server that can't serve us.
    pub fn condemns_connection(&self) -> bool {
        match self {
            Self::Timeout(_) => true,
            Self::Database(error) => match error.code() {
                Some(state) => leads_nowhere(state),
                None => true,
            },
            _ => false,
        }
    }
}

/// Fail-over leaves connections to a server that has become read-only (25006); shutdowns say so (class 57P).
fn leads_nowhere(state: &SqlState) -> bool {
    *state == SqlState::READ_ONLY_SQL_TRANSACTION
        || state.code().starts_with("57P")
        || state.code().starts_with("08")
}

fn is_transient_state(state: &SqlState) -> bool {
    let class = &state.code()[..2];
    leads_nowhere(state) || class == "40" || class == "53" || class == "55" || class == "57"
}

fn state_of<'a>(error: &'a tokio_postgres::Error, otherwise: &'static str) -> &'a str {
    error.code().map_or(otherwise, SqlState::code)
}

/// What the server said of a failed migration; refinery names the migration only.
fn cause(error: &refinery::Error) -> String {
    let sources =
        std::iter::successors(std::error::Error::source(error), |&source| source.source());
    let of_driver = sources.filter_map(|source| source.downcast_ref::<tokio_postgres::Error>());
    of_driver.map(|error| format!(":{}", describe(error))).next().unwrap_or_default()
}

/// The server's SQLSTATE, message and hint. Its detail is left out, as it can quote a row's values.
fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => {
            let hint = db.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!(" {}: {}{hint}", db.code().code(), db.message())
        }
        None => format!(": {error}"),
    }
}

//! Rights: what each kind of login needs, and what the one that signed in lacks; for operators.
//!
//! The tables here say what the migrations grant. A test compares them with a fresh outbox.

use serde::{Deserialize, Serialize};
use tokio_postgres::types::Type;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// What a login is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Claims, publishes and marks.
    Relay,
    /// Deletes what is dispatched and old.
    Purge,
    /// Answers operators and does what they ask for.
    Admin,
    /// Enqueues and receives.
    Producer,
}

/// Privilege; table, view or function; columns, the empty text for all.
pub type Right = (&'static str, &'static str, &'static str);

const USAGE: Right = ("USAGE", "", "");

#[rustfmt::skip]
const RELAY: &[Right] = &[
    USAGE,
    ("SELECT", "message", ""),
    ("UPDATE", "message",
     "available_at, first_failed_at, dead_at, dispatched_at, locked_until, claim_token, attempts, lost_claims, \
      claimed_by, broker_message_id, dead_reason, last_error_code, last_error, holds_group"),
    ("SELECT", "destination", ""),
    ("INSERT", "destination", "name, failed_requests, last_error_code, breaker_opened_at, probe_at"),
    ("UPDATE", "destination",
     "failed_requests, last_error_code, breaker_opened_at, probe_at, failed_probes, probe_token"),
    ("SELECT", "backlog", ""),
    ("EXECUTE", "record_run", ""),
];

/// Of the admin's rights those that a purge uses. To lock a row before it is deleted takes UPDATE of any column.
#[rustfmt::skip]
const PURGE: &[Right] = &[
    USAGE,
    ("SELECT", "message", ""),
    ("UPDATE", "message", "locked_until"),
    ("DELETE", "message", ""),
    ("EXECUTE", "record_run", ""),
];

#[rustfmt::skip]
const ADMIN: &[Right] = &[
    USAGE,
    ("SELECT", "message", ""),
    ("UPDATE", "message",
     "available_at, first_failed_at, dead_at, locked_until, claim_token, attempts, lost_claims, claimed_by, \
      dead_reason, last_error_code, last_error, holds_group, message_id"),
    ("DELETE", "message", ""),
    ("SELECT", "destination", ""),
    ("INSERT", "destination", ""),
    ("UPDATE", "destination", ""),
    ("SELECT", "inbox", ""),
    ("DELETE", "inbox", ""),
    ("SELECT", "audit", ""),
    ("INSERT", "audit", "actor, action, selection, n_messages, reason, details"),
    ("SELECT", "message_status", ""),
    ("SELECT", "dead_letter", ""),
    ("SELECT", "backlog", ""),
    ("SELECT", "run", ""),
    ("EXECUTE", "record_run", ""),
    ("EXECUTE", "oldest_transaction", ""),
];

#[rustfmt::skip]
const PRODUCER: &[Right] = &[
    USAGE,
    ("INSERT", "message",
     "destination, message_type, payload, message_group, message_id, headers, available_at, correlation_id, \
      traceparent, tracestate, content_type"),
    ("SELECT", "message", "id, message_id, destination"),
    ("INSERT", "inbox", ""),
    ("EXECUTE", "enqueue", ""),
    ("EXECUTE", "receive", ""),
    ("EXECUTE", "reject", ""),
    ("EXECUTE", "length_problem", ""),
    ("EXECUTE", "character_problem", ""),
    ("EXECUTE", "header_name_problem", ""),
    ("EXECUTE", "header_value_problem", ""),
    ("EXECUTE", "check_headers", ""),
    ("EXECUTE", "check_message", ""),
];

impl Role {
    /// What such a login must be allowed.
    pub const fn rights(self) -> &'static [Right] {
        match self {
            Self::Relay => RELAY,
            Self::Purge => PURGE,
            Self::Admin => ADMIN,
            Self::Producer => PRODUCER,
        }
    }

    /// The role of the database that has those rights.
    pub const fn group(self) -> &'static str {
        match self {
            Self::Relay => "outbox_relay",
            Self::Purge | Self::Admin => "outbox_admin",
            Self::Producer => "outbox_producer",
        }
    }

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::Purge => "purge",
            Self::Admin => "admin",
            Self::Producer => "producer",
        }
    }
}

/// A right that the login lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The right as a GRANT has it before TO: `SELECT ON outbox.message`.
    pub right: String,
    /// Whether the login is a member of the role that should have it.
    pub is_member: bool,
}

impl Store {
    /// Looks which of a role's rights the login lacks. It reads catalogs only, and works where there is no outbox too.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn lacking(&self, role: Role) -> Result<Vec<Lacking>, Error> {
        let (schema, group) = (self.schema.name(), role.group());
        let column = |of: fn(&Right) -> &'static str| role.rights().iter().map(of).collect();
        let (privileges, objects): (Vec<_>, Vec<_>) =
            (column(|right| right.0), column(|right| right.1));
        let columns: Vec<_> = column(|right| right.2);
        let params: [connection::Param<'_>; 5] = [
            (&schema, Type::TEXT),
            (&group, Type::TEXT),
            (&privileges, Type::TEXT_ARRAY),
            (&objects, Type::TEXT_ARRAY),
            (&columns, Type::TEXT_ARRAY),
        ];
        let rows = connection::query(&self.pool, &self.sql.lacking, &params).await?;
        let lacking = rows
            .iter()
            .map(|row| Lacking { right: row.get("grant_text"), is_member: row.get("is_member") });
        Ok(lacking.collect())
    }
}

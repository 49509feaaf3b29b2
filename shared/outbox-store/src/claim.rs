//! Claim: lease due messages, so that no other relay takes them for a while.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use outbox::{ClaimToken, Message};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// How many messages of a destination to lease at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The destination's logical name.
    pub destination: String,
    /// Most messages; at least 1 to be of any use.
    pub n_messages: u32,
}

/// Leased messages, and the token that a mark must bring.
#[derive(Debug)]
pub struct Claim {
    /// The fence of this claim.
    pub token: ClaimToken,
    /// The messages, in order of their ids.
    pub messages: Vec<Message>,
    /// A moment that is not after the end of the lease, on the caller's monotonic clock.
    pub leased_until: Instant,
}

impl Store {
    /// Leases due messages: of each destination at most its quota, fresh and retrying ones in turns, of a message
    /// group only its first unfinished messages without a gap. Destinations that are paused give nothing.
    ///
    /// A claim raises `attempts`, so that a message which kills its relay reaches the cap. Only messages are leased whose
    /// latest claims in a row, so many of them, ended without an outcome: `0..=i32::MAX` leases any.
    ///
    /// # Errors
    /// See [`Error`]; after any of them, what may have been leased is claimable again when the lease has run out.
    ///
    /// # Cancellation
    /// A dropped future may leave messages leased until the lease runs out.
    pub async fn claim(
        &self,
        quotas: &[Quota],
        lost_claims: RangeInclusive<i32>,
        lease: Duration,
        claimed_by: &str,
    ) -> Result<Claim, Error> {
        let token = ClaimToken::new(Uuid::new_v4());
        let destinations: Vec<&str> = quotas.iter().map(|q| q.destination.as_str()).collect();
        let n_messages: Vec<i32> =
            quotas.iter().map(|q| i32::try_from(q.n_messages).unwrap_or(i32::MAX)).collect();
        let lease_ms = connection::milliseconds(lease);

        // The server starts the lease at its `now()`, which is after this moment: ours ends first.
        let leased_until = Instant::now() + lease;
        let [rows] = connection::guarded(
            &self.pool,
            [(
                &self.sql.claim,
                &[
                    (&destinations, Type::TEXT_ARRAY),
                    (&n_messages, Type::INT4_ARRAY),
                    (&token.as_uuid(), Type::UUID),
                    (&claimed_by, Type::TEXT),
                    (&lease_ms, Type::INT8),
                    (lost_claims.start(), Type::INT4),
                    (lost_claims.end(), Type::INT4),
                ],
            )],
        )
        .await?;
        Ok(Claim { token, messages: rows.iter().map(message).collect(), leased_until })
    }
}

fn message(row: &Row) -> Message {
    Message {
        id: row.get("id"),
        message_id: row.get("message_id"),
        destination: row.get("destination"),
        message_type: row.get("message_type"),
        message_group: row.get("message_group"),
        payload: row.get("payload"),
        content_type: row.get("content_type"),
        headers: row.get("headers"),
        correlation_id: row.get("correlation_id"),
        traceparent: row.get("traceparent"),
        attempts: row.get("attempts"),
        lost_claims: row.get("lost_claims"),
        was_alone: row.get("was_alone"),
    }
}

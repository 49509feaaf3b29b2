//! Claim: lease due messages, so that no other relay takes them for a while.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use outbox::{ClaimToken, Message};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::connection::{self, Param};
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

/// How many messages of a group to lease at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupQuota {
    /// The destination's logical name.
    pub destination: String,
    /// The group.
    pub message_group: String,
    /// Most messages, its first ones; at least 1 to be of any use.
    pub n_messages: u32,
}

/// What a claim asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Messages without a group.
    pub ungrouped: Vec<Quota>,
    /// The first messages of groups, each group once.
    pub groups: Vec<GroupQuota>,
    /// Destinations that the claim is to probe: those whose breaker is open. It gets something of them only if it is time
    /// for a probe and no other relay makes one.
    pub probes: Vec<String>,
}

impl Wanted {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.ungrouped.is_empty() && self.groups.is_empty()
    }
}

/// Who claims, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms<'a> {
    /// How long the messages are kept from other relays.
    pub lease: Duration,
    /// What people see on claimed rows.
    pub claimed_by: &'a str,
}

/// Leased messages, and the token that a mark must bring.
#[derive(Debug)]
pub struct Claim {
    /// The fence of this claim.
    pub token: ClaimToken,
    /// The messages, in order of their ids.
    pub messages: Vec<Message>,
    /// Destinations that it may probe, of those that were asked for; it may have got no message of them.
    pub probes: Vec<String>,
    /// A moment that is not after the end of the lease, on the caller's monotonic clock.
    pub leased_until: Instant,
}

impl Claim {
    /// Whether it has got a message of that destination.
    #[must_use]
    pub fn has_any_of(&self, destination: &str) -> bool {
        self.messages.iter().any(|message| message.destination == destination)
    }
}

/// How long a relay may take to probe a destination: a call with all its attempts, and one more for each entry.
const PROBE: Duration = Duration::from_mins(1);

impl Store {
    /// Leases due messages, in one transaction: of each destination at most its quota without a group, fresh and retrying
    /// ones in turns; of each group at most its quota of first unfinished messages, without a gap. Destinations that are
    /// paused give nothing, and those whose breaker is open only to a probe.
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
        wanted: &Wanted,
        lost_claims: RangeInclusive<i32>,
        terms: Terms<'_>,
    ) -> Result<Claim, Error> {
        let token = ClaimToken::new(Uuid::new_v4());
        let (uuid, lease_ms) = (token.as_uuid(), connection::milliseconds(terms.lease));
        let Columns { destinations, n_messages, of_groups, groups, n_of_groups, probes } =
            Columns::from(wanted);
        let probe_ms = connection::milliseconds(PROBE);
        let common: [Param<'_>; 5] = [
            (&uuid, Type::UUID),
            (&terms.claimed_by, Type::TEXT),
            (&lease_ms, Type::INT8),
            (lost_claims.start(), Type::INT4),
            (lost_claims.end(), Type::INT4),
        ];
        let probe: [Param<'_>; 3] =
            [(&uuid, Type::UUID), (&probes, Type::TEXT_ARRAY), (&probe_ms, Type::INT8)];
        let of_ungrouped: [Param<'_>; 2] =
            [(&destinations, Type::TEXT_ARRAY), (&n_messages, Type::INT4_ARRAY)];
        let of_groups: [Param<'_>; 3] = [
            (&of_groups, Type::TEXT_ARRAY),
            (&groups, Type::TEXT_ARRAY),
            (&n_of_groups, Type::INT4_ARRAY),
        ];
        let of_ungrouped = [&common[..], &of_ungrouped].concat();
        let of_groups = [&common[..], &of_groups].concat();
        // Who asks for no groups pays for none.
        let mut statements: Vec<(&str, &[Param<'_>])> = Vec::with_capacity(3);
        if !probes.is_empty() {
            statements.push((&self.sql.probe, &probe));
        }
        if !destinations.is_empty() {
            statements.push((&self.sql.claim, &of_ungrouped));
        }
        if !groups.is_empty() {
            statements.push((&self.sql.claim_groups, &of_groups));
        }

        // The server starts the lease at its `now()`, which is after this moment: ours ends first.
        let leased_until = Instant::now() + terms.lease;
        let answers = connection::guarded_all(&self.pool, &statements).await?;
        let is_probe = usize::from(!probes.is_empty());
        let (granted, claimed) = answers.split_at(is_probe);
        let probes = granted.iter().flatten().map(|row| row.get("name")).collect();
        let mut messages: Vec<Message> = claimed.iter().flatten().map(message).collect();
        messages.sort_unstable_by_key(|message| message.id);
        Ok(Claim { token, messages, probes, leased_until })
    }
}

/// What is wanted, as the arrays that the statements take.
struct Columns<'a> {
    destinations: Vec<&'a str>,
    n_messages: Vec<i32>,
    of_groups: Vec<&'a str>,
    groups: Vec<&'a str>,
    n_of_groups: Vec<i32>,
    probes: Vec<&'a str>,
}

impl<'a> From<&'a Wanted> for Columns<'a> {
    fn from(wanted: &'a Wanted) -> Self {
        let number = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        let Wanted { ungrouped, groups, probes } = wanted;
        // Two relays lock the rows of destinations in one order.
        let mut probes: Vec<&str> = probes.iter().map(String::as_str).collect();
        probes.sort_unstable();
        Self {
            destinations: ungrouped.iter().map(|quota| quota.destination.as_str()).collect(),
            n_messages: ungrouped.iter().map(|quota| number(quota.n_messages)).collect(),
            of_groups: groups.iter().map(|quota| quota.destination.as_str()).collect(),
            groups: groups.iter().map(|quota| quota.message_group.as_str()).collect(),
            n_of_groups: groups.iter().map(|quota| number(quota.n_messages)).collect(),
            probes,
        }
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
        has_failed: row.get("has_failed"),
    }
}

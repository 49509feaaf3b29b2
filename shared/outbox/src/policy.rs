//! How a relay run claims, retries and stops.

use std::time::Duration;

use crate::backoff::Backoff;

/// The relay's settings that are not about where things are. Each is documented in `.env.example`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPolicy {
    /// Most messages of one claim.
    pub batch_size: u32,
    /// Requests to SQS and SNS in flight at once.
    pub concurrency: usize,
    /// How long a claim keeps its messages from other relays.
    pub lease: Duration,
    /// Attempts after which a message that keeps failing is dead.
    pub max_attempts: u32,
    /// Waits between attempts.
    pub backoff: Backoff,
    /// How long a drained run goes on polling; zero leaves at once.
    pub linger: Duration,
    /// Pause between polls while lingering.
    pub poll: Duration,
    /// Time before the deadline at which a run stops sending, to mark and to answer.
    pub deadline_margin: Duration,
}

impl Default for RunPolicy {
    fn default() -> Self {
        Self {
            batch_size: 500,
            concurrency: 16,
            lease: Duration::from_mins(2),
            max_attempts: 10,
            backoff: Backoff::default(),
            linger: Duration::ZERO,
            poll: Duration::from_millis(200),
            deadline_margin: Duration::from_secs(3),
        }
    }
}

//! The engine: claim, publish, mark, until nothing is due or the time is up.
//!
//! ```text
//!   pace.rs      when the next claim is made; several are on their way side by side
//!     claim.rs     look what is due (agenda.rs: destinations, and groups that are free), claim, suspects apart
//!       lanes.rs     route and check each message, pack requests
//!         publish.rs   send, several requests at once (traffic.rs: how many each destination may have, and its breaker)
//!           mark.rs      a mark for each message, guarded by the claim's token; what was not sent is released
//! ```
//!
//! What it keeps to: a message is marked dispatched only for an accepted entry of its own; nothing is sent after
//! its lease, or that can't be marked before the deadline; what was claimed and not sent is released at once; a
//! message group's run ends at the first message that was not accepted. No transaction is open while it sends.
//!
//! Start at [`Relay::run`].

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed unwrap fails the test"))]

mod agenda;
mod claim;
mod cutoff;
mod error;
mod lanes;
mod mark;
mod pace;
mod publish;
mod relay;
mod report;
mod span;
mod suspects;
mod traffic;

pub use error::Error;
pub use relay::Relay;
pub use report::RunReport;

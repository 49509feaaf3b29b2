//! The engine: claim, publish, mark, until nothing is due or the time is up.
//!
//! ```text
//!           due -> quotas -> claim ------------------------------.
//!                              |                                 | the next claim is made
//!   route and check each message, pack requests                  | while this one is sent
//!                              |                                 |
//!   publish, several at once -> an outcome each -> a mark each   |
//!                              |                                 |
//!                     mark, guarded by the claim token <---------'
//! ```
//!
//! What it keeps to: a message is marked dispatched only for an accepted entry of its own; nothing is sent after
//! its lease, or that can't be marked before the deadline; what was claimed and not sent is released at once; a
//! message group's run ends at the first message that was not accepted. No transaction is open while it sends.
//!
//! Start at [`Relay::run`].

mod agenda;
mod claim;
mod cutoff;
mod error;
mod lanes;
mod mark;
mod publish;
mod relay;
mod report;
mod suspects;
mod traffic;

pub use error::Error;
pub use relay::Relay;
pub use report::RunReport;

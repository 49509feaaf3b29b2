//! The vocabulary of the outbox relay, and every decision it takes.
//!
//! This crate is pure: no input or output, no async, no clock and no randomness of its own. What a
//! message is, whether it can be sent, what travels in one request, what an answer means for a row
//! and how long a retry waits: all of it is decided here, and so all of it is tested without a
//! database or a network.
//!
//! Read in the order of the modules: a [`Message`] is claimed, its [`Destination`] is looked up, it
//! becomes an [`Entry`] (or is found to have a [`Defect`]), a [`Packer`] hands entries out request by
//! request, and each [`Outcome`] is turned into a [`Mark`].

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed unwrap fails the test"))]

mod archive_location;
mod backoff;
mod check;
mod defect;
mod destination;
mod destinations;
mod entry;
mod message;
mod outcome;
mod packer;
mod policy;
mod target;
pub mod telemetry;
mod trace;

pub use archive_location::{ArchiveLocation, ArchiveLocationError};
pub use backoff::Backoff;
pub use check::{MAX_ATTRIBUTES, MAX_GROUP_CHARS};
pub use defect::Defect;
pub use destination::{Destination, OnDead};
pub use destinations::{DestinationError, Destinations};
pub use entry::{Attribute, AttributeType, Entry, Rejected};
pub use message::{ClaimToken, Message, NewMessage};
pub use outcome::{DeadReason, Failure, FailureClass, Mark, Outcome, Scope, blame_request, decide};
pub use packer::Packer;
pub use policy::RunPolicy;
pub use target::{Target, TargetError};
pub use trace::TraceContext;

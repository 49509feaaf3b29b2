//! Support for the integration tests: a database of its own for each test, queues of its own, a scripted endpoint
//! where a fault is needed, and the real programs.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
#![allow(clippy::missing_errors_doc, reason = "test support fails the test")]

pub mod bucket;
#[cfg(feature = "otel")]
pub mod collector;
mod database;
pub mod endpoint;
mod eventually;
mod http;
mod local;
mod program;
mod queue;
mod recorder;
mod relay;
mod runtime;
mod s3;
mod secret;
mod teardown;

pub use bucket::Bucket;
pub use database::Database;
pub use eventually::eventually;
pub use local::{pgbouncer, postgres_bin};
pub use program::{Ended, Process, program};
pub use queue::{Queue, Received, Topic};
pub use recorder::{Call, Recorder};
pub use relay::{destinations, queue_at, relay};
pub use runtime::Function;
pub use s3::ScriptedS3;
pub use secret::Secret;

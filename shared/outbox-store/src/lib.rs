//! The outbox in Postgres: enqueue, claim, mark, purge, redrive, discard, backlog, inbox and migrations.
//!
//! What a claim means is decided in SQL, in the files of `src/sql`, one beside each function here. This crate
//! binds their parameters, reads their rows and bounds their time. It never sends a message.
//!
//! An application needs [`enqueue`] (and a consumer [`receive`]); a relay needs [`Store`]. All time is the
//! database's: nothing here reads a clock to compare it with a row.
//!
//! ```no_run
//! # async fn place_order(client: &mut tokio_postgres::Client) -> Result<(), outbox_store::Error> {
//! use outbox::NewMessage;
//!
//! let transaction = client.transaction().await?;
//! transaction.execute("INSERT INTO orders (id) VALUES (42)", &[]).await?;
//! let message = NewMessage::new("orders", "order.placed.v1", r#"{"id":42}"#).in_group("customer-7");
//! outbox_store::enqueue(&transaction, &message).await?;
//! transaction.commit().await?;
//! # Ok(())
//! # }
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed unwrap fails the test"))]

mod archived;
mod backlog;
mod bench;
mod breaker;
mod checkup;
mod claim;
mod connection;
mod dead;
mod discard;
mod due;
mod error;
mod examine;
mod groups;
mod list;
mod mark;
mod migrate;
mod operation;
mod pause;
mod plans;
mod pooler;
mod producer;
mod purge;
pub mod queries;
mod redrive;
mod rights;
mod run;
mod schema;
mod show;
mod status;
mod store;
mod tail;
mod time_limits;

pub use archived::{ArchivedRow, PurgeableMessage};
pub use backlog::Backlog;
pub use bench::{Bench, BenchServer, LeftOver, Written};
pub use breaker::FailedRequests;
pub use checkup::Fact;
pub use claim::{Claim, GroupQuota, Quota, Terms, Wanted};
pub use dead::{DeadCount, Selection};
pub use discard::Discard;
pub use due::{Breaker, DueDestination};
pub use error::Error;
pub use examine::Examination;
pub use groups::{GroupsFrom, Visited};
pub use list::{Filter, Listed, ListedMessage, State, When};
pub use mark::{Marks, Tally};
pub use migrate::{Migration, SCHEMA_VERSION, migrate, migrations, pending_migrations};
pub use operation::{Done, Interrupted};
pub use pause::ALL_DESTINATIONS;
pub use plans::Plan;
pub use producer::{Producer, enqueue, receive};
pub use purge::PurgeableCount;
pub use redrive::Redrive;
pub use rights::{Lacking, Right, Role};
pub use run::{EndedRun, Function, LastRun, LastRuns};
pub use schema::{Schema, SchemaError};
pub use show::{AuditEntry, BreakerOf, GroupHead, Message, PauseOf, WantedContent};
pub use status::{
    ActivePause, COUNTED_ROWS, DatabaseStatus, DestinationStates, DestinationStatus, OpenBreaker,
    OpenTransaction, PreparedTransaction, SlotHorizon, Storage,
};
pub use store::Store;
pub use tail::{Followed, Seen};
pub use time_limits::TimeLimits;

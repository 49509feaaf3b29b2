//! The operator's verbs: what is waiting, what is dead, and what is to be done about it.
//!
//! A [`Command`] goes in and a [`Reply`] comes out, both of them plain JSON, so that the admin function
//! and the command line `outbox` know the same verbs by the same names. Start at [`execute`].
//!
//! With the feature `purge` there is [`Purge`] too, which deletes what is dispatched and old.
//!
//! The library sends nothing: without the feature `cli` it does not even know a publisher, and so
//! neither do the functions that use it.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed unwrap fails the test"))]

mod age;
mod command;
mod doctor;
mod error;
mod list;
mod meaning;
mod moment;
mod operation;
mod pause;
#[cfg(feature = "purge")]
mod purge;
mod show;
mod status;
mod words;

pub use age::Age;
pub use command::{Command, Reply, Request, execute, operator_name};
pub use doctor::{Diagnosis, Doctor, Examined, Finding, Severity};
pub use error::{Error, how_to_grant, so_far};
pub use list::{Item, List, Page};
pub use moment::Moment;
pub use operation::{Action, Discarded, Operation, Preview, Redriven};
pub use outbox_store::{Role, State, TimeLimits};
pub use pause::{Pause, Paused, Resume, Resumed};
#[cfg(feature = "purge")]
pub use purge::{Purge, PurgeError, PurgeFailure, PurgePreview, PurgeReport};
pub use show::{Deed, LastError, Show, Shown, ShownMessage};
pub use status::{
    Facts, OLDEST_DUE_LIMIT_SECONDS, PURGE_LIMIT_SECONDS, Problem, RELAY_LIMIT_SECONDS,
    SLOT_LIMIT_TRANSACTIONS, Status, StatusOptions, TRANSACTION_LIMIT_SECONDS, status,
};
pub use words::{age_in_words, for_a_shell, messages_in_words};

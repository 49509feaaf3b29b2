//! The archive: purged messages as gzipped NDJSON objects in S3.
//!
//! An [`Object`] is built of messages one by one and compressed on the way; [`Archive::put`] writes it and
//! returns once S3 has acknowledged it. This crate knows S3, and no Postgres: who deletes what is archived, and
//! that it is not deleted earlier, is the purge's business.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed unwrap fails the test"))]

mod archive;
mod error;
mod object;

pub use archive::Archive;
pub use error::Error;
pub use object::{Object, ObjectBuilder};

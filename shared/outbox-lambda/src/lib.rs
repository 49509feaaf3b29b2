//! What every program of the relay does first: read its settings, reach the database, set up logs.
//!
//! A program reads [`Settings`] once, starts its logs with [`logs::init`], builds a [`pool`] (which
//! touches no network: a database that is down must not fail a cold start) and asks [`aws_config()`] for
//! region, endpoints and credentials. When the store then fails, [`describe()`] has a code and one
//! sentence for a person; [`explain()`] is the part of it that turns what a driver said into words. A
//! function writes what each run did as [`Metrics`].
//!
//! ```no_run
//! use outbox_lambda::{Program, Settings, logs};
//!
//! # async fn start() -> Result<(), outbox_lambda::Error> {
//! let settings = Settings::from_env(Program::Relay)?;
//! logs::init(&settings.logs, logs::Stream::Stdout);
//! let pool = outbox_lambda::pool(&settings.database)?;
//! let aws = outbox_lambda::aws_config().await;
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here prints a password or a connection URL, at any log level: not in a message, not in an
//! error's text or source, not in a `Debug` form.

mod aws;
mod carried;
mod credentials;
mod database;
mod describe;
mod error;
mod explain;
mod invocation;
pub mod logs;
mod metrics;
pub mod settings;
mod tls;
mod traces;

pub use aws::aws_config;
pub use credentials::{Asked, Credentials, CredentialsError, Login};
pub use database::{connect, connect_directly, pool, pool_with};
pub use describe::{Cause, describe};
pub use error::Error;
pub use explain::explain;
pub use invocation::{AnyEvent, Invocation, claimed_by, deadline};
pub use metrics::{ALL as METRICS, DestinationMetrics, Metric, Metrics, Run, RunMetrics, Unit};
pub use settings::{Database, Program, Settings, SettingsError};
pub use traces::Traces;

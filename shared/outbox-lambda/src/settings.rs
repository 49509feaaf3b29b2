//! The settings of every program, read once from the environment.
//!
//! Whatever is wrong with them is reported together, one line a problem, so that a deployment is
//! put right in one go. A variable that is set to nothing counts as not set: templates have no other
//! way to leave one out. A misspelt `OUTBOX_…` variable is refused, because the default would be used
//! in its stead and nobody would notice.

mod auth;
mod database;
mod database_url;
mod reader;
mod relay;
mod security;
mod setting;
mod table;

use std::ffi::OsString;
use std::time::Duration;

use outbox::ArchiveLocation;
use tracing::level_filters::LevelFilter;

pub use database::Database;
pub use reader::SettingsError;
pub use relay::Relay;
pub use setting::{Allowed, Setting, WhenUnset};

pub(crate) use auth::Auth;
use reader::Reader;
pub(crate) use security::Security;

/// All settings there are, in the order of `.env.example`: for documents and the tests that check them.
pub fn all() -> &'static [&'static Setting] {
    table::ALL
}

/// What a program has to know about its surroundings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The database, and how to sign in.
    pub database: Database,
    /// The schema of the outbox tables and functions.
    pub schema: String,
    /// Settings of the relay.
    pub relay: Relay,
    /// Settings of the purge.
    pub purge: Purge,
    /// What is logged, and how.
    pub logs: Logs,
    /// The namespace of a function's metrics; none if they are switched off.
    pub metrics_namespace: Option<String>,
}

/// The program that starts; it decides what must be given, and what the server sees as the session's
/// `application_name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Publishes messages, in a function or from the command line; needs destinations.
    Relay,
    /// Deletes dispatched messages past their retention.
    Purge,
    /// Answers an operator inside the network.
    Admin,
    /// The operator's command line.
    CommandLine,
}

impl Program {
    /// The program's name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::Purge => "purge",
            Self::Admin => "admin",
            Self::CommandLine => "cli",
        }
    }
}

/// Settings of the purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// How long a dispatched message is kept.
    pub retention: Duration,
    /// Most messages of one statement.
    pub batch_size: u32,
    /// Where messages are archived before they are deleted; `None` only deletes them.
    pub archive: Option<ArchiveLocation>,
}

/// What is logged, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logs {
    /// Least severity that the relay's own code logs.
    pub level: LevelFilter,
    /// Form of a line.
    pub format: LogFormat,
}

/// Form of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object a line, for log stores.
    Json,
    /// Plain text, for people.
    Text,
}

impl Settings {
    /// Reads the process's environment.
    ///
    /// # Errors
    /// [`SettingsError`] lists every problem, one line each, and shows no secret.
    pub fn from_env(program: Program) -> Result<Self, SettingsError> {
        Self::from_vars(program, std::env::vars_os())
    }

    /// Reads these variables; of two with the same name, the later one counts.
    ///
    /// # Errors
    /// [`SettingsError`] lists every problem, one line each, and shows no secret.
    pub fn from_vars<N, V>(
        program: Program,
        vars: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, SettingsError>
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let mut reader = Reader::new(vars);
        let settings = Self {
            database: Database::read(&mut reader, program),
            schema: schema(&mut reader),
            relay: Relay::read(&mut reader, program),
            purge: purge(&mut reader),
            logs: logs(&mut reader),
            metrics_namespace: metrics_namespace(&mut reader),
        };
        reader.finish()?;
        Ok(settings)
    }
}

/// The name is only measured here; the store quotes it, whatever it is.
fn schema(reader: &mut Reader) -> String {
    let schema = reader.text_or_default(&table::SCHEMA).to_owned();
    if schema.len() > 63 {
        reader.refuse(&table::SCHEMA, "is longer than Postgres takes");
    } else if schema.contains("://") {
        reader.refuse(&table::SCHEMA, "is a URL");
    }
    schema
}

fn purge(reader: &mut Reader) -> Purge {
    Purge {
        retention: Duration::from_hours(reader.whole(&table::RETENTION).into()),
        batch_size: reader.whole(&table::PURGE_BATCH_SIZE),
        archive: archive(reader),
    }
}

fn archive(reader: &mut Reader) -> Option<ArchiveLocation> {
    let location = ArchiveLocation::parse(reader.text(&table::ARCHIVE)?);
    location.map_err(|problem| reader.complain(&table::ARCHIVE, &problem)).ok()
}

fn logs(reader: &mut Reader) -> Logs {
    Logs {
        level: match reader.word(&table::LOG_LEVEL) {
            "error" => LevelFilter::ERROR,
            "warn" => LevelFilter::WARN,
            "debug" => LevelFilter::DEBUG,
            "trace" => LevelFilter::TRACE,
            _ => LevelFilter::INFO,
        },
        format: match reader.word(&table::LOG_FORMAT) {
            "text" => LogFormat::Text,
            _ => LogFormat::Json,
        },
    }
}

/// What `CloudWatch` takes, less the blanks that it takes too: they are not seen.
fn metrics_namespace(reader: &mut Reader) -> Option<String> {
    let namespace = reader.text_or_default(&table::METRICS_NAMESPACE).to_owned();
    if namespace == "off" {
        return None;
    }
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".-_/#:".contains(c);
    let is_of_aws = namespace.starts_with("AWS/") || namespace.starts_with(':');
    if namespace.len() > 255 || is_of_aws || !namespace.chars().all(is_allowed) {
        reader.refuse(&table::METRICS_NAMESPACE, "is not a namespace");
    }
    Some(namespace)
}

#[cfg(test)]
mod tests;

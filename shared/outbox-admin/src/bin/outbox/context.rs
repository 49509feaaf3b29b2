//! What every verb needs: the settings, the logs and the store.

use std::env;
use std::fs;
use std::io::{self, IsTerminal};

use outbox_lambda::settings::{LogFormat, Logs};
use outbox_lambda::{Program, Settings, logs};
use outbox_store::{Schema, Store};

use crate::exit::{Exit, Failure};

pub(crate) struct Context {
    pub(crate) settings: Settings,
    pub(crate) schema: Schema,
}

impl Context {
    /// Reads the settings and starts the logs, which go to standard error.
    pub(crate) fn new(program: Program) -> Result<Self, Failure> {
        let settings = Settings::from_env(program)?;
        logs::init(&fit(settings.logs, program), logs::Stream::Stderr);
        let schema =
            Schema::new(&settings.schema).map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Self { settings, schema })
    }

    /// The store; nothing is connected yet.
    pub(crate) fn store(&self) -> Result<Store, Failure> {
        let pool = outbox_lambda::pool(&self.settings.database)?;
        Ok(Store::new(pool, self.schema.clone()))
    }

    /// What a failed statement, or whatever wraps it, means to the user.
    pub(crate) fn failure(&self, error: &outbox_store::Error) -> Failure {
        if let Some(explained) = outbox_lambda::explain(&self.settings.database, error) {
            return explained.into();
        }
        let exit = if error.is_transient() { Exit::Unreachable } else { Exit::Problem };
        Failure { exit, message: error.to_string() }
    }

    /// What a failed command means to the user.
    pub(crate) fn explain(&self, error: outbox_admin::Error) -> Failure {
        match error {
            outbox_admin::Error::Usage(problem) => Failure::usage(problem),
            outbox_admin::Error::Store(error) => self.failure(&error),
        }
    }
}

/// The name of this machine, or of the container.
pub(crate) fn host_name() -> String {
    let from_file = |_| fs::read_to_string("/proc/sys/kernel/hostname");
    let name = env::var("HOSTNAME").or_else(from_file).unwrap_or_default();
    if name.trim().is_empty() { "localhost".to_owned() } else { name.trim().to_owned() }
}

/// What nobody has set fits the reader: text on a terminal, and no news of verbs that answer anyway.
fn fit(mut logs: Logs, program: Program) -> Logs {
    if env::var_os("OUTBOX_LOG_FORMAT").is_none() && io::stderr().is_terminal() {
        logs.format = LogFormat::Text;
    }
    if env::var_os("OUTBOX_LOG_LEVEL").is_none() && program == Program::CommandLine {
        logs.level = tracing::level_filters::LevelFilter::WARN;
    }
    logs
}

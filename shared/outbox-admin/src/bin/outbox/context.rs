//! What every verb needs: the settings, the logs, the store, and what an error means to the user.

use std::env;
use std::fs;
use std::io::{self, IsTerminal};
use std::process;

use outbox_admin::how_to_grant;
use outbox_lambda::settings::LogFormat;
use outbox_lambda::{Cause, Program, Settings, describe, logs};
use outbox_store::{Schema, Store};
use tracing::level_filters::LevelFilter;

use crate::args::Who;
use crate::exit::{Exit, Failure};

pub(crate) struct Context {
    pub(crate) settings: Settings,
    pub(crate) schema: Schema,
    /// The role that has the rights for the verb.
    pub(crate) role: &'static str,
}

impl Context {
    /// Reads the settings and starts the logs, which go to standard error: at this level and, on a
    /// terminal, as text, unless the settings say otherwise.
    pub(crate) fn new(program: Program, level: LevelFilter) -> Result<Self, Failure> {
        let settings = Settings::from_env(program)?;
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let mut logs = settings.logs;
        if !is_set("OUTBOX_LOG_LEVEL") {
            logs.level = level;
        }
        if !is_set("OUTBOX_LOG_FORMAT") && io::stderr().is_terminal() {
            logs.format = LogFormat::Text;
        }
        logs::init(&logs, logs::Stream::Stderr);
        let schema = Schema::new(&settings.schema);
        let schema = schema.map_err(|error| Failure::usage(error.to_string()))?;
        let role = if program == Program::Relay { "outbox_relay" } else { "outbox_admin" };
        Ok(Self { settings, schema, role })
    }

    /// For a verb that answers: its answer, or its one sentence, says all there is.
    pub(crate) fn quiet(program: Program) -> Result<Self, Failure> {
        Self::new(program, LevelFilter::ERROR)
    }

    /// The store; nothing is connected yet.
    pub(crate) fn store(&self) -> Result<Store, Failure> {
        let pool = outbox_lambda::pool(&self.settings.database)?;
        Ok(Store::new(pool, self.schema.clone()))
    }

    /// What a failed command means to the user.
    pub(crate) fn failure(&self, error: impl Into<outbox_admin::Error>) -> Failure {
        match error.into() {
            outbox_admin::Error::Usage(problem) => Failure::usage(problem),
            outbox_admin::Error::Store(error) => self.store_failure(&error),
            error @ outbox_admin::Error::TooMuch(_) => Failure::problem(error.to_string()),
            outbox_admin::Error::Interrupted { action, interrupted } => {
                let so_far = outbox_admin::so_far(action, &interrupted);
                self.store_failure(&interrupted.source).and(&so_far)
            }
        }
    }

    /// What a failed statement means to the user.
    pub(crate) fn store_failure(&self, error: &outbox_store::Error) -> Failure {
        match describe(&self.settings.database, error) {
            Cause::Connection(error) => error.into(),
            Cause::Statement(error) => {
                let exit = if error.is_transient() { Exit::Unreachable } else { Exit::Problem };
                let failure = Failure { exit, message: error.to_string() };
                match how_to_grant(error, self.role) {
                    Some(hint) => failure.and(&hint),
                    None => failure,
                }
            }
        }
    }
}

/// The name of this machine, or of the container.
fn host_name() -> String {
    let from_file = |_| fs::read_to_string("/proc/sys/kernel/hostname");
    let name = env::var("HOSTNAME").or_else(from_file).unwrap_or_default();
    if name.trim().is_empty() { "localhost".to_owned() } else { name.trim().to_owned() }
}

/// What people see on claimed rows and runs. Of a pod's long name the end says which one it is.
pub(crate) fn process_name() -> String {
    let host = host_name();
    let from = host.ceil_char_boundary(host.len().saturating_sub(28));
    format!("{}/{}", &host[from..], process::id())
}

/// Who asks, for the audit: `ada@host`, or `ada by root@host`.
pub(crate) fn actor(who: &Who) -> String {
    let user = env::var("USER").or_else(|_| env::var("LOGNAME"));
    let operator = who.operator.as_ref().map(|name| format!("{name} by ")).unwrap_or_default();
    format!("{operator}{}@{}", user.as_deref().unwrap_or("somebody"), host_name())
}

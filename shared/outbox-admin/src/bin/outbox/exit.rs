//! How the program ends: an exit code, and for a failure one sentence.

use std::io::{self, Write};
use std::process::ExitCode;

use outbox_lambda::SettingsError;

/// The exit codes, which scripts rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Ok = 0,
    /// A problem was found: in a message, in a file, in the outbox.
    Problem = 1,
    /// The command or a setting is wrong.
    Usage = 2,
    /// The database cannot be reached.
    Unreachable = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// One sentence, without a secret.
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn problem(message: impl Into<String>) -> Self {
        Self { exit: Exit::Problem, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }

    /// Tells the user; that nobody listens is no further failure.
    pub(crate) fn tell(&self) {
        _ = writeln!(io::stderr(), "outbox: {}", self.message);
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<outbox_lambda::Error> for Failure {
    fn from(error: outbox_lambda::Error) -> Self {
        use outbox_lambda::Error;
        let exit = match error {
            Error::Settings(_) | Error::CaFile { .. } => Exit::Usage,
            Error::Unreachable { .. }
            | Error::Tls { .. }
            | Error::SignIn { .. }
            | Error::Busy { .. } => Exit::Unreachable,
        };
        Self { exit, message: error.to_string() }
    }
}

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

    /// The same, with something more to know.
    pub(crate) fn and(mut self, more: &str) -> Self {
        self.message.push_str("; ");
        self.message.push_str(more);
        self
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
            Error::Settings(_) | Error::CaFile { .. } | Error::Pooled { .. } => Exit::Usage,
            Error::Credentials { .. }
            | Error::Unreachable { .. }
            | Error::Tls { .. }
            | Error::SignIn { .. }
            | Error::Busy { .. } => Exit::Unreachable,
        };
        Self { exit, message: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_codes_are_those_that_scripts_know() {
        let codes =
            [Exit::Ok, Exit::Problem, Exit::Usage, Exit::Unreachable].map(|exit| exit as u8);
        assert_eq!(codes, [0, 1, 2, 3]);
    }

    #[test]
    fn a_database_that_is_away_or_refuses_us_cannot_be_reached_and_a_bad_setting_is_wrong_usage() {
        use outbox_lambda::Error;
        let (database, problem) = (String::new(), String::new());
        let away = Error::Unreachable { database: database.clone(), problem: problem.clone() };
        let refused = Error::SignIn { database, problem };
        assert_eq!(Failure::from(away).exit, Exit::Unreachable);
        assert_eq!(Failure::from(refused).exit, Exit::Unreachable);
        let no_file = Error::CaFile { path: "ca.pem".into(), problem: "no such file".into() };
        assert_eq!(Failure::from(no_file).exit, Exit::Usage);
    }
}

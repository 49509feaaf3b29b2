//! What can go wrong between a program and its database.

use std::path::PathBuf;

use crate::settings::SettingsError;

/// What a program failed at before, or instead of, its work. Its text shows no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The settings are wrong; nothing was tried.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// `OUTBOX_DATABASE_CA_FILE` is missing, unreadable, or holds no certificate.
    #[error("cannot use the certificate authorities in {}: {problem}; check OUTBOX_DATABASE_CA_FILE", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// No answer, or the connection was lost: host, port, network, or the server is down.
    #[error("cannot reach the database {database}: {problem}")]
    Unreachable {
        /// Host, port, database and role.
        database: String,
        /// What happened, and what to check.
        problem: String,
    },
    /// The server offers no TLS, or is not the one it should be. Never tried again without.
    #[error("no trusted connection to the database {database}: {problem}")]
    Tls {
        /// Host, port, database and role.
        database: String,
        /// What happened, and what to check.
        problem: String,
    },
    /// No credentials to sign in with: the secret, or the AWS credentials that a token is signed with.
    #[error("no credentials for the database {database}: {problem}")]
    Credentials {
        /// Host, port, database and role.
        database: String,
        /// What happened, and what to check.
        problem: String,
        /// Whether it may be over in a while.
        is_transient: bool,
    },
    /// A transaction pooler answers where the server itself has to.
    #[error(
        "the database {database} is reached through a transaction pooler, and a migration or a bench needs a \
         session of its own: give the server's own address in OUTBOX_DATABASE_URL, or OUTBOX_DATABASE_HOST and _PORT"
    )]
    Pooled {
        /// Host, port, database and role.
        database: String,
    },
    /// The server refuses this role, password or database.
    #[error("the database {database} refuses the sign-in: {problem}")]
    SignIn {
        /// Host, port, database and role.
        database: String,
        /// What happened, with its SQLSTATE, and what to check.
        problem: String,
    },
    /// The server is there but takes no work now: no slots left, starting, stopping, read-only.
    #[error("the database {database} takes no work at the moment: {problem}")]
    Busy {
        /// Host, port, database and role.
        database: String,
        /// What happened, with its SQLSTATE, and what to check.
        problem: String,
    },
}

impl Error {
    /// The kind of error, as a label of few values.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Settings(_) => "settings",
            Self::CaFile { .. } => "ca_file",
            Self::Unreachable { .. } => "database_unreachable",
            Self::Tls { .. } => "database_tls",
            Self::Credentials { .. } => "database_credentials",
            Self::Pooled { .. } => "database_pooled",
            Self::SignIn { .. } => "database_sign_in",
            Self::Busy { .. } => "database_busy",
        }
    }

    /// Whether the same program may succeed later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Busy { .. } => true,
            Self::Credentials { is_transient, .. } => *is_transient,
            _ => false,
        }
    }
}

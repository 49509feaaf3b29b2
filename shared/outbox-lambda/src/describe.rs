//! What a failure of the store means to whoever runs a program: a code and a sentence, the same in an
//! invoker's answer, in a log line and on a terminal.

use std::fmt;

use crate::error::Error;
use crate::explain::explain;
use crate::settings::Database;

/// Why the store failed. Its text is one sentence and shows no secret.
#[derive(Debug)]
pub enum Cause<'a> {
    /// The database was not reached, or does not serve us: [`explain()`] says what to check.
    Connection(Error),
    /// It answers, and what was asked of it failed: the store's own words say all there is.
    Statement(&'a outbox_store::Error),
}

/// Why the store failed, in the words of [`explain()`] where it has some.
pub fn describe<'a>(database: &Database, error: &'a outbox_store::Error) -> Cause<'a> {
    explain(database, error).map_or(Cause::Statement(error), Cause::Connection)
}

impl Cause<'_> {
    /// The kind of failure, as a label of few values.
    pub fn code(&self) -> &str {
        match self {
            Self::Connection(error) => error.code(),
            Self::Statement(error) => error.code(),
        }
    }

    /// Whether the same program may succeed later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connection(error) => error.is_transient(),
            Self::Statement(error) => error.is_transient(),
        }
    }
}

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) => error.fmt(f),
            Self::Statement(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use deadpool_postgres::PoolError;
    use outbox_store::Error;

    use super::*;
    use crate::settings::{Program, Settings};

    #[test]
    fn a_failure_is_told_in_our_words_where_it_is_about_the_connection_and_else_in_the_stores() {
        let url = ("OUTBOX_DATABASE_URL", "postgres://u:s3cret@db.example.com/shop");
        let database = Settings::from_vars(Program::Purge, [url]).expect("it is allowed").database;
        let (closed, late) = (
            Error::Connection { source: PoolError::Closed },
            Error::Timeout(Duration::from_secs(20)),
        );
        for (error, code, named) in [
            (closed, "database_busy", "the database db.example.com:5432/shop as u"),
            (late, "timeout", "did not answer within 20.0 s"),
        ] {
            let cause = describe(&database, &error);
            assert_eq!((cause.code(), cause.is_transient()), (code, true));
            assert!(cause.to_string().contains(named), "{cause}");
        }
    }
}

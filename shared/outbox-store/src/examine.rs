//! Examine: what kind of server this is, and what the role that signed in may do there; for operators.

use std::time::Duration;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// What the server and the role are like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examination {
    /// The server's version, as it says it.
    pub server_version: String,
    /// The database's encoding; an outbox needs UTF8.
    pub encoding: String,
    /// The database's name.
    pub database: String,
    /// The role that signed in.
    pub role: String,
    /// Whether the server takes writes: a replica, or one set read-only, does not.
    pub takes_writes: bool,
    /// The server's clock, as the time since 1970.
    pub clock: Duration,
    /// Which of the outbox's three roles it is a member of; a superuser of all.
    pub member_of: Vec<String>,
}

impl Store {
    /// Looks at the server and the role. It reads catalogs only, and works where there is no outbox too.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn examine(&self) -> Result<Examination, Error> {
        let rows = connection::query(&self.pool, &self.sql.examine, &[]).await?;
        let row = &rows[0];
        Ok(Examination {
            server_version: row.get("server_version"),
            encoding: row.get("encoding"),
            database: row.get("database"),
            role: row.get("role"),
            takes_writes: row.get("takes_writes"),
            clock: Duration::from_millis(row.get::<_, i64>("clock_ms").unsigned_abs()),
            member_of: row.get("member_of"),
        })
    }
}

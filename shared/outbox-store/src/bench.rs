//! Bench: an outbox of its own to measure, in a schema that nobody else uses.
//!
//! Everything that fills, empties or drops is a method of [`Bench`], which makes its schema's name itself: no bench
//! can touch the outbox that an application uses.

use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::connection::{self, Param};
use crate::error::Error;
use crate::migrate::migrate;
use crate::queries;
use crate::schema::Schema;
use crate::store::Store;

/// An insert holds at most so many messages and about so many bytes, so that each is soon over.
const MOST_MESSAGES: u64 = 5_000;
const MOST_BYTES: u64 = 8_000_000;

/// What a bench depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchFacts {
    /// The server's version.
    pub server_version: String,
    /// The setting in a session of ours.
    pub synchronous_commit: String,
    /// Whether the server takes writes.
    pub takes_writes: bool,
    /// Whether the login may create a schema.
    pub may_create: bool,
    /// The database's name, quoted as SQL takes it.
    pub database: String,
    /// The login's name, quoted as SQL takes it.
    pub role: String,
    /// Schemas of benches that run, or that were killed.
    pub schemas: Vec<String>,
}

/// An outbox to measure.
pub struct Bench {
    pool: Pool,
    schema: Schema,
    store: Store,
}

impl Bench {
    /// A bench on that pool, with a fresh name; nothing is created yet.
    ///
    /// # Panics
    /// Never: the name it makes is one that a schema can have.
    pub fn new(pool: Pool) -> Self {
        let schema = Schema::new(format!("outbox_bench_{}", Uuid::new_v4().simple()));
        let schema = schema.expect("a word of 45 letters is a name");
        Self { store: Store::new(pool.clone(), schema.clone()), pool, schema }
    }

    /// Its schema's name.
    pub fn name(&self) -> &str {
        self.schema.name()
    }

    /// The store of its outbox.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Looks at the server and the login.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn facts(&self) -> Result<BenchFacts, Error> {
        let sql = queries::BENCH_FACTS.render(&self.schema);
        let row = &connection::query(&self.pool, &sql, &[]).await?[0];
        Ok(BenchFacts {
            server_version: row.get("server_version"),
            synchronous_commit: row.get("synchronous_commit"),
            takes_writes: row.get("takes_writes"),
            may_create: row.get("may_create"),
            database: row.get("database"),
            role: row.get("role"),
            schemas: row.get("schemas"),
        })
    }

    /// Creates its outbox by the migrations.
    ///
    /// # Errors
    /// As [`migrate`].
    ///
    /// # Cancellation
    /// A dropped future may leave the schema to appear after a [`drop_schema`](Self::drop_schema): let it end.
    pub async fn create(&self, client: &mut Client) -> Result<(), Error> {
        migrate(client, &self.schema).await.map(drop)
    }

    /// Empties its outbox and fills it with due messages of the destination `bench`; the groups, if any, are
    /// `group-0`, `group-1` and so on, and take turns.
    ///
    /// # Errors
    /// See [`Error`].
    ///
    /// # Cancellation
    /// A dropped future leaves a part of them.
    pub async fn fill(
        &self,
        n_messages: u64,
        payload_bytes: u32,
        n_groups: u32,
    ) -> Result<(), Error> {
        connection::query(&self.pool, &queries::BENCH_CLEAR.render(&self.schema), &[]).await?;
        let sql = queries::BENCH_FILL.render(&self.schema);
        let at_once = (MOST_BYTES / u64::from(payload_bytes.max(1))).clamp(1, MOST_MESSAGES);
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let small = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        let (payload_bytes, n_groups) = (small(payload_bytes), small(n_groups));
        let mut n_filled = 0;
        while n_filled < n_messages {
            let last = n_messages.min(n_filled + at_once);
            let params: [Param<'_>; 4] = [
                (&number(n_filled + 1), Type::INT8),
                (&number(last), Type::INT8),
                (&payload_bytes, Type::INT4),
                (&n_groups, Type::INT4),
            ];
            connection::query(&self.pool, &sql, &params).await?;
            n_filled = last;
        }
        Ok(())
    }

    /// Where the server's write-ahead log ends, in bytes from its beginning.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn wal_bytes(&self) -> Result<u64, Error> {
        let sql = queries::BENCH_WAL.render(&self.schema);
        let rows = connection::query(&self.pool, &sql, &[]).await?;
        Ok(rows[0].get::<_, i64>("wal_bytes").unsigned_abs())
    }

    /// How long a statement takes that asks for nothing.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn ping(&self) -> Result<Duration, Error> {
        let sql = queries::BENCH_PING.render(&self.schema);
        let asked_at = Instant::now();
        connection::query(&self.pool, &sql, &[]).await?;
        Ok(asked_at.elapsed())
    }

    /// Drops its schema, if it is there.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn drop_schema(&self) -> Result<(), Error> {
        if self.facts().await?.schemas.iter().any(|name| name == self.name()) {
            let sql = queries::BENCH_DROP.render(&self.schema);
            connection::query(&self.pool, &sql, &[]).await?;
        }
        Ok(())
    }
}

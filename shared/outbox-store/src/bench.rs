//! Bench: a schema of its own, with the real migrations, in which the real statements are timed; for operators.
//!
//! It is made, filled, emptied and dropped here, on one connection, and used through a [`Store`](crate::Store) as any
//! outbox is. Its name is made here and nowhere else, so that nothing here can drop or empty another schema. A lock of the
//! session tells a bench at work from what is left over of one that was killed.

use std::ops::RangeInclusive;

use tokio_postgres::Client;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::error::Error;
use crate::migrate::migrate;
use crate::queries;
use crate::schema::Schema;

/// Upper half of the key of the lock, ours alone; the lower one is the schema's oid.
const LOCK: i64 = 0x006f_7862;

/// The session waits for no lock for ever, and ends no idle connection: it has nothing to do while a round is on.
const SESSION: &str =
    "SET lock_timeout = '10s'; SET statement_timeout = '2min'; SET idle_session_timeout = 0";

/// The schema of a bench, and the connection that keeps it. It is there from [`Bench::create`] to [`Bench::remove`].
pub struct Bench {
    client: Client,
    schema: Schema,
    fill: String,
    round_trip: String,
    written: String,
}

/// What a bench depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchServer {
    /// The server's version, as it says it.
    pub version: String,
    /// Its setting of that name, in this session.
    pub synchronous_commit: String,
    /// Its setting of that name.
    pub fsync: String,
    /// Its setting of that name.
    pub full_page_writes: String,
    /// Whether the server takes writes: a replica, or one set read-only, does not.
    pub takes_writes: bool,
    /// Whether the login may make a schema.
    pub may_create: bool,
    /// The statement that lets it.
    pub grant_create: String,
    /// Roles of an outbox that the cluster lacks.
    pub missing_roles: Vec<String>,
    /// Whether the login may make them.
    pub may_create_roles: bool,
}

/// A schema that a killed bench has left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOver {
    /// Its name.
    pub name: String,
    /// What it takes on disk.
    pub bytes: u64,
    /// The statement that drops it.
    pub drop_statement: String,
}

/// How much the whole server has written, since it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes of WAL.
    pub wal_bytes: i64,
    /// Number of the next transaction that writes.
    pub next_transaction: i64,
}

impl Bench {
    /// A bench on that connection, which must lead to the server itself: its lock is the session's. Nothing is made yet.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn new(client: Client) -> Result<Self, Error> {
        let random = Uuid::new_v4().simple().to_string();
        let schema = Schema::new(format!("outbox_bench_{}", &random[..12]));
        let schema = schema.expect("it is short and has nothing but letters and digits");
        client.batch_execute(SESSION).await?;
        let fill = queries::BENCH_FILL.render(&schema);
        let round_trip = queries::BENCH_ROUND_TRIP.render(&schema);
        let written = queries::BENCH_WRITTEN.render(&schema);
        Ok(Self { client, schema, fill, round_trip, written })
    }

    /// Its schema: for a [`Store`](crate::Store) of its own.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The statement that drops its schema.
    pub fn drop_statement(&self) -> String {
        format!("DROP SCHEMA {} CASCADE", self.schema.name())
    }

    /// Looks at the server and the login.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn server(&self) -> Result<BenchServer, Error> {
        let sql = queries::BENCH_SERVER.render(&self.schema);
        let row = self.client.query_typed_one(&sql, &[]).await?;
        Ok(BenchServer {
            version: row.get("server_version"),
            synchronous_commit: row.get("synchronous_commit"),
            fsync: row.get("fsync"),
            full_page_writes: row.get("full_page_writes"),
            takes_writes: row.get("takes_writes"),
            may_create: row.get("may_create"),
            grant_create: row.get("grant_create"),
            missing_roles: row.get("missing_roles"),
            may_create_roles: row.get("may_create_roles"),
        })
    }

    /// What killed benches have left behind in this database, whoever made it.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn left_over(&self) -> Result<Vec<LeftOver>, Error> {
        let sql = queries::BENCH_LEFT_OVER.render(&self.schema);
        let rows = self.client.query_typed(&sql, &[(&LOCK, Type::INT8)]).await?;
        let left_over = rows.iter().map(|row| LeftOver {
            name: row.get("name"),
            bytes: row.get::<_, i64>("bytes").unsigned_abs(),
            drop_statement: row.get("drop_statement"),
        });
        Ok(left_over.collect())
    }

    /// Makes the schema, with the migrations.
    ///
    /// # Errors
    /// [`Error`]; what was made by then is there until [`Bench::remove`].
    pub async fn create(&mut self) -> Result<(), Error> {
        // Nobody sees the schema before its lock is held, and takes it for left over.
        let sql = queries::BENCH_HOLD.render(&self.schema);
        let transaction = self.client.transaction().await?;
        transaction.batch_execute(&format!("CREATE SCHEMA {}", self.schema.quoted())).await?;
        let key = [(&LOCK as _, Type::INT8), (&self.schema.name() as _, Type::TEXT)];
        transaction.query_typed(&sql, &key).await?;
        transaction.commit().await?;
        migrate(&mut self.client, &self.schema).await?;
        Ok(())
    }

    /// Inserts the messages with these numbers for the destination `bench`, spread over so many message groups; with 0
    /// they have none. Each has this payload, but for its number at the beginning.
    ///
    /// # Errors
    /// [`Error::Database`]; then none of them is there.
    pub async fn fill(
        &self,
        numbers: RangeInclusive<i64>,
        n_groups: u32,
        payload: &str,
    ) -> Result<(), Error> {
        let params = [
            (numbers.start() as _, Type::INT8),
            (numbers.end() as _, Type::INT8),
            (&i64::from(n_groups) as _, Type::INT8),
            (&payload as _, Type::TEXT),
        ];
        self.client.query_typed(&self.fill, &params).await?;
        Ok(())
    }

    /// Throws all messages away.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn empty(&self) -> Result<(), Error> {
        let truncate = format!("TRUNCATE {}.message", self.schema.quoted());
        Ok(self.client.batch_execute(&truncate).await?)
    }

    /// Goes to the server and back, once.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn round_trip(&self) -> Result<(), Error> {
        self.client.query_typed(&self.round_trip, &[]).await?;
        Ok(())
    }

    /// How much the server has written so far; `None` where it does not tell, as some managed ones.
    ///
    /// # Errors
    /// [`Error::Database`], if the connection is lost.
    pub async fn written(&self) -> Result<Option<Written>, Error> {
        match self.client.query_typed_one(&self.written, &[]).await {
            Ok(row) => Ok(Some(Written {
                wal_bytes: row.get("wal_bytes"),
                next_transaction: row.get("next_transaction"),
            })),
            Err(error) if error.as_db_error().is_some() && !error.is_closed() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Goes on with another connection, after this one was lost.
    ///
    /// # Errors
    /// [`Error::Database`].
    pub async fn reconnect(&mut self, client: Client) -> Result<(), Error> {
        client.batch_execute(SESSION).await?;
        self.client = client;
        Ok(())
    }

    /// Drops the schema with all there is in it; one that is not there is none to drop.
    ///
    /// # Errors
    /// [`Error::Database`]; then it is still there.
    pub async fn remove(&self) -> Result<(), Error> {
        let drop = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema.quoted());
        Ok(self.client.batch_execute(&drop).await?)
    }
}

//! Migrations: the files of `sql/migrations`, applied by refinery, each in a transaction of its own.

use refinery::{Runner, Target};
use tokio_postgres::Client;

use crate::error::Error;
use crate::queries;
use crate::schema::Schema;

/// The number of the latest migration.
pub const SCHEMA_VERSION: i32 = 5;

macro_rules! migration {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../sql/migrations/", $name, ".sql")))
    };
}

const FILES: &[(&str, &str)] = &[
    migration!("V1__outbox"),
    migration!("V2__groups_and_breaker"),
    migration!("V3__enqueue_refuses"),
    migration!("V4__dead_letters"),
    migration!("V5__runs"),
];

/// Two programs must not migrate at once: refinery takes no lock. The number is arbitrary, ours alone.
const ADVISORY_LOCK: i64 = 0x006f_7574_626f_7821;

/// A migration, rendered for a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// Name of its file, without the ending.
    pub name: &'static str,
    /// Its SQL.
    pub sql: String,
}

/// All migrations for that schema, in order; what `outbox migrate --print-sql` prints.
pub fn migrations(schema: &Schema) -> Vec<Migration> {
    FILES.iter().map(|&(name, sql)| Migration { name, sql: schema.render(sql) }).collect()
}

/// Applies what is missing and returns the names of the migrations that it applied. An outbox that psql made from the
/// same files is taken over as it is.
///
/// The client must be connected to the server itself, not through a transaction pooler: an advisory lock of the
/// session keeps two migrations apart.
///
/// # Errors
/// [`Error::Migration`] with the failing migration's name; it has changed nothing, those before it stay. It waits three
/// seconds at most for the lock of a table that somebody's transaction has written to (`55P03`); repeat it then.
///
/// # Cancellation
/// A dropped future leaves each migration applied or not; close the connection, which frees the lock.
pub async fn migrate(client: &mut Client, schema: &Schema) -> Result<Vec<String>, Error> {
    client.execute("SELECT pg_advisory_lock($1)", &[&ADVISORY_LOCK]).await?;
    // Who waits for a lock of a table makes all writers wait behind: better to fail soon, and to be tried again.
    client.batch_execute("SET lock_timeout = '3s'").await?;
    let applied = migrate_locked(client, schema).await;
    client.batch_execute("RESET lock_timeout").await?;
    let unlocked = client.execute("SELECT pg_advisory_unlock($1)", &[&ADVISORY_LOCK]).await;
    // A failed migration has more to say than the unlocking that failed after it.
    let applied = applied?;
    unlocked?;
    Ok(applied)
}

async fn migrate_locked(client: &mut Client, schema: &Schema) -> Result<Vec<String>, Error> {
    let found: String = client.query_one("SHOW server_encoding", &[]).await?.get(0);
    if found != "UTF8" {
        return Err(Error::Encoding { found });
    }
    let quoted = schema.quoted();
    let found = version(client, schema).await?;
    let history = format!("{quoted}.migration_history");
    let has_history = client
        .query_one("SELECT to_regclass($1) IS NOT NULL", &[&history])
        .await?
        .get::<_, bool>(0);
    if !has_history {
        client.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {quoted}")).await?;
    }
    if let (false, Some(version)) = (has_history, found) {
        let taken_over = Target::FakeVersion(version);
        runner(schema, &history)?.set_target(taken_over).run_async(client).await?;
    }
    let report = runner(schema, &history)?.run_async(client).await?;
    Ok(report.applied_migrations().iter().map(ToString::to_string).collect())
}

/// The migrations that [`migrate`] would apply; nothing is changed.
///
/// # Errors
/// See [`Error`].
pub async fn pending_migrations(
    client: &Client,
    schema: &Schema,
) -> Result<Vec<&'static str>, Error> {
    let applied = usize::try_from(version(client, schema).await?.unwrap_or(0)).unwrap_or(0);
    Ok(FILES.iter().skip(applied).map(|&(name, _)| name).collect())
}

/// The version of the outbox that is there, however it was made.
async fn version(client: &Client, schema: &Schema) -> Result<Option<i32>, Error> {
    let function = format!("{}.schema_version()", schema.quoted());
    let exists: bool =
        client.query_one("SELECT to_regprocedure($1) IS NOT NULL", &[&function]).await?.get(0);
    if !exists {
        return Ok(None);
    }
    let row = client.query_one(&queries::SCHEMA_VERSION.render(schema), &[]).await?;
    Ok(Some(row.get("version")))
}

fn runner(schema: &Schema, history: &str) -> Result<Runner, Error> {
    let migrations = FILES
        .iter()
        .map(|(name, sql)| refinery::Migration::unapplied(name, &schema.render(sql)))
        .collect::<Result<Vec<_>, _>>()?;
    let mut runner = Runner::new(&migrations);
    runner.set_migration_table_name(history);
    Ok(runner)
}

//! Connections to the database: a small pool for what runs again and again, one connection for the
//! command line.
//!
//! Everything here ends in bounded time, well under the 10 seconds that Lambda gives a cold start,
//! whatever the network does (case L09).

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Connect, Manager, ManagerConfig, Pool, QueueMode, RecyclingMethod, Runtime,
};
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::carried::{Unopened, carried};
use crate::credentials::{self, Asked, Credentials, Login};
use crate::error::Error;
use crate::explain::{explain_failure, refuses_login};
use crate::settings::Database;
use crate::tls;

/// One for a claim and one for the marks. A relay has up to eight batches under way side by side, but each needs the
/// database for moments only. There may be many containers, and each holds its connections while it is frozen (case P42).
const CONNECTIONS: usize = 2;

/// How long a connection may take to prove that it is alive before it is replaced.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long to wait for a connection while all of them are in use.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);

/// A pool of at most two connections, signed in as the settings say. It opens none, and fetches no
/// credentials, before the first is asked for.
///
/// Each connection is asked for a sign of life before it is handed out: a thawed function finds its
/// own closed by the server or forgotten by a firewall, and that must not cost a run (case P10).
///
/// # Errors
/// [`Error::CaFile`] if the certificate authorities cannot be read.
pub fn pool(database: &Database) -> Result<Pool, Error> {
    pool_with(database, credentials::source(database))
}

/// The same with another source of credentials.
///
/// # Errors
/// [`Error::CaFile`] if the certificate authorities cannot be read.
pub fn pool_with(database: &Database, credentials: Arc<dyn Credentials>) -> Result<Pool, Error> {
    let connector = Connector::new(database, credentials)?;
    let probe = ManagerConfig { recycling_method: RecyclingMethod::Verified };
    let manager = Manager::from_connect(database.connection.clone(), connector, probe);
    // The connector bounds the time to open one: it knows who did not answer.
    Ok(Pool::builder(manager)
        .max_size(CONNECTIONS)
        // The one used last is the one most likely alive.
        .queue_mode(QueueMode::Lifo)
        .wait_timeout(Some(WAIT_TIMEOUT))
        .recycle_timeout(Some(PROBE_TIMEOUT))
        .runtime(Runtime::Tokio1)
        .build()
        .expect("a runtime is given, and that is all a pool demands"))
}

/// One connection of its own, outside any pool.
///
/// # Errors
/// [`Error`] says in one sentence what failed and what to check.
///
/// # Cancellation
/// Leaves nothing behind: a half-open connection is closed.
pub async fn connect(database: &Database) -> Result<Client, Error> {
    let connector = Connector::new(database, credentials::source(database))?;
    let opened = connector.open(&database.connection).await;
    let (client, _task) = opened.map_err(|error| explain_failure(database, &error))?;
    Ok(client)
}

/// One connection to the server itself, with nothing between that hands it to others from transaction to
/// transaction: for migrations and benches, whose lock is the session's.
///
/// # Errors
/// [`Error::Pooled`] if a transaction pooler answers; else as [`connect`].
///
/// # Cancellation
/// Leaves nothing behind: a half-open connection is closed.
pub async fn connect_directly(database: &Database) -> Result<Client, Error> {
    let pooled = || Error::Pooled { database: database.to_string() };
    let mut connection = database.connection.clone();
    let options = connection.get_options().map(|given| format!("{given} ")).unwrap_or_default();
    // A session's own setting, of which a server knows afterwards; a pooler refuses it, or drops it.
    connection.options(format!("{options}-c outbox.direct=on"));

    let connector = Connector::new(database, credentials::source(database))?;
    let (client, _task) = connector.open(&connection).await.map_err(|error| {
        if refuses_options(&error) { pooled() } else { explain_failure(database, &error) }
    })?;
    let asked = client.query_typed("SELECT current_setting('outbox.direct', true)", &[]).await;
    let rows = asked.map_err(|error| explain_failure(database, &error))?;
    match rows[0].get(0) {
        Some("on") => Ok(client),
        _ => Err(pooled()),
    }
}

/// `PgBouncer` says 08P01, RDS Proxy 0A000, and both name what they do not take.
fn refuses_options(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|answer| {
        [SqlState::PROTOCOL_VIOLATION, SqlState::FEATURE_NOT_SUPPORTED].contains(answer.code())
            && answer.message().contains("option")
    })
}

/// Opens connections, each as whoever the source of credentials names at that moment.
struct Connector {
    tls: MakeRustlsConnect,
    credentials: Arc<dyn Credentials>,
    /// For the credentials, and again for the connection.
    time: Duration,
}

type Opened = Result<(Client, JoinHandle<()>), tokio_postgres::Error>;

impl Connect for Connector {
    fn connect(&self, config: &Config) -> Pin<Box<dyn Future<Output = Opened> + Send + '_>> {
        let config = config.clone();
        Box::pin(async move { self.open(&config).await })
    }
}

impl Connector {
    fn new(database: &Database, credentials: Arc<dyn Credentials>) -> Result<Self, Error> {
        let tls = tls::connector(&database.security)?;
        Ok(Self { tls, credentials, time: database.connect_timeout })
    }

    /// Opens one. Where the server refuses the login, it asks once for another (case P24).
    async fn open(&self, settings: &Config) -> Opened {
        let login = self.ask(self.credentials.login()).await?;
        let error = match self.open_as(&login, settings).await {
            Err(error) if error.as_db_error().is_some_and(refuses_login) => error,
            answer => return answer,
        };
        let Some(other) = self.ask(self.credentials.renewed(&login)).await? else {
            return Err(error);
        };
        tracing::info!("the database refused the credentials, and newer ones are tried");
        self.open_as(&other, settings).await
    }

    async fn ask<T>(&self, asked: Asked<'_, T>) -> Result<T, tokio_postgres::Error> {
        let failure = match tokio::time::timeout(self.time, asked).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => Unopened::Credentials(error),
            Err(_) => Unopened::CredentialsLate,
        };
        Err(carried(failure).await)
    }

    async fn open_as(&self, login: &Login, settings: &Config) -> Opened {
        let config = match login.fill(settings) {
            Ok(config) => config,
            Err(error) => return Err(carried(error.into()).await),
        };
        match tokio::time::timeout(self.time, open(config, self.tls.clone())).await {
            Ok(answer) => answer,
            Err(_) => Err(carried(Unopened::NoAnswer).await),
        }
    }
}

/// Opens a connection and starts the task that moves its bytes.
async fn open(config: Config, tls: MakeRustlsConnect) -> Opened {
    let (client, connection) = config.connect(tls).await?;
    let task = tokio::spawn(async move {
        // Whoever uses the client learns of the loss too, and is the one to log it.
        if let Err(error) = connection.await {
            tracing::debug!(%error, "database connection lost");
        }
    });
    Ok((client, task))
}

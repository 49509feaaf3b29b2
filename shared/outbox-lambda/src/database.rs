//! Connections to the database: a small pool for what runs again and again, one connection for the
//! command line.
//!
//! Everything here ends in bounded time, well under the 10 seconds that Lambda gives a cold start,
//! whatever the network does (case L09).

use std::pin::Pin;
use std::time::Duration;

use deadpool_postgres::{
    Connect, Manager, ManagerConfig, Pool, QueueMode, RecyclingMethod, Runtime,
};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::Error;
use crate::explain::{explain_failure, no_answer};
use crate::settings::Database;
use crate::tls;

/// Enough to claim a batch while another is marked. There may be many containers, and each holds
/// its connections while it is frozen (case P42).
const CONNECTIONS: usize = 2;

/// How long a connection may take to prove that it is alive before it is replaced.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long to wait for a connection while all of them are in use.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);

/// A pool of at most two connections. It opens none before the first is asked for.
///
/// Each connection is asked for a sign of life before it is handed out: a thawed function finds its
/// own closed by the server or forgotten by a firewall, and that must not cost a run (case P10).
///
/// # Errors
/// [`Error::CaFile`] if the certificate authorities cannot be read.
pub fn pool(database: &Database) -> Result<Pool, Error> {
    let connector = Connector { tls: tls::connector(&database.security)? };
    let probe = ManagerConfig { recycling_method: RecyclingMethod::Verified };
    let manager = Manager::from_connect(database.connection.clone(), connector, probe);
    Ok(Pool::builder(manager)
        .max_size(CONNECTIONS)
        // The one used last is the one most likely alive.
        .queue_mode(QueueMode::Lifo)
        .wait_timeout(Some(WAIT_TIMEOUT))
        .recycle_timeout(Some(PROBE_TIMEOUT))
        .create_timeout(Some(database.connect_timeout))
        .runtime(Runtime::Tokio1)
        .build()
        .expect("a runtime is given, and that is all a pool demands"))
}

/// One connection of its own, outside any pool: for migrations.
///
/// # Errors
/// [`Error`] says in one sentence what failed and what to check.
///
/// # Cancellation
/// Leaves nothing behind: a half-open connection is closed.
pub async fn connect(database: &Database) -> Result<Client, Error> {
    let tls = tls::connector(&database.security)?;
    let opened = open(database.connection.clone(), tls);
    match tokio::time::timeout(database.connect_timeout, opened).await {
        Ok(Ok((client, _task))) => Ok(client),
        Ok(Err(error)) => Err(explain_failure(database, &error)),
        Err(_) => Err(no_answer(database)),
    }
}

/// Opens the pool's connections.
struct Connector {
    tls: MakeRustlsConnect,
}

type Opened = Result<(Client, JoinHandle<()>), tokio_postgres::Error>;

impl Connect for Connector {
    fn connect(&self, config: &Config) -> Pin<Box<dyn Future<Output = Opened> + Send + '_>> {
        Box::pin(open(config.clone(), self.tls.clone()))
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

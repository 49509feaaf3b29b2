//! What a run has: its names, and all that is set up under them.

use anyhow::Result;
use tokio_postgres::Client;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use crate::console::Console;
use crate::database::Database;
use crate::lambda::{Emulator, Function};
use crate::operator::Operator;
use crate::programs::Logs;
use crate::queues::{Broker, Queue};

/// The names of one run. They are known before anything is made, so that [`clear`](Self::clear) finds all of it,
/// wherever the run was stopped.
pub(crate) struct Scratch {
    pub(crate) logs: Logs,
    database: Database,
    broker: Broker,
    endpoint: String,
}

/// What the story plays with.
pub(crate) struct Stage<'a> {
    pub(crate) scratch: &'a Scratch,
    /// For looking into the database, and for arranging what would take days.
    pub(crate) client: Client,
    pub(crate) orders: Queue,
    pub(crate) audit: Queue,
    pub(crate) billing: Queue,
    pub(crate) invoices: Queue,
    pub(crate) operator: Operator,
    pub(crate) emulator: Emulator,
    pub(crate) relay: Function,
    /// The setting `OUTBOX_DESTINATIONS`.
    destinations: serde_json::Map<String, serde_json::Value>,
}

impl Scratch {
    pub(crate) async fn new() -> Result<Self> {
        let run = Uuid::new_v4().simple().to_string().split_off(24);
        let config = outbox_lambda::aws_config().await;
        Ok(Self {
            logs: Logs::new(&run)?,
            database: Database::new(&run)?,
            broker: Broker::new(&config, &run),
            endpoint: config.endpoint_url().unwrap_or("AWS").to_owned(),
        })
    }

    /// Removes the database, the queues and the topic.
    pub(crate) async fn clear(&self) -> Result<()> {
        let (database, broker) = tokio::join!(self.database.drop(), self.broker.delete_all());
        database.and(broker)
    }

    pub(crate) async fn connect(&self) -> Result<Client> {
        self.database.connect().await
    }
}

impl<'a> Stage<'a> {
    /// Makes the database, the queues and the topic, and starts the relay function.
    pub(crate) async fn set(scratch: &'a Scratch, console: &Console) -> Result<Self> {
        let Scratch { database, broker, logs, endpoint } = scratch;
        console.title("A transactional outbox: from an order's transaction to its consumers");
        console.note(&format!("Postgres database {}, made by `outbox migrate`", database.name()));
        console.note(&format!("queues and a topic at {endpoint}, functions under cargo lambda"));
        let _spinner = console.spinner("setting the stage");

        database.create().await?;
        let operator = Operator::new(database.url());
        operator.migrate().await?;
        let orders = broker.create_queue("orders.fifo").await?;
        let audit = broker.create_queue("events-audit").await?;
        let billing = broker.create_queue("events-billing").await?;
        let invoices = broker.create_queue("invoices").await?;
        let events = broker.create_topic([&audit, &billing]).await?;

        let mut destinations = serde_json::Map::new();
        destinations.insert("orders".to_owned(), orders.url.clone().into());
        destinations.insert("events".to_owned(), events.into());
        let emulator = Emulator::start(logs).await?;
        let relay = start_relay(&emulator, database, &destinations)?;
        let client = database.connect().await?;
        Ok(Self {
            scratch,
            client,
            orders,
            audit,
            billing,
            invoices,
            operator,
            emulator,
            relay,
            destinations,
        })
    }

    /// Deploys the relay anew, with one destination more.
    pub(crate) async fn add_route(&mut self, name: &str, target: &str) -> Result<()> {
        self.destinations.insert(name.to_owned(), target.into());
        self.relay.stop().await?;
        self.relay = start_relay(&self.emulator, &self.scratch.database, &self.destinations)?;
        Ok(())
    }

    /// Starts the purge function, whose retention is the default of seven days.
    pub(crate) fn start_purge(&self) -> Result<Function> {
        let url = self.scratch.database.url();
        self.emulator.start_function("purge", &[("OUTBOX_DATABASE_URL", &url)])
    }

    /// How many rows there are of these.
    pub(crate) async fn count(&self, rows: &str) -> Result<i64> {
        self.value(&format!("SELECT count(*) FROM {rows}")).await
    }

    /// How many messages are in that state, as everybody can see it.
    pub(crate) async fn n_with_status(&self, status: &str) -> Result<i64> {
        self.count(&format!("outbox.message_status WHERE status = '{status}'")).await
    }

    /// The only value of the only row of a query.
    pub(crate) async fn value<T: for<'b> FromSql<'b>>(&self, sql: &str) -> Result<T> {
        Ok(self.client.query_one(sql, &[]).await?.try_get(0)?)
    }
}

fn start_relay(
    emulator: &Emulator,
    database: &Database,
    destinations: &serde_json::Map<String, serde_json::Value>,
) -> Result<Function> {
    let (url, destinations) = (database.url(), serde_json::to_string(destinations)?);
    let settings = [("OUTBOX_DATABASE_URL", url.as_str()), ("OUTBOX_DESTINATIONS", &destinations)];
    emulator.start_function("relay", &settings)
}

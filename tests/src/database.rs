//! A database of a test's own: a clone of a template that has the migrations.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use outbox::NewMessage;
use outbox_store::{Schema, Store};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Transaction};

use crate::eventually;
use crate::local;
use crate::teardown;

/// A fresh database with an empty outbox, dropped at the end.
pub struct Database {
    name: String,
    server: Config,
    /// Roles belong to the cluster, and would outlive the database.
    logins: Mutex<Vec<String>>,
    /// A superuser's connection to it, for arranging and looking.
    pub client: Client,
}

impl Database {
    /// A database with the outbox in the schema `outbox`.
    pub async fn fresh() -> Self {
        let server: Config = local::var("DATABASE_URL").parse().unwrap();
        let template = template(&server).await;
        Self::create(server, &format!("TEMPLATE {template}")).await
    }

    /// A database without anything.
    pub async fn empty() -> Self {
        let server: Config = local::var("DATABASE_URL").parse().unwrap();
        Self::create(server, "").await
    }

    /// A database made with these options of CREATE DATABASE.
    pub async fn with(options: &str) -> Self {
        Self::create(local::var("DATABASE_URL").parse().unwrap(), options).await
    }

    async fn create(server: Config, how: &str) -> Self {
        let name = format!("test_{}", uuid::Uuid::new_v4().simple());
        connect(&server)
            .await
            .batch_execute(&format!("CREATE DATABASE {name} {how}"))
            .await
            .unwrap();
        let client = connect(server.clone().dbname(&name)).await;
        Self { name, server, logins: Mutex::default(), client }
    }

    /// Its URL, as the programs take it.
    pub fn url(&self) -> String {
        let mut url = url::Url::parse(&local::var("DATABASE_URL")).unwrap();
        url.set_path(&self.name);
        url.into()
    }

    /// Its URL for a login role of a test's own that is a member of `role`.
    pub async fn url_as(&self, role: &str) -> String {
        let login = format!("login_{}", uuid::Uuid::new_v4().simple());
        let sql = format!("CREATE ROLE {login} LOGIN PASSWORD 'secret' IN ROLE {role}");
        self.client.batch_execute(&sql).await.unwrap();
        self.logins.lock().unwrap_or_else(PoisonError::into_inner).push(login.clone());
        let mut url = url::Url::parse(&self.url()).unwrap();
        url.set_username(&login).unwrap();
        url.set_password(Some("secret")).unwrap();
        url.into()
    }

    /// Connection parameters of a superuser.
    pub fn config(&self) -> Config {
        let mut config = self.server.clone();
        config.dbname(&self.name);
        config
    }

    /// A further connection of a superuser.
    pub async fn connect(&self) -> Client {
        connect(&self.config()).await
    }

    /// A store on a pool of two connections.
    pub fn store(&self) -> Store {
        self.store_in(Schema::default())
    }

    /// A store on a single connection.
    pub fn store_on_one_connection(&self) -> Store {
        Store::new(pool(self.config(), 1), Schema::default())
    }

    /// A store for an outbox in another schema.
    pub fn store_in(&self, schema: Schema) -> Store {
        Store::new(pool(self.config(), 2), schema)
    }

    /// A store that signs in as that URL says.
    pub fn store_as(&self, url: &str) -> Store {
        Store::new(pool(url.parse().unwrap(), 2), Schema::default())
    }

    /// Enqueues messages, each in a transaction of its own, and returns their ids.
    pub async fn enqueue(&self, messages: impl IntoIterator<Item = NewMessage>) -> Vec<i64> {
        let mut ids = Vec::new();
        for message in messages {
            ids.push(outbox_store::enqueue(&self.client, &message).await.unwrap());
        }
        ids
    }

    /// Inserts messages past `outbox.enqueue`, which would refuse some, and returns their ids.
    pub async fn insert_raw(&self, messages: impl IntoIterator<Item = NewMessage>) -> Vec<i64> {
        let sql = "INSERT INTO outbox.message (destination, message_type, payload, message_group, headers,
                                               correlation_id, traceparent, content_type)
                   VALUES ($1, $2, $3, $4, $5::text::jsonb, $6, $7, coalesce($8, 'application/json'))
                   RETURNING id";
        let mut ids = Vec::new();
        for message in messages {
            let NewMessage { destination, message_type, payload, message_group, .. } = &message;
            let NewMessage { headers, correlation_id, traceparent, content_type, .. } = &message;
            let headers = serde_json::to_string(headers).unwrap();
            let values: [&(dyn ToSql + Sync); 8] = [
                destination,
                message_type,
                payload,
                message_group,
                &headers,
                correlation_id,
                traceparent,
                content_type,
            ];
            let row = self.client.query_one(sql, &values).await.unwrap();
            ids.push(row.get("id"));
        }
        ids
    }

    /// Enqueues `n` plain messages for `orders` and returns their ids.
    pub async fn pending(&self, n: i64) -> Vec<i64> {
        self.insert(n, "'orders'", "NULL").await
    }

    /// Enqueues `n` messages at once; destination and group are SQL expressions over `i`, from 1 to `n`.
    pub async fn insert(&self, n: i64, destination: &str, message_group: &str) -> Vec<i64> {
        let sql = format!(
            "INSERT INTO outbox.message (destination, message_type, payload, message_group)
             SELECT {destination}, 'order.placed.v1', '{{\"n\": ' || i || '}}', {message_group}
             FROM generate_series(1, {n}) AS i ORDER BY i RETURNING id"
        );
        let rows = self.client.query(&sql, &[]).await.unwrap();
        rows.iter().map(|row| row.get("id")).collect()
    }

    /// The status of a message, as the view has it.
    pub async fn status(&self, id: i64) -> String {
        self.value(&format!("SELECT status FROM outbox.message_status WHERE id = {id}")).await
    }

    /// How many messages have each status.
    pub async fn statuses(&self) -> BTreeMap<String, i64> {
        let sql = "SELECT status, count(*) FROM outbox.message_status GROUP BY status";
        let rows = self.client.query(sql, &[]).await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    /// How many messages have that status.
    pub async fn count(&self, status: &str) -> i64 {
        self.statuses().await.remove(status).unwrap_or(0)
    }

    /// The only value of the only row of a query.
    pub async fn value<T>(&self, sql: &str) -> T
    where
        T: for<'a> tokio_postgres::types::FromSql<'a>,
    {
        self.client.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// Runs SQL to arrange something.
    pub async fn run(&self, sql: &str) {
        self.client.batch_execute(sql).await.unwrap();
    }

    /// Lets every lease run out, as if its time had passed.
    pub async fn expire_leases(&self) {
        let sql = "UPDATE outbox.message SET locked_until = now() - interval '1 second'
                   WHERE locked_until IS NOT NULL AND dispatched_at IS NULL";
        self.run(sql).await;
    }

    /// Lets the server refuse to write rows that meet the condition, which is one of SQL over `NEW`, with that SQLSTATE.
    pub async fn refuse(&self, condition: &str, state: &str) {
        self.run(&format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE 'refused' USING ERRCODE = '{state}'; END $$;
             CREATE TRIGGER refuse BEFORE UPDATE ON outbox.message
                 FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION refuse()"
        ))
        .await;
    }

    /// Lets it write them again.
    pub async fn refuse_nothing(&self) {
        self.run("DROP FUNCTION refuse CASCADE").await;
    }

    /// Waits until so many sessions wait for a lock.
    pub async fn lock_waits(&self, n: i64) {
        let waiting = "SELECT count(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let ask = async || (self.value::<i64>(waiting).await == n).then_some(());
        eventually(&format!("{n} sessions that wait for a lock"), ask).await;
    }

    /// Lets time pass: every moment that is written down lies so much further back.
    pub async fn time_passes(&self, seconds: u32) {
        self.run(&format!(
            "UPDATE outbox.message
             SET created_at = created_at - passed, available_at = available_at - passed,
                 first_failed_at = first_failed_at - passed, locked_until = locked_until - passed
             FROM make_interval(secs => {seconds}) AS passed
             WHERE dispatched_at IS NULL AND dead_at IS NULL;
             UPDATE outbox.destination
             SET breaker_opened_at = breaker_opened_at - passed, probe_at = probe_at - passed
             FROM make_interval(secs => {seconds}) AS passed"
        ))
        .await;
    }

    /// Has another session hold a message's row, until the transaction ends.
    pub async fn hold(other: &mut Client, id: i64) -> Transaction<'_> {
        let holding = other.transaction().await.unwrap();
        holding.query("SELECT FROM outbox.message WHERE id = $1 FOR UPDATE", &[&id]).await.unwrap();
        holding
    }

    /// Makes every waiting message due, as if its time had come.
    pub async fn everything_is_due(&self) {
        self.run("UPDATE outbox.message SET available_at = now() WHERE available_at > now()").await;
    }
}

impl Drop for Database {
    /// Drops the database, and then the roles that have signed in to it.
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        let logins =
            std::mem::take(&mut *self.logins.lock().unwrap_or_else(PoisonError::into_inner));
        teardown::wait_for(async move {
            let client = connect(&server).await;
            let _ = client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
            for login in logins {
                let _ = client.batch_execute(&format!("DROP ROLE IF EXISTS {login}")).await;
            }
        });
    }
}

/// The template's name, after making it if no test has yet. It is named by the migrations, so that a changed migration
/// is a new one.
async fn template(server: &Config) -> String {
    let mut hasher = DefaultHasher::new();
    for migration in outbox_store::migrations(&Schema::default()) {
        migration.sql.hash(&mut hasher);
    }
    let name = format!("template_{:016x}", hasher.finish());
    let client = connect(server).await;
    // Tests are processes of their own: one makes it, the others wait here.
    client.execute("SELECT pg_advisory_lock(7)", &[]).await.unwrap();
    let exists = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1 AND datistemplate)";
    if !client.query_one(exists, &[&name]).await.unwrap().get::<_, bool>(0) {
        let make = format!("DROP DATABASE IF EXISTS {name}");
        client.batch_execute(&make).await.unwrap();
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        let mut inside = connect(server.clone().dbname(&name)).await;
        outbox_store::migrate(&mut inside, &Schema::default()).await.unwrap();
        drop(inside);
        // A database is ready when it is marked as a template; one that is not was left behind half made.
        client.batch_execute(&format!("ALTER DATABASE {name} IS_TEMPLATE true")).await.unwrap();
    }
    client.execute("SELECT pg_advisory_unlock(7)", &[]).await.unwrap();
    name
}

fn pool(config: Config, n_connections: usize) -> Pool {
    let recycling_method = RecyclingMethod::Verified;
    let manager = Manager::from_config(config, NoTls, ManagerConfig { recycling_method });
    Pool::builder(manager).max_size(n_connections).build().unwrap()
}

async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

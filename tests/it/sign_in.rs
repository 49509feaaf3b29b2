//! Signing in with what is fetched: a token of IAM, a secret of Secrets Manager. A connection that is open stays; the
//! next one asks anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use outbox_lambda::{
    Asked, Credentials, CredentialsError, Login, Program, Settings, explain, pool_with,
};
use outbox_tests::endpoint::Endpoint;
use outbox_tests::{Database, Function, Queue, Secret, program};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::Command;
use url::Url;

use crate::function::{MINUTE, SESSIONS};
use server::PasswordServer;

mod server;

/// The sessions of a pool of this process in a test's database.
const PURGE_SESSIONS: &str = "FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'outbox-purge'";

/// A source that counts how often it was asked, and answers with the password that counts at that time.
struct Source {
    user: String,
    asked: AtomicU32,
    renewed: AtomicU32,
    minute: AtomicU32,
}

impl Source {
    fn of(url: &str) -> Arc<Self> {
        let user = Url::parse(url).unwrap().username().to_owned();
        let (asked, renewed, minute) = Default::default();
        Arc::new(Self { user, asked, renewed, minute })
    }

    fn minute(&self) -> u32 {
        self.minute.load(Ordering::SeqCst)
    }

    /// Time passes: from now on the server takes this minute's token, and none from before.
    async fn advance(&self, db: &Database, minutes: u32) {
        self.minute.fetch_add(minutes, Ordering::SeqCst);
        let (user, token) = (&self.user, token(self.minute()));
        db.run(&format!("ALTER ROLE {user} PASSWORD '{token}'")).await;
    }

    fn counts(&self) -> (u32, u32) {
        (self.asked.load(Ordering::SeqCst), self.renewed.load(Ordering::SeqCst))
    }
}

impl Credentials for Source {
    fn login(&self) -> Asked<'_, Login> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(Login::new(&self.user, token(self.minute()))) })
    }
}

/// A source that has nothing but what the server refuses.
struct Stale(Arc<Source>);

impl Credentials for Stale {
    fn login(&self) -> Asked<'_, Login> {
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(Login::new(&self.0.user, "stale")) })
    }

    fn renewed<'a>(&'a self, _: &'a Login) -> Asked<'a, Option<Login>> {
        self.0.renewed.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(Some(Login::new(&self.0.user, "stale, too"))) })
    }
}

/// A source that fails.
struct Broken;

impl Credentials for Broken {
    fn login(&self) -> Asked<'_, Login> {
        Box::pin(async { Err(CredentialsError::transient("the source is away")) })
    }
}

fn token(minute: u32) -> String {
    format!("token-of-minute-{minute}")
}

/// The database of a URL whose user and password are to come from elsewhere.
fn database(url: &str) -> outbox_lambda::Database {
    let mut url = Url::parse(url).unwrap();
    url.set_password(None).unwrap();
    let vars = [("OUTBOX_DATABASE_URL", url.as_str())];
    Settings::from_vars(Program::Purge, vars).unwrap().database
}

/// Case P23.
#[tokio::test]
async fn a_connection_outlives_its_token_and_each_new_one_is_opened_with_a_fresh_token() {
    let db = Database::empty().await;
    let url = db.url_as("pg_monitor").await;
    let source = Source::of(&url);
    source.advance(&db, 0).await;
    let pool = pool_with(&database(&url), source.clone()).unwrap();
    assert_eq!(source.counts(), (0, 0), "nothing is asked for at the start");
    let pid = "SELECT pg_backend_pid()";
    let first: i32 = pool.get().await.unwrap().query_one(pid, &[]).await.unwrap().get(0);

    source.advance(&db, 20).await;
    let kept = pool.get().await.unwrap();
    assert_eq!(kept.query_one(pid, &[]).await.unwrap().get::<_, i32>(0), first);
    assert_eq!(source.counts(), (1, 0), "the one that is open needs no other token");
    let second = pool.get().await.unwrap();
    assert_ne!(second.query_one(pid, &[]).await.unwrap().get::<_, i32>(0), first);
    assert_eq!(source.counts(), (2, 0));
    drop((kept, second));

    source.advance(&db, 20).await;
    db.run(&format!("SELECT pg_terminate_backend(pid, 5000) {PURGE_SESSIONS}")).await;
    pool.get().await.unwrap().query_one(pid, &[]).await.unwrap();
    assert_eq!(source.counts(), (3, 0));
}

#[tokio::test]
async fn a_login_that_stays_refused_is_renewed_once_a_connection_and_then_told() {
    let db = Database::empty().await;
    let url = db.url_as("pg_monitor").await;
    let source = Source::of(&url);
    let database = database(&url);
    let pool = pool_with(&database, Arc::new(Stale(source.clone()))).unwrap();
    for n in 1..=2 {
        let error = explain(&database, &pool.get().await.unwrap_err()).unwrap();
        assert_eq!((error.code(), error.is_transient()), ("database_sign_in", false));
        assert_eq!(source.counts(), (n, n));
    }
}

#[tokio::test]
async fn a_source_that_fails_is_told_from_a_server_that_refuses() {
    let db = Database::empty().await;
    let database = database(&db.url());
    let pool = pool_with(&database, Arc::new(Broken)).unwrap();
    let error = pool.get().await.unwrap_err();
    let error = explain(&database, &error).unwrap();
    assert_eq!((error.code(), error.is_transient()), ("database_credentials", true));
    assert!(error.to_string().contains("the source is away"), "{error}");
}

/// A relay function that signs in to the URL's database so, with the local stack's Secrets Manager at that address.
fn relay(url: &str, auth: &str, secrets_at: &str, endpoint: &Endpoint) -> Command {
    let url = Url::parse(url).unwrap();
    let destinations = json!({ "orders": endpoint.queue_url("orders.fifo") });
    let mut command = program("relay");
    command
        .env("OUTBOX_DATABASE_HOST", url.host_str().unwrap())
        .env("OUTBOX_DATABASE_PORT", url.port().unwrap_or(5432).to_string())
        .env("OUTBOX_DATABASE_NAME", url.path().trim_start_matches('/'))
        .env("OUTBOX_DATABASE_AUTH", auth)
        .env("OUTBOX_DESTINATIONS", destinations.to_string())
        .env("OUTBOX_LOG_LEVEL", "trace")
        .env("AWS_ENDPOINT_URL", endpoint.url())
        .env("AWS_ENDPOINT_URL_SECRETS_MANAGER", secrets_at);
    command
}

/// Case P23: what arrives in the password's place is a token for this very server, signed now.
#[tokio::test]
async fn a_relay_sends_a_token_of_iam_in_the_place_of_a_password() {
    let server = PasswordServer::start().await;
    let endpoint = Endpoint::start();
    let mut command = relay(&format!("postgres://{}/shop", server.address), "iam", "", &endpoint);
    command.env("OUTBOX_DATABASE_USER", "relay@1").env("OUTBOX_DATABASE_SSLMODE", "disable");
    command.env("AWS_SESSION_TOKEN", "session/token");
    let relay = Function::start(command).await;
    assert!(server.passwords().is_empty(), "nothing is connected at the start");

    for n_connections in 1..=2 {
        let error = relay.invoke(&json!({}), Duration::from_secs(10)).await.unwrap_err();
        assert_eq!(error["errorType"], "database_sign_in", "{error}");
        assert_eq!(server.passwords().len(), n_connections, "one try with one token");
    }
    for token in server.passwords() {
        let head = format!("{}/?Action=connect&DBUser=relay%401&", server.address);
        assert!(token.starts_with(&head), "{token}");
        for part in [
            "X-Amz-Algorithm=AWS4-HMAC-SHA256",
            "X-Amz-Credential=test%2F",
            "%2Fus-east-1%2Frds-db%2Faws4_request",
            "X-Amz-Expires=900",
            "X-Amz-Security-Token=session%2Ftoken",
            "X-Amz-Signature=",
        ] {
            assert!(token.contains(part), "no {part} in {token}");
        }
    }
    let output = relay.process.output();
    assert!(!output.contains("X-Amz-") && !output.contains("session/token"), "{output}");
}

/// A password that must not turn up anywhere.
const ROTATED: &str = "rOtAtEd-aNd-HiDdEn";

fn login(url: &str, password: &str) -> String {
    json!({ "username": Url::parse(url).unwrap().username(), "password": password }).to_string()
}

async fn end_sessions(db: &Database) {
    db.run(&format!("SELECT pg_terminate_backend(pid, 10000) {SESSIONS}")).await;
}

async fn dispatched(relay: &Function, db: &Database) -> Value {
    db.pending(3).await;
    relay.invoke(&json!({}), MINUTE).await.unwrap()["dispatched"].clone()
}

/// Case P24, with SQLSTATE 28P01 for a password that was changed and 28000 for a role that may sign in no more.
#[tokio::test]
async fn a_rotation_of_password_or_user_under_a_warm_container_costs_no_run() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let (first, second) = (db.url_as("outbox_relay").await, db.url_as("outbox_relay").await);
    let secret = Secret::holding(&login(&first, "secret")).await;
    let mut command = relay(&first, "secret", &Queue::endpoint_url(), &endpoint);
    command.env("OUTBOX_DATABASE_SECRET_ARN", secret.arn());
    let relay = Function::start(command).await;
    assert_eq!(dispatched(&relay, &db).await, 3);

    let user = Url::parse(&first).unwrap().username().to_owned();
    db.run(&format!("ALTER ROLE {user} PASSWORD '{ROTATED}'")).await;
    secret.put(&login(&first, ROTATED)).await;
    assert_eq!(dispatched(&relay, &db).await, 3, "open connections stay");
    end_sessions(&db).await;
    assert_eq!(dispatched(&relay, &db).await, 3);

    db.run(&format!("ALTER ROLE {user} NOLOGIN")).await;
    secret.put(&login(&second, "secret")).await;
    end_sessions(&db).await;
    assert_eq!(dispatched(&relay, &db).await, 3);
    let users = format!("SELECT string_agg(DISTINCT usename, ' ') {SESSIONS}");
    assert_eq!(db.value::<String>(&users).await, Url::parse(&second).unwrap().username());

    let output = relay.process.output();
    assert_eq!(output.matches("database refused the credentials").count(), 2, "{output}");
    assert!(!output.contains(ROTATED) && !output.contains("\"ERROR\""), "{output}");
}

/// Case P24 where the secret is late: the run fails clearly, and the first one after it has the new login succeeds.
#[tokio::test]
async fn a_secret_that_still_holds_the_old_password_fails_the_run_and_not_the_next() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let url = db.url_as("outbox_relay").await;
    let secret = Secret::holding(&login(&url, "too old")).await;
    let mut command = relay(&url, "secret", &Queue::endpoint_url(), &endpoint);
    command.env("OUTBOX_DATABASE_SECRET_ARN", secret.arn());
    let relay = Function::start(command).await;
    let error = relay.invoke(&json!({}), MINUTE).await.unwrap_err();
    assert_eq!(error["errorType"], "database_sign_in");
    let text = error["errorMessage"].as_str().unwrap();
    assert!(text.contains("28P01") && text.contains(secret.arn()), "{text}");
    assert!(!format!("{text}{}", relay.process.output()).contains("too old"), "{text}");

    secret.put(&login(&url, "secret")).await;
    assert_eq!(dispatched(&relay, &db).await, 3);
}

#[tokio::test]
async fn a_secret_alone_says_where_the_database_is_and_who_signs_in() {
    let db = Database::fresh().await;
    let url = Url::parse(&db.url_as("outbox_admin").await).unwrap();
    let all = json!({
        "engine": "postgres", "username": url.username(), "password": "secret", "host": url.host_str().unwrap(),
        "port": url.port().unwrap_or(5432), "dbname": url.path().trim_start_matches('/'),
    });
    let secret = Secret::holding(&all.to_string()).await;
    let mut outbox = program("outbox");
    outbox
        .env("OUTBOX_DATABASE_AUTH", "secret")
        .env("OUTBOX_DATABASE_SECRET_ARN", secret.arn())
        .env("OUTBOX_DATABASE_SSLMODE", "disable")
        .env("AWS_ENDPOINT_URL", Queue::endpoint_url());
    let output = outbox.args(["status", "--output", "json"]).output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[tokio::test]
async fn a_secret_that_cannot_be_had_is_named_with_what_to_check() {
    let endpoint = Endpoint::start();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    let not_a_login = Secret::holding("s3cret").await;
    let nowhere = "arn:aws:secretsmanager:us-east-1:000000000000:secret:nowhere-AbCdEf";
    for (secrets_at, arn, said) in [
        (&Queue::endpoint_url(), nowhere, "ResourceNotFoundException"),
        (
            &Queue::endpoint_url(),
            not_a_login.arn(),
            "the secret is not a login: it is not a JSON object",
        ),
        (&"http://127.0.0.1:9".to_owned(), nowhere, "Secrets Manager does not answer"),
        (&silent, nowhere, "Secrets Manager"),
    ] {
        let mut command = relay("postgres://127.0.0.1:9/shop", "secret", secrets_at, &endpoint);
        command.env("OUTBOX_DATABASE_SECRET_ARN", arn);
        command.env("OUTBOX_DATABASE_CONNECT_TIMEOUT_SECONDS", "3");
        let relay = Function::start(command).await;
        let error = relay.invoke(&json!({}), Duration::from_secs(10)).await.unwrap_err();
        assert_eq!(error["errorType"], "database_credentials", "{error}");
        let text = error["errorMessage"].as_str().unwrap();
        assert!(text.contains(said) && text.contains(arn), "{text}");
        assert!(!format!("{text}{}", relay.process.output()).contains("s3cret"), "{text}");
    }
}

#[tokio::test]
async fn without_aws_credentials_the_run_says_what_they_are_for() {
    let endpoint = Endpoint::start();
    let arn = "arn:aws:secretsmanager:us-east-1:000000000000:secret:relay-AbCdEf";
    for (auth, more) in [
        ("iam", ("OUTBOX_DATABASE_USER", "relay")),
        ("secret", ("OUTBOX_DATABASE_SECRET_ARN", arn)),
    ] {
        let mut command = relay("postgres://127.0.0.1:9/shop", auth, endpoint.url(), &endpoint);
        command.env(more.0, more.1).env("AWS_EC2_METADATA_DISABLED", "true");
        command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
        let relay = Function::start(command).await;
        let error = relay.invoke(&json!({}), Duration::from_secs(10)).await.unwrap_err();
        assert_eq!(error["errorType"], "database_credentials", "{error}");
        let text = error["errorMessage"].as_str().unwrap();
        assert!(text.contains("AWS credentials") && text.contains("AWS_PROFILE"), "{text}");
    }
}

#[tokio::test]
async fn a_token_without_a_region_is_refused_with_the_variable_to_set() {
    let endpoint = Endpoint::start();
    let mut command = relay("postgres://127.0.0.1:9/shop", "iam", "", &endpoint);
    command.env("OUTBOX_DATABASE_USER", "relay").env_remove("AWS_REGION");
    let relay = Function::start(command).await;
    let error = relay.invoke(&json!({}), Duration::from_secs(10)).await.unwrap_err();
    assert_eq!(error["errorType"], "database_credentials", "{error}");
    assert!(error["errorMessage"].as_str().unwrap().contains("set AWS_REGION"), "{error}");
}

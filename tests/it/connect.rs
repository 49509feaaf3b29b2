//! Connections to the database: what fails, fails soon, in one sentence and without a secret; what
//! can be mended, mends itself.

use std::time::{Duration, Instant};

use outbox_lambda::{Error, Program, Settings, connect, explain, pool};
use outbox_tests::{Database, eventually};
use tokio::net::TcpListener;
use tokio_postgres::NoTls;
use url::Url;

use proxy::Proxy;

mod impostor;
mod logged;
pub(crate) mod proxy;
pub(crate) mod server;
mod tls;

/// The password of every connection that is to fail. It must not turn up anywhere.
const PASSWORD: &str = "kEeP-tHiS-tO-yOuRsElF";

const MODE: &str = "OUTBOX_DATABASE_SSLMODE";
const CA_FILE: &str = "OUTBOX_DATABASE_CA_FILE";

/// The sessions in a test's database that are not the test's own.
const SESSIONS: &str = "FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'outbox-purge'";

/// The database of a URL and further settings.
fn database(url: &str, more: &[(&str, &str)]) -> outbox_lambda::Database {
    let vars = [("OUTBOX_DATABASE_URL", url)].into_iter().chain(more.iter().copied());
    Settings::from_vars(Program::Purge, vars).unwrap().database
}

/// What a single connection and a pool's both fail with: soon, and without the password (case L13).
async fn failure(url: &str, more: &[(&str, &str)]) -> Error {
    logged::start();
    let database = database(url, more);
    let pool = pool(&database).unwrap();
    let started = Instant::now();
    let (alone, pooled) = tokio::join!(connect(&database), pool.get());
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let (alone, pooled) = (alone.unwrap_err(), pooled.unwrap_err());
    assert_eq!(explain(&database, &pooled), Some(alone.clone()));

    let shown = format!("{alone} {alone:?} {pooled} {pooled:?} {pool:?} {database:?}");
    assert!(!(shown + &logged::text()).contains(PASSWORD), "{alone}");
    alone
}

/// The URL with another password.
fn with_password(url: &str, password: &str) -> String {
    let mut url = Url::parse(url).unwrap();
    url.set_password(Some(password)).unwrap();
    url.into()
}

#[tokio::test]
async fn a_wrong_password_is_named_with_role_and_database() {
    let db = Database::empty().await;
    let error = failure(&with_password(&db.url(), PASSWORD), &[]).await;
    assert_eq!(error.code(), "database_sign_in");
    let text = error.to_string();
    assert!(text.contains("28P01") && text.contains("check the user and the password"), "{text}");
}

#[tokio::test]
async fn a_missing_password_is_named_with_its_setting() {
    let db = Database::empty().await;
    let mut url = Url::parse(&db.url()).unwrap();
    url.set_password(None).unwrap();
    let error = failure(url.as_str(), &[]).await;
    assert_eq!(error.code(), "database_sign_in");
    assert!(error.to_string().contains("set OUTBOX_DATABASE_PASSWORD"), "{error}");
}

#[tokio::test]
async fn a_database_that_does_not_exist_is_named() {
    let db = Database::empty().await;
    let mut url = Url::parse(&db.url()).unwrap();
    url.set_path("nowhere");
    let error = failure(url.as_str(), &[]).await;
    assert_eq!(error.code(), "database_sign_in");
    let text = error.to_string();
    assert!(text.contains("\"nowhere\"") && text.contains("3D000"), "{text}");
}

/// Case P16.
#[tokio::test]
async fn a_server_without_free_slots_is_busy_and_not_at_fault() {
    let db = Database::empty().await;
    let url = db.url_as("pg_monitor").await;
    let login = Url::parse(&url).unwrap().username().to_owned();
    db.run(&format!("ALTER ROLE {login} PASSWORD '{PASSWORD}' CONNECTION LIMIT 0")).await;
    let error = failure(&with_password(&url, PASSWORD), &[]).await;
    assert_eq!(error.code(), "database_busy");
    assert!(error.is_transient() && error.to_string().contains("53300"), "{error}");
    db.run(&format!("DROP ROLE {login}")).await;
}

/// Case L09.
#[tokio::test]
async fn a_closed_port_is_told_from_a_silent_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = failure(&format!("postgres://u:{PASSWORD}@{address}/shop"), &[]).await;
    assert_eq!(error.code(), "database_unreachable");
    let text = error.to_string();
    assert!(
        text.contains(&address.to_string()) && text.contains("nothing listens there"),
        "{text}"
    );
}

/// Case L09.
#[tokio::test]
async fn an_address_that_never_answers_fails_within_the_connect_timeout() {
    // Connected by the kernel, accepted by nobody.
    let one = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let two = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hosts = format!("{},{}", one.local_addr().unwrap(), two.local_addr().unwrap());
    let url = format!("postgres://u:{PASSWORD}@{hosts}/shop");
    let (plain, tls) = ([(MODE, "disable")], [(MODE, "verify-full")]);
    let (plain, tls) = tokio::join!(failure(&url, &plain), failure(&url, &tls));
    for error in [plain, tls] {
        assert_eq!(error.code(), "database_unreachable");
        let text = error.to_string();
        assert!(text.contains(&hosts) && text.contains("no answer within 5 s"), "{text}");
    }
}

/// Case P10, as a server that closes idle connections while the function is frozen.
#[tokio::test]
async fn a_connection_closed_by_the_server_is_replaced_without_an_error_or_a_warning() {
    logged::start();
    let db = Database::empty().await;
    let pool = pool(&database(&db.url(), &[])).unwrap();
    pool.get().await.unwrap().query_one("SELECT 1", &[]).await.unwrap();
    end_sessions_during_a_freeze(&db);
    pool.get().await.unwrap().query_one("SELECT 1", &[]).await.unwrap();
    assert_eq!(pool.status().size, 1);
    let logged = logged::text();
    assert!(!logged.contains("WARN") && !logged.contains("ERROR"), "{logged}");
}

/// From a thread of its own: this one waits for it, so that nothing notices before the thaw.
fn end_sessions_during_a_freeze(db: &Database) {
    let server = db.config();
    let ending = async move {
        let (client, connection) = server.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        let sql = format!("SELECT pg_terminate_backend(pid, 5000) {SESSIONS}");
        assert!(client.query_one(&sql, &[]).await.unwrap().get::<_, bool>(0));
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    std::thread::spawn(move || runtime.block_on(ending)).join().unwrap();
}

/// Case P10, as a firewall that forgets idle connections: no packet comes back.
#[tokio::test]
async fn a_connection_that_went_silent_is_replaced_within_seconds() {
    let db = Database::empty().await;
    let mut url = Url::parse(&db.url()).unwrap();
    let server = format!("{}:{}", url.host().unwrap(), url.port().unwrap_or(5432));
    let proxy = Proxy::to(server).await;
    url.set_host(Some("127.0.0.1")).unwrap();
    url.set_port(Some(proxy.port)).unwrap();

    let pool = pool(&database(url.as_str(), &[])).unwrap();
    pool.get().await.unwrap().query_one("SELECT 1", &[]).await.unwrap();
    proxy.silence();
    let started = Instant::now();
    pool.get().await.unwrap().query_one("SELECT 1", &[]).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

/// Case L13: what the driver says below warn, it says about whole statements.
#[tokio::test]
async fn at_the_level_trace_only_our_own_code_says_more() {
    logged::start();
    let db = Database::empty().await;
    let client = connect(&database(&db.url(), &[])).await.unwrap();
    client.batch_execute("DO $$ BEGIN RAISE NOTICE 'of-a-payload'; END $$").await.unwrap();
    client.execute("SELECT 'of-a-payload'", &[]).await.unwrap();
    db.run(&format!("SELECT pg_terminate_backend(pid) {SESSIONS}")).await;
    let lost = || async { logged::text().contains("database connection lost").then_some(()) };
    eventually("the loss of the connection in the logs", lost).await;
    let logged = logged::text();
    assert!(!logged.contains("of-a-payload") && !logged.contains("tokio_postgres"), "{logged}");
}

/// Case P42.
#[tokio::test]
async fn a_program_holds_two_connections_at_most() {
    let db = Database::empty().await;
    let database = database(&db.url(), &[]);
    let pool = pool(&database).unwrap();
    let _held = (pool.get().await.unwrap(), pool.get().await.unwrap());
    let error = explain(&database, &pool.get().await.unwrap_err()).unwrap();
    assert_eq!(error.code(), "database_busy");
    assert!(error.to_string().contains("all connections of this program are in use"), "{error}");
}

//! Through a transaction pooler: every statement of every program finds a connection that others have used in between.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future;
use outbox::RunPolicy;
use outbox_lambda::{Asked, Credentials, Login, Program, Settings, explain, pool, pool_with};
use outbox_publish::AwsPublisher;
use outbox_relay::Relay;
use outbox_store::{Schema, Store};
use outbox_tests::endpoint::{Answer, Endpoint, Received};
use outbox_tests::{Database, destinations, program, queue_at};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;
use url::Url;

pub(crate) use pgbouncer::PgBouncer;

mod pgbouncer;

/// A relay with connections as a program has them.
fn relay(url: &str, endpoint: &Endpoint) -> Relay<AwsPublisher> {
    let settings = Settings::from_vars(Program::Purge, [("OUTBOX_DATABASE_URL", url)]).unwrap();
    let store = Store::new(pool(&settings.database).unwrap(), Schema::default());
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    // The entry that fails may be the same message each time.
    let policy = RunPolicy { batch_size: 20, max_attempts: 100, ..RunPolicy::default() };
    Relay::new(store, publisher, to, policy, "test".to_owned())
}

/// Case P18: four relays with two connections each, on two connections of the server, 52 runs. A thing of a session
/// that were left behind, such as a prepared statement's name, would meet its like.
#[tokio::test]
async fn relays_share_a_transaction_pooler_and_publish_everything_once() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let url = db.url_as("outbox_relay").await;
    let pgbouncer = PgBouncer::start(&[&url]).await;
    let relays: Vec<_> = (0..4).map(|_| relay(&pgbouncer.url(&url), &endpoint)).collect();
    let stop = CancellationToken::new();
    let mut n_dispatched = 0;
    for n in 1..=13 {
        // Failures too, so that every kind of mark goes this way; but for the last time, which is to send all.
        if n < 13 {
            endpoint.answer_next([Answer::fail(["0"], "InternalError")]);
            let group = format!("CASE WHEN i % 3 = 0 THEN 'g' || i % {n} END");
            db.insert(100, "'orders'", &group).await;
        }
        let runs = relays.iter().map(|relay| relay.run(None, &stop));
        for report in future::join_all(runs).await {
            n_dispatched += report.unwrap().dispatched;
        }
        db.everything_is_due().await;
    }
    assert_eq!(n_dispatched, 1_200);
    assert_eq!(db.count("dispatched").await, 1_200);
    let accepted = endpoint.accepted();
    let distinct: BTreeSet<_> = accepted.iter().map(Received::message_id).collect();
    assert_eq!((accepted.len(), distinct.len()), (1_200, 1_200));
    let sessions = "SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'outbox-purge'";
    assert!((1..=2).contains(&db.value::<i64>(sessions).await));
}

/// A secret after a rotation: it was fetched before, and holds another login now.
struct Rotated(String);

impl Credentials for Rotated {
    fn login(&self) -> Asked<'_, Login> {
        Box::pin(async { Ok(Login::new(&self.0, "as it was")) })
    }

    fn renewed<'a>(&'a self, _: &'a Login) -> Asked<'a, Option<Login>> {
        Box::pin(async { Ok(Some(Login::new(&self.0, "secret"))) })
    }
}

/// Case P24 behind a pooler, which refuses a login in words of its own.
#[tokio::test]
async fn a_login_that_a_pooler_refuses_is_renewed_or_told_as_a_servers_own() {
    let db = Database::empty().await;
    let url = db.url_as("pg_monitor").await;
    let pgbouncer = PgBouncer::start(&[&url]).await;
    let mut url = Url::parse(&pgbouncer.url(&url)).unwrap();
    url.set_password(Some("as it was")).unwrap();
    let settings = Settings::from_vars(Program::Purge, [("OUTBOX_DATABASE_URL", url.as_str())]);
    let database = settings.unwrap().database;
    let error = explain(&database, &pool(&database).unwrap().get().await.unwrap_err()).unwrap();
    assert_eq!(error.code(), "database_sign_in", "{error}");

    let rotated = Arc::new(Rotated(url.username().to_owned()));
    let pool = pool_with(&database, rotated).unwrap();
    pool.get().await.unwrap().query_typed("SELECT", &[]).await.unwrap();
}

/// The program `outbox` with these arguments, as that user.
async fn outbox(url: &str, arguments: &[&str]) -> std::process::Output {
    let mut command: Command = program("outbox");
    command.env("OUTBOX_DATABASE_URL", url).args(arguments);
    command.output().await.unwrap()
}

/// Case P18, for the operator: twice, and between others, so that each finds what an earlier one left behind.
#[tokio::test]
async fn the_operators_verbs_go_through_a_transaction_pooler() {
    let db = Database::fresh().await;
    let url = db.url_as("outbox_admin").await;
    let pgbouncer = PgBouncer::start(&[&url]).await;
    let url = pgbouncer.url(&url);
    for _ in 0..2 {
        let ids = db.pending(2).await;
        let dead =
            "UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused', attempts = 1";
        db.run(&format!("{dead} WHERE id = {}", ids[0])).await;
        for (arguments, code) in [
            (&["status"][..], 1), // Somebody has to look at the dead one.
            (&["pause", "orders", "--reason", "test"], 0),
            (&["redrive", "--destination", "orders", "--reason", "test", "--yes"], 0),
            (&["resume", "orders", "--reason", "test"], 0),
            (&["purge"], 0),
            (&["status", "--output", "json"], 0),
        ] {
            let output = outbox(&url, arguments).await;
            assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        }
        assert_eq!(db.count("dead").await, 0);
    }
}

/// Its lock is the session's, and a pooler gives the session away with the lock.
#[tokio::test]
async fn a_migration_and_a_bench_refuse_to_go_through_a_transaction_pooler() {
    let db = Database::empty().await;
    let pgbouncer = PgBouncer::start(&[&db.url()]).await;
    for arguments in [&["migrate"][..], &["migrate", "--check"], &["bench", "--yes"]] {
        let output = outbox(&pgbouncer.url(&db.url()), arguments).await;
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains("transaction pooler") && said.contains("server's own address"),
            "{said}"
        );
    }
    assert!(!db.value::<bool>("SELECT to_regnamespace('outbox') IS NOT NULL").await);
    assert!(outbox(&db.url(), &["migrate"]).await.status.success());
}

//! A database that goes away under a run: ends sessions, becomes read-only, or falls silent. It costs a run at most,
//! mostly not even that, and never a message.

use std::collections::BTreeSet;
use std::time::Duration;

use outbox::RunPolicy;
use outbox_publish::AwsPublisher;
use outbox_relay::Relay;
use outbox_tests::endpoint::{Answer, Endpoint, Gate, Received};
use outbox_tests::{Database, Function, destinations, queue_at, relay};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::connect::proxy::Proxy;
use crate::function::{MINUTE, SESSIONS, set_up};

/// The sessions in a test's database that are not this one.
const OTHERS: &str =
    "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";

/// Lets all sessions that there are lead to a server that takes no writes any more, and new ones to its successor.
async fn demote(db: &Database, sessions: &str) {
    let pids: String = db.value(&format!("SELECT array_agg(pid)::text {sessions}")).await;
    db.refuse(&format!("pg_backend_pid() = ANY ('{pids}'::int[])"), "25006").await;
}

fn relay_to(db: &Database, endpoint: &Endpoint) -> Relay<AwsPublisher> {
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    relay(db, &endpoint.sdk_config(), to, RunPolicy::default())
}

/// Both connections of the pool pass every probe, for their server is well.
#[tokio::test]
async fn a_fail_over_under_a_warm_container_costs_no_run() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let mut command = set_up("relay", &db.url(), &endpoint);
    command.env("OUTBOX_BATCH_SIZE", "20");
    let relay = Function::start(command).await;
    db.pending(100).await;
    relay.invoke(&json!({}), MINUTE).await.unwrap();
    assert_eq!(db.value::<i64>(&format!("SELECT count(*) {SESSIONS}")).await, 2);

    demote(&db, SESSIONS).await;
    db.pending(3).await;
    assert_eq!(relay.invoke(&json!({}), MINUTE).await.unwrap()["dispatched"], 3);
}

/// As a replica, or a server whose disk is full: connections opened meanwhile are not kept for later.
#[tokio::test]
async fn a_server_that_is_read_only_for_a_while_fails_the_runs_of_that_while() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = Function::start(set_up("relay", &db.url(), &endpoint)).await;
    db.pending(3).await;
    let name: String = db.value("SELECT current_database()::text").await;
    db.run(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
    for _ in 0..2 {
        let error = relay.invoke(&json!({}), MINUTE).await.unwrap_err();
        assert_eq!(error["errorType"], "database_busy", "{error}");
    }
    db.run(&format!("ALTER DATABASE {name} RESET default_transaction_read_only")).await;
    assert_eq!(relay.invoke(&json!({}), MINUTE).await.unwrap()["dispatched"], 3);
    assert_eq!(endpoint.calls(), 1);
}

#[tokio::test]
async fn a_fail_over_between_publish_and_mark_sends_nothing_twice() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    db.pending(3).await;
    endpoint.answer_next([Answer::Accept.behind(&gate)]);
    let (relay, stop) = (relay_to(&db, &endpoint), CancellationToken::new());
    let fail_over = async {
        endpoint.calls_reached(1).await;
        demote(&db, OTHERS).await;
        gate.open();
    };
    let (report, ()) = tokio::join!(relay.run(None, &stop), fail_over);
    assert_eq!(report.unwrap().dispatched, 3);
    assert_eq!(endpoint.calls(), 1);
}

/// A run waits for a lock of that mode, and its session is ended with 57P01.
async fn a_run_whose_session_ends_behind(lock_mode: &str) {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = relay_to(&db, &endpoint);
    let stop = CancellationToken::new();
    db.pending(3).await;
    let mut other = db.connect().await;
    let lock = other.transaction().await.unwrap();
    lock.batch_execute(&format!("LOCK TABLE outbox.message IN {lock_mode} MODE")).await.unwrap();
    let end = async {
        db.lock_waits(1).await;
        db.run(&format!("SELECT pg_terminate_backend(pid) {OTHERS} AND wait_event_type = 'Lock'"))
            .await;
        lock.rollback().await.unwrap();
    };
    let (run, ()) = tokio::join!(relay.run(None, &stop), end);
    assert_eq!(run.unwrap().dispatched, 3);
    assert_eq!(endpoint.calls(), 1);
}

#[tokio::test]
async fn a_session_that_ends_while_it_looks_for_what_is_due_costs_nothing() {
    a_run_whose_session_ends_behind("ACCESS EXCLUSIVE").await;
}

#[tokio::test]
async fn a_session_that_ends_while_it_claims_costs_nothing() {
    a_run_whose_session_ends_behind("EXCLUSIVE").await;
}

/// Case P12, with the mark already at the server.
#[tokio::test]
async fn a_session_that_ends_while_it_marks_costs_nothing() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    let ids = db.pending(3).await;
    endpoint.answer_next([Answer::Accept.behind(&gate)]);
    let (relay, stop) = (relay_to(&db, &endpoint), CancellationToken::new());
    let mut other = db.connect().await;
    let end = async {
        endpoint.calls_reached(1).await;
        let held = Database::hold(&mut other, ids[2]).await;
        gate.open();
        db.lock_waits(1).await;
        db.run(&format!("SELECT pg_terminate_backend(pid) {OTHERS} AND wait_event_type = 'Lock'"))
            .await;
        held.rollback().await.unwrap();
    };
    let (report, ()) = tokio::join!(relay.run(None, &stop), end);
    assert_eq!(report.unwrap().dispatched, 3);
    assert_eq!(endpoint.calls(), 1);
}

/// Case P10 in the midst of a claim: the server carries it out, and its answer never comes.
#[tokio::test]
async fn a_connection_that_goes_silent_in_a_claim_is_given_up_before_the_deadline() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let mut url = Url::parse(&db.url()).unwrap();
    let proxy = Proxy::to(format!("{}:{}", url.host().unwrap(), url.port().unwrap_or(5432))).await;
    url.set_host(Some("127.0.0.1")).unwrap();
    url.set_port(Some(proxy.port)).unwrap();
    let relay = Function::start(set_up("relay", url.as_str(), &endpoint)).await;
    db.pending(3).await;
    assert_eq!(relay.invoke(&json!({}), MINUTE).await.unwrap()["dispatched"], 3);

    db.pending(3).await;
    let mut other = db.connect().await;
    let lock = other.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE outbox.message IN EXCLUSIVE MODE").await.unwrap();
    let silence = async {
        db.lock_waits(1).await;
        proxy.silence();
        lock.rollback().await.unwrap();
    };
    let event = json!({});
    // The function has an answer before its time is up, or the invocation fails this test.
    let (answer, ()) = tokio::join!(relay.invoke(&event, Duration::from_secs(6)), silence);
    assert_eq!(answer.unwrap_err()["errorType"], "timeout");
    assert_eq!(db.count("claimed").await, 3, "what the server did waits for its lease");

    db.pending(2).await;
    assert_eq!(relay.invoke(&json!({}), MINUTE).await.unwrap()["dispatched"], 2);
    db.expire_leases().await;
    assert_eq!(relay.invoke(&json!({}), MINUTE).await.unwrap()["dispatched"], 3);
    let accepted = endpoint.accepted();
    let distinct: BTreeSet<_> = accepted.iter().map(Received::message_id).collect();
    assert_eq!((accepted.len(), distinct.len()), (8, 8));
}

//! A relay function's connections to the database: kept, lost, refused, and not there yet.

use std::time::Duration;

use outbox_tests::Database;
use outbox_tests::endpoint::Endpoint;
use serde_json::json;
use url::Url;

use super::door::Door;
use super::{MINUTE, SESSIONS, relay};

/// Case P42, and the point of building everything once.
#[tokio::test]
async fn connections_are_kept_from_one_invocation_to_the_next_and_are_two_at_most() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = relay(&db.url(), &endpoint, &[("OUTBOX_BATCH_SIZE", "50")]).await;
    let pids = format!("SELECT coalesce(array_agg(pid), '{{}}') {SESSIONS}");
    assert_eq!(db.value::<Vec<i32>>(&pids).await, [0; 0], "nothing is connected at cold start");

    db.pending(200).await;
    relay.invoke(&json!({}), MINUTE).await.unwrap();
    let first: Vec<i32> = db.value(&pids).await;
    db.pending(200).await;
    relay.invoke(&json!({}), MINUTE).await.unwrap();
    let second: Vec<i32> = db.value(&pids).await;
    assert!(!first.is_empty() && first.iter().all(|pid| second.contains(pid)), "{second:?}");
    assert!(second.len() <= 2, "{second:?}");
}

/// Case P42.
#[tokio::test]
async fn containers_hold_no_more_connections_than_that_each_frozen_or_not() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let mut containers = Vec::new();
    for _ in 0..20 {
        let container = relay(&db.url(), &endpoint, &[("OUTBOX_BATCH_SIZE", "20")]).await;
        db.pending(60).await;
        container.invoke(&json!({}), MINUTE).await.unwrap();
        containers.push(container);
    }
    for container in &containers {
        container.process.freeze();
    }
    let sessions: i64 = db.value(&format!("SELECT count(*) {SESSIONS}")).await;
    assert!((20..=40).contains(&sessions), "{sessions} sessions of 20 containers");
}

/// Case P10.
#[tokio::test]
async fn sessions_that_end_while_a_container_is_frozen_cost_no_run() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = relay(&db.url(), &endpoint, &[]).await;
    db.pending(1).await;
    relay.invoke(&json!({}), MINUTE).await.unwrap();

    relay.process.freeze();
    db.run(&format!("SELECT pg_terminate_backend(pid, 10000) {SESSIONS}")).await;
    db.pending(3).await;
    relay.process.thaw();
    let report = relay.invoke(&json!({}), MINUTE).await.unwrap();
    assert_eq!((&report["dispatched"], &report["drained"]), (&json!(3), &json!(true)));
    let output = relay.process.output();
    assert!(!output.contains("WARN") && !output.contains("ERROR"), "{output}");
}

/// A function starts while nobody answers behind the door: its first run says so, and the first one after the door has
/// opened is a normal one.
async fn a_cold_start_at(door: Door) {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let url = door.url(&db.url_as("outbox_relay").await);
    let relay = relay(&url, &endpoint, &[("OUTBOX_DATABASE_CONNECT_TIMEOUT_SECONDS", "3")]).await;
    db.pending(3).await;

    let error = relay.invoke(&json!({}), Duration::from_secs(10)).await.unwrap_err();
    assert_eq!(error["errorType"], "database_unreachable");
    let text = error["errorMessage"].as_str().unwrap();
    assert!(text.contains(&door.address()) && text.contains("check"), "{text}");
    assert!(!format!("{text}{}", relay.process.output()).contains("secret"), "{text}");

    door.opens_to(&db.url());
    assert_eq!(relay.invoke(&json!({}), MINUTE).await.unwrap()["dispatched"], 3);
}

/// Case L09.
#[tokio::test]
async fn a_cold_start_while_the_database_is_down_fails_the_run_and_not_the_function() {
    a_cold_start_at(Door::refuses()).await;
}

/// Case L09.
#[tokio::test]
async fn a_cold_start_while_the_database_is_silent_fails_the_run_and_not_the_function() {
    a_cold_start_at(Door::is_silent()).await;
}

/// Case P16.
#[tokio::test]
async fn a_server_without_free_slots_fails_the_run_and_not_the_next() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let url = db.url_as("outbox_relay").await;
    let login = Url::parse(&url).unwrap().username().to_owned();
    db.run(&format!("ALTER ROLE {login} CONNECTION LIMIT 0")).await;
    let relay = relay(&url, &endpoint, &[]).await;
    db.pending(3).await;

    let error = relay.invoke(&json!({}), Duration::from_secs(10)).await.unwrap_err();
    assert_eq!(error["errorType"], "database_busy");
    assert!(error["errorMessage"].as_str().unwrap().contains("53300"), "{error}");
    assert_eq!(db.count("pending").await, 3);
    db.run(&format!("ALTER ROLE {login} CONNECTION LIMIT -1")).await;
    assert_eq!(relay.invoke(&json!({}), MINUTE).await.unwrap()["dispatched"], 3);
}

//! A panic inside a run. The database provokes it: a column holds NULL that the program was promised never does.

use outbox_tests::Database;
use outbox_tests::endpoint::Endpoint;
use serde_json::{Value, json};

use super::metrics::metric_lines;
use super::{MINUTE, relay};

/// More than a container has connections: one that leaked at each would be missed.
const PANICS: i64 = 3;

/// Case L07.
#[tokio::test]
async fn a_panic_fails_its_own_run_and_the_same_process_serves_the_next() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = relay(&db.url(), &endpoint, &[]).await;
    db.run("ALTER TABLE outbox.message ALTER COLUMN message_type DROP NOT NULL").await;
    for n in 1..=PANICS {
        let ids = db.pending(5).await;
        let spoil = format!("UPDATE outbox.message SET message_type = NULL WHERE id = {}", ids[2]);
        db.run(&spoil).await;
        let error = relay.invoke(&json!({}), MINUTE).await.unwrap_err();
        let text = error["errorMessage"].as_str().unwrap();
        assert!(text.contains("panicked") && text.contains("message_type"), "{error}");
        assert_eq!(db.count("claimed").await, 5 * n, "what it had claimed waits for its lease");
    }
    assert_eq!(endpoint.calls(), 0);
    let panicked = relay.process.logged("panicked").unwrap();
    assert_eq!((&panicked["level"], &panicked["error.type"]), (&json!("ERROR"), &json!("panic")));
    for name in ["requestId", "error", "location"] {
        assert!(panicked[name].is_string(), "{name}: {panicked}");
    }
    let output = relay.process.output();
    let is_json = |line: &str| serde_json::from_str::<Value>(line).is_ok();
    assert!(output.lines().all(is_json), "a panic is told in one line: {output}");

    let repair =
        "UPDATE outbox.message SET message_type = 'order.placed.v1' WHERE message_type IS NULL";
    db.run(repair).await;
    db.pending(3).await;
    let report = relay.invoke(&json!({}), MINUTE).await.unwrap();
    assert_eq!((&report["dispatched"], &report["drained"]), (&json!(3), &json!(true)));
    db.expire_leases().await;
    let report = relay.invoke(&json!({}), MINUTE).await.unwrap();
    assert_eq!(report["dispatched"], 5 * PANICS);
    assert_eq!(endpoint.accepted().len(), 18, "nothing is lost, and nothing sent twice");

    let failed: Vec<_> = metric_lines(&relay).await;
    let of_runs = failed.iter().filter(|line| line["destination"].is_null());
    let failed: Vec<_> = of_runs.map(|line| line["outbox.run.failed"].clone()).collect();
    assert_eq!(failed, [1, 1, 1, 0, 0]);
}

/// Case L07: a run's lock is free after its panic, so the handler of SIGTERM need not wait.
#[tokio::test]
async fn after_a_panic_a_function_still_ends_at_sigterm() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = relay(&db.url(), &endpoint, &[]).await;
    db.run("ALTER TABLE outbox.message ALTER COLUMN message_type DROP NOT NULL").await;
    db.pending(1).await;
    db.run("UPDATE outbox.message SET message_type = NULL").await;
    relay.invoke(&json!({}), MINUTE).await.unwrap_err();
    relay.process.terminate();
    assert_eq!(relay.process.ended().await.code, Some(0));
}

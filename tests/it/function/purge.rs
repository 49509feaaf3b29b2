//! The purge function.

use std::time::Duration;

use outbox_tests::{Database, Function, program};
use serde_json::{Value, json};

use super::MINUTE;
use crate::purge::{left, one_to_purge_and_four_to_keep};

/// Case R15.
#[tokio::test]
async fn the_purge_function_deletes_dispatched_messages_past_retention_and_nothing_else() {
    let db = Database::fresh().await;
    let kept = one_to_purge_and_four_to_keep(&db).await;
    let mut command = program("purge");
    command.env("OUTBOX_DATABASE_URL", db.url_as("outbox_admin").await);
    let purge = Function::start(command).await;
    for (event, purged) in [(json!({}), 1), (Value::Null, 0), (json!("again"), 0)] {
        let report = purge.invoke(&event, MINUTE).await.unwrap();
        let duration_ms = &report["duration_ms"];
        let expected = json!({ "purged": purged, "drained": true, "duration_ms": duration_ms });
        assert_eq!(report, expected);
    }
    assert_eq!(left(&db).await, kept);
}

/// Case R17: within the margin before its deadline it still does one batch, so that it gets on in any case.
#[tokio::test]
async fn the_purge_function_stops_by_its_deadline_and_the_next_invocation_goes_on() {
    let db = Database::fresh().await;
    let mut command = program("purge");
    command
        .env("OUTBOX_DATABASE_URL", db.url())
        .env("OUTBOX_PURGE_BATCH_SIZE", "4")
        .env("OUTBOX_DEADLINE_MARGIN_MS", "20000");
    let purge = Function::start(command).await;
    db.pending(10).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '30 days'").await;
    let hurried = purge.invoke(&json!({}), Duration::from_secs(15)).await.unwrap();
    assert_eq!((&hurried["purged"], &hurried["drained"]), (&json!(4), &json!(false)));
    let report = purge.invoke(&json!({}), MINUTE).await.unwrap();
    assert_eq!((&report["purged"], &report["drained"]), (&json!(6), &json!(true)));
}

/// Case L01.
#[tokio::test]
async fn a_purge_that_gets_no_answer_does_not_keep_a_function_past_its_deadline() {
    let db = Database::fresh().await;
    let mut command = outbox_tests::program("purge");
    command.env("OUTBOX_DATABASE_URL", db.url());
    let function = Function::start(command).await;
    let mut other = db.connect().await;
    let lock = other.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE outbox.message").await.unwrap();
    let answer = function.invoke(&json!({}), Duration::from_secs(5)).await;
    assert!(answer.is_err(), "{answer:?}");
}

//! The purge function.

use std::time::Duration;

use outbox_tests::{Database, Function, program};
use serde_json::{Value, json};

use super::MINUTE;

/// Case R15.
#[tokio::test]
async fn the_purge_function_deletes_dispatched_messages_past_retention_and_nothing_else() {
    let db = Database::fresh().await;
    let ids = db.pending(5).await;
    db.run("UPDATE outbox.message SET created_at = now() - interval '100 days'").await;
    for (id, set) in [
        (ids[1], "locked_until = now() + interval '1 minute', claim_token = gen_random_uuid()"),
        (ids[2], "dead_at = now() - interval '100 days', dead_reason = 'refused'"),
        (ids[3], "dispatched_at = now() - interval '8 days'"),
        (ids[4], "dispatched_at = now() - interval '1 hour'"),
    ] {
        db.run(&format!("UPDATE outbox.message SET {set} WHERE id = {id}")).await;
    }
    let mut command = program("purge");
    command.env("OUTBOX_DATABASE_URL", db.url_as("outbox_admin").await);
    let purge = Function::start(command).await;
    for (event, purged) in [(json!({}), 1), (Value::Null, 0), (json!("again"), 0)] {
        let report = purge.invoke(&event, MINUTE).await.unwrap();
        let duration_ms = &report["duration_ms"];
        let expected = json!({ "purged": purged, "drained": true, "duration_ms": duration_ms });
        assert_eq!(report, expected);
    }
    let left: Vec<i64> = db.value("SELECT array_agg(id ORDER BY id) FROM outbox.message").await;
    assert_eq!(left, [ids[0], ids[1], ids[2], ids[4]]);
}

/// Case R17: within the margin before its deadline it still does one batch, so that it gets on in any case.
#[tokio::test]
async fn the_purge_function_stops_by_its_deadline_and_the_next_invocation_goes_on() {
    let db = Database::fresh().await;
    db.pending(10).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '30 days'").await;
    let mut command = program("purge");
    command.env("OUTBOX_DATABASE_URL", db.url()).env("OUTBOX_PURGE_BATCH_SIZE", "4");
    let purge = Function::start(command).await;
    let hurried = purge.invoke(&json!({}), Duration::from_millis(2_900)).await.unwrap();
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

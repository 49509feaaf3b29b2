//! Functions near their deadline: they answer before it, whatever does not answer them. `Function::invoke` fails the test
//! if they do not.

use std::time::Duration;

use outbox_tests::endpoint::{Answer, Endpoint};
use outbox_tests::{Database, Function, eventually};
use serde_json::json;

use crate::crash::about_to_be_accepted;
use crate::function::{MINUTE, set_up};

/// Case L01: ten requests of half a second each, and four seconds until the margin.
#[tokio::test]
async fn a_run_near_its_deadline_marks_what_was_sent_and_hands_back_the_rest_in_time() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    endpoint.answer_always(|_| Answer::Accept.after(Duration::from_millis(500)));
    let mut command = set_up("relay", &db.url(), &endpoint);
    command.env("OUTBOX_DEADLINE_MARGIN_MS", "4000").env("OUTBOX_CONCURRENCY", "1");
    let relay = Function::start(command).await;
    // What a cold start takes is not of this test.
    relay.invoke(&json!({}), MINUTE).await.unwrap();
    db.pending(100).await;

    let report = relay.invoke(&json!({}), Duration::from_secs(8)).await.unwrap();
    let count = |name: &str| report[name].as_u64().unwrap();
    let (dispatched, released) = (count("dispatched"), count("released"));
    assert!(dispatched > 0 && released > 0 && dispatched + released == 100, "{report}");
    assert_eq!(report["drained"], false);
    assert_eq!(endpoint.accepted().len() as u64, dispatched);
    assert_eq!(db.count("dispatched").await.unsigned_abs(), dispatched);
    let untouched = "SELECT count(*) FROM outbox.message
                     WHERE dispatched_at IS NULL AND attempts = 0 AND locked_until IS NULL";
    assert_eq!(db.value::<i64>(untouched).await.unsigned_abs(), released);
}

/// Case L01.
#[tokio::test]
async fn a_mark_that_gets_no_answer_does_not_keep_a_function_past_its_deadline() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let (function, gate) = about_to_be_accepted(&db, &endpoint).await;
    let mut other = db.connect().await;
    let lock = other.transaction().await.unwrap();
    let meanwhile = async {
        endpoint.calls_reached(1).await;
        lock.batch_execute("LOCK TABLE outbox.message").await.unwrap();
        gate.open();
    };
    let (event, time) = (json!({}), Duration::from_secs(5));
    let (answer, ()) = tokio::join!(function.invoke(&event, time), meanwhile);
    assert!(answer.is_err(), "{answer:?}");
    lock.rollback().await.unwrap();
    // The server still has the mark and carries it out now, so nothing needs to go out again.
    let marked = async || (db.count("dispatched").await == 10).then_some(());
    eventually("the mark that was sent in time", marked).await;
    assert_eq!(endpoint.calls(), 1);
}

/// Case L01.
#[tokio::test]
async fn a_claim_that_gets_no_answer_does_not_keep_a_function_past_its_deadline() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let (function, _gate) = about_to_be_accepted(&db, &endpoint).await;
    let mut other = db.connect().await;
    let lock = other.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE outbox.message").await.unwrap();
    let answer = function.invoke(&json!({}), Duration::from_secs(5)).await;
    assert!(answer.is_err(), "{answer:?}");
}

//! Destinations that fail: what they cost, and whom they hold back.

use std::time::Duration;

use outbox::{NewMessage, RunPolicy};
use outbox_tests::endpoint::{Answer, Endpoint};
use outbox_tests::{Database, destinations, eventually, queue_at, relay};
use tokio_util::sync::CancellationToken;

mod hour;

/// Case R04.
#[tokio::test]
async fn while_every_request_fails_nothing_is_dispatched() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(30).await;
    endpoint.answer_always(|_| Answer::error(500, "InternalFailure", "down"));
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    for _ in 0..2 {
        let report = relay.run(None, &CancellationToken::new()).await.unwrap();
        assert_eq!((report.dispatched, report.dead), (0, 0));
        db.everything_is_due().await;
    }
    assert_eq!(db.count("pending").await, 30);
}

/// Case B06.
#[tokio::test]
async fn a_request_that_fails_as_a_whole_takes_no_other_along() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(25).await;
    let refused = Answer::error(400, "AWS.SimpleQueueService.UnsupportedOperation", "not now");
    endpoint.answer_next([Answer::Accept, refused]);
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    let policy = RunPolicy { concurrency: 1, ..RunPolicy::default() };
    let relay = relay(&db, &endpoint.sdk_config(), to, policy);
    let report = relay.run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!((report.dispatched, report.retried, report.dead), (15, 10, 0));
    let kept = "SELECT count(*) FROM outbox.message WHERE dispatched_at IS NULL AND attempts = 0";
    assert_eq!(db.value::<i64>(kept).await, 10, "the destination's fault, not the messages'");
}

/// Case R30: ten thousand older messages for a destination that is down.
#[tokio::test]
async fn a_healthy_destination_is_served_in_the_first_run_beside_one_that_is_down() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.insert(10_000, "'dead'", "NULL").await;
    db.insert(10, "'orders'", "NULL").await;
    endpoint.answer_always(|request| {
        let is_down = request.target.ends_with("/dead");
        if is_down { Answer::error(400, "QueueDoesNotExist", "gone") } else { Answer::Accept }
    });
    let to = destinations([
        queue_at("dead", &endpoint.queue_url("dead")),
        queue_at("orders", &endpoint.queue_url("orders")),
    ]);
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    let report = relay.run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!((report.dispatched, report.dead, report.drained), (10, 0, false));
    assert!(endpoint.calls() < 50, "{} calls", endpoint.calls());
}

/// Three black holes get a message now and then, and hold as many requests as they may. A run that lingers goes on beside them.
#[tokio::test]
async fn several_destinations_that_never_answer_keep_nobody_waiting() {
    const HUNG: [&str; 3] = ["a", "b", "c"];
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    endpoint.answer_always(|request| {
        if request.target.ends_with("/orders") { Answer::Accept } else { Answer::Hang }
    });
    let to = destinations(
        ["a", "b", "c", "orders"].map(|name| queue_at(name, &endpoint.queue_url(name))),
    );
    let policy = RunPolicy { linger: Duration::from_secs(30), ..RunPolicy::default() };
    let relay = relay(&db, &endpoint.sdk_config(), to, policy);
    let stop = CancellationToken::new();
    let meanwhile = async {
        for n in 0..9 {
            db.insert(1, &format!("'{}'", HUNG[n % 3]), "NULL").await;
            endpoint.calls_reached(n + 1).await;
        }
        db.pending(1).await;
        let sent = async || (db.count("dispatched").await == 1).then_some(endpoint.calls());
        eventually("the healthy destination's message", sent).await
    };
    let n_calls = tokio::select! {
        report = relay.run(None, &stop) => panic!("ended: {report:?}"),
        n_calls = meanwhile => n_calls,
    };
    assert_eq!(n_calls, 10, "all nine requests were still waiting for their first answer");
}

/// Case R21: the age of nothing is 0, each time.
#[tokio::test]
async fn a_drained_outbox_reports_an_age_of_0_on_every_run() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(1).await;
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    for _ in 0..3 {
        let report = relay.run(None, &CancellationToken::new()).await.unwrap();
        assert_eq!((report.oldest_due_seconds, report.drained), (Some(0.0), true));
    }
}

/// Cases P31 and L18: an escaped NUL is six characters like any other, and a broken trace context is sent as it is.
#[tokio::test]
async fn odd_but_legal_messages_go_out_as_they_are() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let message = |payload: &str, traceparent: &str| NewMessage {
        traceparent: Some(traceparent.to_owned()),
        ..NewMessage::new("orders", "order.placed.v1", payload)
    };
    let valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let payloads = [r#"{"a":"\u0000"}"#, "{}", "{}"];
    let traces = [valid, "00-zz", "Root=dummy;Parent=x;Sampled=0"];
    db.enqueue(payloads.into_iter().zip(traces).map(|(p, t)| message(p, t))).await;
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    assert_eq!(relay.run(None, &CancellationToken::new()).await.unwrap().dispatched, 3);
    assert_eq!(endpoint.bodies(), payloads);
    let sent: Vec<_> =
        endpoint.accepted().iter().map(|e| e.attribute("traceparent").to_owned()).collect();
    assert_eq!(sent, traces);
}

//! Limits of SQS and SNS through the whole relay: what is over one is never sent, and never lost without a word.

use outbox::{Destination, NewMessage, RunPolicy, Target};
use outbox_relay::RunReport;
use outbox_tests::endpoint::{Answer, Endpoint};
use outbox_tests::{Database, destinations, queue_at, relay};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// One run that publishes to a destination.
async fn run_to(db: &Database, endpoint: &Endpoint, destination: Destination) -> RunReport {
    let to = destinations([destination]);
    let relay = relay(db, &endpoint.sdk_config(), to, RunPolicy::default());
    relay.run(None, &CancellationToken::new()).await.unwrap()
}

fn topic(endpoint: &Endpoint) -> Destination {
    Destination::new("events", Target::parse(&endpoint.topic_arn("events")).unwrap())
}

/// A message with so many headers.
fn with_headers(destination: &str, n_headers: usize) -> NewMessage {
    let headers = (0..n_headers).map(|n| (format!("h{n}"), json!("x"))).collect();
    NewMessage { headers, ..NewMessage::new(destination, "order.placed.v1", "{}") }
}

/// Code and text of the dead message.
async fn why_dead(db: &Database) -> String {
    db.value("SELECT format('%s: %s', last_error_code, last_error) FROM outbox.dead_letter").await
}

/// Case A18. SNS would answer success, and lose the message at a subscription with raw delivery.
#[tokio::test]
async fn a_message_of_more_than_ten_attributes_to_a_topic_is_dead_and_never_dispatched() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let fine = with_headers("events", 7);
    let ids = db.insert_raw([fine.clone(), with_headers("events", 12), fine]).await;
    let report = run_to(&db, &endpoint, topic(&endpoint)).await;
    assert_eq!((report.dispatched, report.dead), (2, 1));
    assert_eq!(db.status(ids[1]).await, "dead");
    assert!(endpoint.received().iter().all(|entry| entry.attributes.len() == 10));
    let why = "too_many_attributes: 15 attributes with the relay's own are over the limit of 10";
    assert_eq!(why_dead(&db).await, why);
}

/// Case A16: and to a queue, where SQS would refuse it each time.
#[tokio::test]
async fn a_message_of_more_than_ten_attributes_to_a_queue_is_dead_at_once() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.insert_raw([with_headers("orders", 11), with_headers("orders", 0)]).await;
    let queue = queue_at("orders", &endpoint.queue_url("orders"));
    let report = run_to(&db, &endpoint, queue).await;
    assert_eq!((report.dispatched, report.dead), (1, 1));
    assert_eq!(endpoint.calls(), 1);
}

/// Case A33: the type is an attribute, which takes all that a subject would not; no subject is sent.
#[tokio::test]
async fn a_type_that_could_be_no_subject_goes_out_to_a_topic_without_one() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let long = "t".repeat(150);
    let types = ["order\nplaced", &long, "bestellung.aufgegeben.für.später.v1", "注文"];
    db.enqueue(types.map(|message_type| NewMessage::new("events", message_type, "{}"))).await;
    let report = run_to(&db, &endpoint, topic(&endpoint)).await;
    assert_eq!((report.dispatched, report.dead), (4, 0));
    let received = endpoint.accepted();
    assert!(received.iter().all(|entry| entry.subject.is_none()));
    let sent: Vec<_> = received.iter().map(|entry| entry.attribute("message_type")).collect();
    assert_eq!(sent, types);
}

/// Cases A05 and A06: one message, and two destinations of which one takes it.
#[tokio::test]
async fn a_message_over_one_destinations_limit_is_dead_there_and_sent_to_the_other() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let large = "x".repeat(300_000);
    db.enqueue(["old", "new"].map(|to| NewMessage::new(to, "t", large.as_str()))).await;
    let mut old = queue_at("old", &endpoint.queue_url("old"));
    old.max_bytes = 262_144;
    let to = destinations([old, queue_at("new", &endpoint.queue_url("new"))]);
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    let report = relay.run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!((report.dispatched, report.dead), (1, 1));
    let why = "too_large: 300105 bytes with attributes are over the limit of 262144 of destination \"old\"";
    assert_eq!(why_dead(&db).await, why);
}

/// Case A23: a number that SQS does not carry is dead and does not go out as a string, also not on a later attempt.
#[tokio::test]
async fn a_header_keeps_its_type_on_every_attempt_or_is_not_sent() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let amount = |number: &str| {
        let headers = [("amount".to_owned(), serde_json::from_str(number).unwrap())].into();
        NewMessage { headers, ..NewMessage::new("orders", "t", number) }
    };
    let beyond = "1".repeat(39);
    db.insert_raw([amount("1.10"), amount("100"), amount(&beyond), amount("1e-400")]).await;
    endpoint.answer_next([Answer::fail(["0", "1"], "InternalError")]);
    for (retried, dispatched, dead) in [(2, 0, 2), (0, 2, 0)] {
        let queue = queue_at("orders", &endpoint.queue_url("orders"));
        let report = run_to(&db, &endpoint, queue).await;
        assert_eq!((report.retried, report.dispatched, report.dead), (retried, dispatched, dead));
        db.everything_is_due().await;
    }
    let mut sent: Vec<_> =
        endpoint.received().iter().map(|e| e.attributes["amount"].clone()).collect();
    sent.sort_unstable();
    let number = |value: &str| ("Number".to_owned(), value.to_owned());
    assert_eq!(sent, [number("1.10"), number("1.10"), number("100"), number("100")]);
}

/// Cases B09 and B11: the queue is gone, or the key, or the permission. The messages wait, and nobody waits with them.
#[tokio::test]
async fn a_destination_at_fault_kills_no_message_and_holds_nobody_back() {
    for (status, code) in [
        (400, "QueueDoesNotExist"),
        (403, "AccessDeniedException"),
        (400, "KMS.AccessDeniedException"),
        (400, "KMS.DisabledException"),
        (403, "InvalidClientTokenId"),
    ] {
        let db = Database::fresh().await;
        let endpoint = Endpoint::start();
        db.insert(6, "CASE WHEN i <= 3 THEN 'broken' ELSE 'orders' END", "NULL").await;
        endpoint.answer_always(move |request| {
            let is_broken = request.target.ends_with("/broken");
            if is_broken { Answer::error(status, code, "repair me") } else { Answer::Accept }
        });
        let to = ["broken", "orders"].map(|name| queue_at(name, &endpoint.queue_url(name)));
        // At the cap already: one more that counted would be the last.
        let policy = RunPolicy { max_attempts: 1, ..RunPolicy::default() };
        let relay = relay(&db, &endpoint.sdk_config(), destinations(to), policy);
        let report = relay.run(None, &CancellationToken::new()).await.unwrap();
        assert_eq!((report.dispatched, report.dead), (3, 0), "{code}");
        let kept =
            "SELECT count(*) FROM outbox.message WHERE destination = 'broken' AND attempts = 0";
        assert_eq!(db.value::<i64>(kept).await, 3, "{code}");
    }
}

//! Replay: a file of messages as varied as real ones goes in, and comes out of queues and topics, by the real programs.

use std::collections::{BTreeMap, HashMap};
use std::process::Output;

use outbox::NewMessage;
use outbox_tests::{Database, Queue, Received, Topic, program};
use serde_json::{Value, json};
use uuid::Uuid;

use events::{File, events};

mod events;

/// Runs the command line on that database, with these destinations on the local stack.
async fn outbox(db: &Database, destinations: &Value, args: &[&str]) -> Output {
    let mut command = program("outbox");
    command
        .args(args)
        .env("OUTBOX_DATABASE_URL", db.url())
        .env("OUTBOX_DESTINATIONS", destinations.to_string())
        .env("AWS_ENDPOINT_URL", Queue::endpoint_url());
    command.output().await.unwrap()
}

/// The same, for an answer in JSON.
async fn answer(db: &Database, destinations: &Value, args: &[&str]) -> Value {
    let args = [&["--output", "json"], args].concat();
    let Output { status, stdout, stderr } = outbox(db, destinations, &args).await;
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    serde_json::from_slice(&stdout).unwrap()
}

/// Enqueues the messages by a file, and relays them until none is left.
async fn replay(db: &Database, destinations: &Value, messages: &[NewMessage]) {
    let file = File::of(messages.iter().map(|message| serde_json::to_string(message).unwrap()));
    let enqueue = ["enqueue", "--file", file.path()];
    let enqueued = answer(db, destinations, &enqueue).await;
    assert_eq!(enqueued["enqueued"], messages.len());
    // A file whose lines have ids can be enqueued again.
    answer(db, destinations, &enqueue).await;
    let report = answer(db, destinations, &["relay", "--until-drained"]).await;
    assert_eq!(
        (&report["claimed"], &report["dispatched"]),
        (&json!(messages.len()), &report["claimed"])
    );
}

/// Every message has arrived once, byte for byte.
fn assert_arrived(messages: &[NewMessage], received: &[Received]) {
    assert_eq!(received.len(), messages.len());
    let by_id: HashMap<_, _> = received.iter().map(|r| (r.message_id.as_str(), r)).collect();
    for message in messages {
        let id = message.message_id.unwrap().to_string();
        let received = by_id.get(id.as_str()).unwrap_or_else(|| panic!("{id} is missing"));
        assert!(received.body == message.payload, "{id} is not what was enqueued");
    }
}

/// Within each group they have arrived in the order of the file; each without a group is a group of its own.
fn assert_in_order(messages: &[NewMessage], received: &[Received]) {
    let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for message in messages {
        let id = message.message_id.unwrap().to_string();
        let group = message.message_group.clone().unwrap_or_else(|| id.clone());
        expected.entry(group).or_default().push(id);
    }
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for received in received {
        let group = received.message_group.clone().unwrap();
        groups.entry(group).or_default().push(received.message_id.clone());
        assert_eq!(received.deduplication_id.as_ref(), Some(&received.message_id));
    }
    assert_eq!(groups, expected);
}

#[tokio::test]
async fn a_file_of_messages_arrives_at_queues_each_once_byte_for_byte_and_by_group_in_order() {
    let (db, fifo, standard) = tokio::join!(Database::fresh(), Queue::fifo(), Queue::standard());
    let destinations = json!({ "orders": fifo.url(), "archive": standard.url() });
    // The same events go to both, under the same ids.
    let (orders, archive) = (events("orders", 200), events("archive", 200));
    replay(&db, &destinations, &[orders.clone(), archive.clone()].concat()).await;
    assert_eq!(db.count("dispatched").await, 400);

    let (from_fifo, from_standard) = tokio::join!(fifo.received(200), standard.received(200));
    assert_arrived(&orders, &from_fifo);
    assert_in_order(&orders, &from_fifo);
    assert_arrived(&archive, &from_standard);
}

/// A trace header is no attribute and is told by the queue itself; what is no trace is an attribute and nothing else.
#[tokio::test]
async fn a_queue_hands_on_the_producers_trace_and_the_message_that_has_none() {
    let (db, queue) = tokio::join!(Database::fresh(), Queue::standard());
    let traceparent = |text: &str| NewMessage {
        message_id: Some(Uuid::new_v4()),
        traceparent: Some(text.to_owned()),
        ..NewMessage::new("orders", "order.placed.v1", text)
    };
    let traced = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let messages = [traceparent(traced), traceparent("no trace")];
    replay(&db, &json!({ "orders": queue.url() }), &messages).await;

    for received in queue.received(2).await {
        assert_eq!(received.attributes["traceparent"].1, received.body, "it is sent as it is");
        let header = "Root=1-0af76519-16cd43dd8448eb211c80319c;Parent=b7ad6b7169203331;Sampled=1";
        let expected = (received.body == traced).then_some(header);
        assert_eq!(received.trace_header.as_deref(), expected);
    }
}

#[tokio::test]
async fn a_bad_line_is_named_by_its_number_and_nothing_of_its_transaction_is_kept() {
    let db = Database::fresh().await;
    let destinations = json!({ "orders": "arn:aws:sqs:us-east-1:000000000000:orders" });
    let good = serde_json::to_string(&NewMessage::new("orders", "t", "{}")).unwrap();
    for (bad, named) in [
        (r#"{"destination": "orders", "message_type": "t"}"#, "payload"),
        (r#"{"destination": "orders", "#, "EOF"),
        (
            r#"{"destination": "orders", "message_type": "t", "payload": "", "message_grup": "g"}"#,
            "message_grup",
        ),
        (r#"{"destination": "", "message_type": "t", "payload": "{}"}"#, "destination"),
    ] {
        db.run("TRUNCATE outbox.message").await;
        let mut lines = vec![good.as_str(); 1_500];
        lines[1_202] = bad;
        let file = File::of(lines);
        let Output { status, stderr, .. } =
            outbox(&db, &destinations, &["enqueue", "--file", file.path()]).await;
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(1), "{said}");
        assert!(said.contains("line 1203") && said.contains(named), "{said}");
        assert!(said.contains("--from-line 1001"), "{said}");
        assert_eq!(db.count("pending").await, 1_000);
    }
}

/// A message with everything that becomes an attribute.
fn with_attributes() -> (NewMessage, BTreeMap<String, (String, String)>) {
    let message = NewMessage {
        message_id: Some(Uuid::new_v4()),
        message_group: Some("customer-7".into()),
        headers: [("tenant".to_owned(), json!("acme")), ("amount".to_owned(), json!(1.5))].into(),
        correlation_id: Some("order-42".into()),
        traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into()),
        content_type: Some("text/plain".into()),
        ..NewMessage::new("events", "order.placed.v1", "Grüße \u{1f980}")
    };
    let attributes = [
        ("message_id", "String", message.message_id.unwrap().to_string()),
        ("message_type", "String", message.message_type.clone()),
        ("content_type", "String", "text/plain".into()),
        ("correlation_id", "String", "order-42".into()),
        ("traceparent", "String", message.traceparent.clone().unwrap()),
        ("tenant", "String", "acme".into()),
        ("amount", "Number", "1.5".into()),
    ];
    let attributes =
        attributes.map(|(name, kind, value)| (name.to_owned(), (kind.to_owned(), value)));
    (message, attributes.into())
}

#[tokio::test]
async fn a_topic_delivers_the_messages_as_they_are_with_their_attributes() {
    let (db, topic, queue) = tokio::join!(Database::fresh(), Topic::standard(), Queue::standard());
    topic.deliver_to(&queue).await;
    let (message, attributes) = with_attributes();
    let messages = [events("events", 30), vec![message.clone()]].concat();
    replay(&db, &json!({ "events": topic.arn() }), &messages).await;

    let received = queue.received(31).await;
    assert_arrived(&messages, &received);
    let of_message = received.iter().find(|received| received.body == message.payload).unwrap();
    assert_eq!(of_message.attributes, attributes);
}

#[tokio::test]
async fn a_fifo_topic_delivers_by_group_in_order_with_the_ids_of_the_messages() {
    let (db, topic, queue) = tokio::join!(Database::fresh(), Topic::fifo(), Queue::fifo());
    topic.deliver_to(&queue).await;
    let (message, attributes) = with_attributes();
    let messages = [events("events", 30), vec![message.clone()]].concat();
    replay(&db, &json!({ "events": topic.arn() }), &messages).await;

    let received = queue.received(31).await;
    assert_arrived(&messages, &received);
    assert_in_order(&messages, &received);
    let of_message = received.iter().find(|received| received.body == message.payload).unwrap();
    assert_eq!(of_message.attributes, attributes);
    assert_eq!(of_message.message_group.as_deref(), Some("customer-7"));
}

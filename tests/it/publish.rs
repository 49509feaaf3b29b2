//! The publisher against the scripted endpoint: what is on the wire. What answers are taken for has a file of its own.

use outbox::{Destination, Entry, Message, Outcome, Target};
use outbox_publish::{AwsPublisher, Publish};
use outbox_tests::endpoint::{Answer, Endpoint, Gate};
use uuid::Uuid;

mod answers;
mod limits;

fn destination(target: &str) -> Destination {
    Destination::new("orders", Target::parse(target).unwrap())
}

fn message(payload: &str) -> Message {
    Message {
        id: 1,
        message_id: Uuid::new_v4(),
        destination: "orders".into(),
        message_type: "order.placed.v1".into(),
        message_group: None,
        payload: payload.into(),
        content_type: "application/json".into(),
        headers: r#"{"tenant":"acme","amount":1.10}"#.into(),
        correlation_id: None,
        traceparent: None,
        attempts: 1,
        lost_claims: 0,
        was_alone: false,
        has_failed: false,
    }
}

fn entries(destination: &Destination, payloads: &[&str]) -> Vec<Entry> {
    let prepare = |payload: &&str| Entry::prepare(message(payload), destination).unwrap();
    payloads.iter().map(prepare).collect()
}

/// Ten entries with the bodies 0 to 9.
fn ten(destination: &Destination) -> Vec<Entry> {
    entries(destination, &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"])
}

fn accepted(outcomes: &[Outcome]) -> Vec<bool> {
    outcomes.iter().map(|outcome| matches!(outcome, Outcome::Accepted { .. })).collect()
}

#[tokio::test]
async fn an_entry_arrives_as_it_was_prepared() {
    let endpoint = Endpoint::start();
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    for target in [endpoint.queue_url("q"), endpoint.topic_arn("t")] {
        let destination = destination(&target);
        let request = entries(&destination, &["{ \"b\":1,\n \"a\":1.10, \"ü\":\"<&>+%\"}"]);
        let outcomes = publisher.publish(&destination, &request).await;

        let received = endpoint.received().pop().unwrap();
        assert_eq!(received.target, target);
        assert_eq!(received.body, request[0].message.payload);
        assert_eq!(received.message_id(), request[0].message.message_id.to_string());
        assert_eq!(received.attributes["amount"], ("Number".into(), "1.10".into()));
        assert_eq!(received.attributes["tenant"], ("String".into(), "acme".into()));
        assert_eq!((received.delay_seconds, received.subject), (None, None));
        assert_eq!((received.group_id, received.deduplication_id), (None, None));
        let broker_message_id = received.broker_message_id;
        assert_eq!(outcomes, [Outcome::Accepted { broker_message_id }]);
    }
}

/// Whatever the text is, the message goes out with it, and its neighbours too.
#[tokio::test]
async fn a_traceparent_is_sent_as_it_is_and_told_to_a_queue_as_x_ray_writes_it() {
    let endpoint = Endpoint::start();
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    let traces = [
        (
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            Some("Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7;Sampled=1"),
        ),
        ("not a trace", None),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", None),
    ];
    for (target, is_queue) in [(endpoint.queue_url("q"), true), (endpoint.topic_arn("t"), false)] {
        let destination = destination(&target);
        let request = traces.map(|(traceparent, _)| {
            let message = Message { traceparent: Some(traceparent.into()), ..message("a") };
            Entry::prepare(message, &destination).unwrap()
        });
        let outcomes = publisher.publish(&destination, &request).await;
        assert_eq!(accepted(&outcomes), [true; 3], "{target}");
        let received = endpoint.received();
        for (received, (traceparent, header)) in received.iter().rev().take(3).rev().zip(traces) {
            assert_eq!(received.attribute("traceparent"), traceparent);
            assert_eq!(received.trace_header.as_deref(), header.filter(|_| is_queue));
        }
    }
}

/// Cases A25, A31 and A35: the endpoint refuses FIFO entries without ids or with a delay, as AWS does.
#[tokio::test]
async fn a_fifo_target_is_sent_group_and_deduplication_id_and_no_delay() {
    let endpoint = Endpoint::start();
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    for target in [endpoint.queue_url("q.fifo"), endpoint.topic_arn("t.fifo")] {
        let destination = destination(&target);
        let mut message = message("a");
        message.message_group = Some("customer-1".into());
        let entry = Entry::prepare(message, &destination).unwrap();
        publisher.publish(&destination, std::slice::from_ref(&entry)).await;
        let received = endpoint.accepted().pop().unwrap();
        assert_eq!(received.group_id.as_deref(), Some("customer-1"));
        assert_eq!(received.deduplication_id, Some(entry.message.message_id.to_string()));
    }
}

/// Case A14.
#[tokio::test]
async fn entry_ids_are_indexes_whatever_the_messages() {
    let endpoint = Endpoint::start();
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    let destination = destination(&endpoint.queue_url("q"));
    publisher.publish(&destination, &ten(&destination)).await;
    let expected: Vec<_> = (0..10).map(|index| index.to_string()).collect();
    assert_eq!(endpoint.requests()[0].ids(), expected);
}

/// Case R31 in small.
#[tokio::test]
async fn nothing_to_send_makes_no_call() {
    let endpoint = Endpoint::start();
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    let destination = destination(&endpoint.queue_url("q"));
    assert!(publisher.publish(&destination, &[]).await.is_empty());
    assert_eq!(endpoint.calls(), 0);
}

/// Case B18: signed for the region of the target, not of the client.
#[tokio::test]
async fn a_request_goes_to_the_region_of_its_target() {
    let endpoint = Endpoint::start();
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    for (target, region) in [
        ("https://sqs.eu-west-1.amazonaws.com/000000000000/q", "eu-west-1"),
        ("arn:aws:sns:ap-south-1:000000000000:t", "ap-south-1"),
        (&endpoint.queue_url("q"), "us-east-1"),
    ] {
        let destination = destination(target);
        let outcomes = publisher.publish(&destination, &ten(&destination)).await;
        assert_eq!(accepted(&outcomes), [true; 10]);
        assert_eq!(endpoint.requests().last().unwrap().region, region);
    }
}

/// Case A26: the copy that the SDK's own second attempt makes, and the one of a later run.
#[tokio::test]
async fn every_copy_carries_the_same_ids() {
    let endpoint = Endpoint::start();
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    let destination = destination(&endpoint.queue_url("q.fifo"));
    let request = entries(&destination, &["a"]);
    endpoint.answer_next([Answer::Drop]);
    let outcomes = publisher.publish(&destination, &request).await;
    assert_eq!(accepted(&outcomes), [true]);
    publisher.publish(&destination, &request).await;

    let copies = endpoint.accepted();
    assert_eq!(copies.len(), 3);
    for copy in &copies {
        assert_eq!(copy.message_id(), request[0].message.message_id.to_string());
        assert_eq!(copy.deduplication_id, request[0].deduplication_id);
    }
}

/// A test of the endpoint, which crash tests rely on.
#[tokio::test]
async fn what_is_held_behind_a_gate_is_accepted_before_it_is_answered() {
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    let held = gate.clone();
    endpoint.answer_always(move |_| Answer::Accept.behind(&held));
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    let destination = destination(&endpoint.queue_url("q"));
    let request = entries(&destination, &["a"]);

    let mut publishing = Box::pin(publisher.publish(&destination, &request));
    tokio::select! {
        _ = &mut publishing => panic!("answered though held"),
        () = endpoint.calls_reached(1) => {}
    }
    assert_eq!(endpoint.bodies(), ["a"]);
    gate.open();
    assert_eq!(accepted(&publishing.await), [true]);
}

/// Case B19. The test runs itself again with the variables set, because they belong to a process.
#[tokio::test]
async fn a_service_specific_endpoint_variable_serves_that_service_alone() {
    const TARGETS: &str = "OUTBOX_TEST_TARGETS";
    if let Ok(targets) = std::env::var(TARGETS) {
        let config = aws_config::load_defaults(aws_config::BehaviorVersion::latest()).await;
        let publisher = AwsPublisher::new(&config);
        for target in targets.split(' ') {
            let destination = destination(target);
            let outcomes = publisher.publish(&destination, &entries(&destination, &["a"])).await;
            assert_eq!(accepted(&outcomes), [true], "{outcomes:?}");
        }
        return;
    }

    let (for_sqs, for_all) = (Endpoint::start(), Endpoint::start());
    let queue = "https://sqs.eu-west-1.amazonaws.com/000000000000/q";
    let topic = "arn:aws:sns:ap-south-1:000000000000:t";
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child
        .args([
            "--exact",
            "publish::a_service_specific_endpoint_variable_serves_that_service_alone",
        ])
        .env(TARGETS, format!("{queue} {topic}"))
        .env("AWS_ENDPOINT_URL", for_all.url())
        .env("AWS_ENDPOINT_URL_SQS", for_sqs.url())
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_REGION", "us-east-1");
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));

    let seen = |endpoint: &Endpoint| {
        let requests = endpoint.requests();
        assert_eq!(requests.len(), 1);
        (requests[0].target.clone(), requests[0].region.clone())
    };
    assert_eq!(seen(&for_sqs), (queue.to_owned(), "eu-west-1".to_owned()));
    assert_eq!(seen(&for_all), (topic.to_owned(), "ap-south-1".to_owned()));
}

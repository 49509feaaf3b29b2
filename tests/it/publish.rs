//! The publisher against the scripted endpoint: what is on the wire, and what answers are taken for.

use outbox::{Destination, Entry, Failure, FailureClass, Message, Outcome, Scope, Target};
use outbox_publish::{AwsPublisher, Publish};
use outbox_tests::endpoint::{Answer, Endpoint, Gate};
use tokio::task::JoinSet;
use uuid::Uuid;

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

fn failures(outcomes: &[Outcome]) -> Vec<&Failure> {
    let failures = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Failed(failure) => Some(failure),
        Outcome::Accepted { .. } => None,
    });
    failures.collect()
}

const QUEUE: fn(&Endpoint) -> String = |endpoint| endpoint.queue_url("q");
const TOPIC: fn(&Endpoint) -> String = |endpoint| endpoint.topic_arn("t");

/// The failure that ten entries meet alike when every request is answered so.
async fn failure_of_all(target: fn(&Endpoint) -> String, answer: Answer) -> Failure {
    let endpoint = Endpoint::start();
    endpoint.answer_always(move |_| answer.clone());
    let destination = destination(&target(&endpoint));
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    let outcomes = publisher.publish(&destination, &ten(&destination)).await;
    let failures = failures(&outcomes);
    assert_eq!(failures.len(), 10);
    assert!(failures.iter().all(|failure| *failure == failures[0]), "{failures:?}");
    failures[0].clone()
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

/// Case B02.
#[tokio::test]
async fn a_partial_failure_fails_the_entries_it_lists() {
    let endpoint = Endpoint::start();
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    for target in [endpoint.queue_url("q"), endpoint.topic_arn("t")] {
        endpoint.answer_next([Answer::fail(["1", "4", "9"], "InternalError")]);
        let destination = destination(&target);
        let outcomes = publisher.publish(&destination, &ten(&destination)).await;
        let [t, f] = [true, false];
        assert_eq!(accepted(&outcomes), [t, f, t, t, f, t, t, t, t, f]);
        for failure in failures(&outcomes) {
            assert_eq!((failure.class, failure.scope), (FailureClass::Transient, Scope::Entry));
            assert_eq!(failure.code, "InternalError");
        }
    }
    assert_eq!(endpoint.calls(), 2);
}

/// Case B01.
#[tokio::test]
async fn a_success_that_lists_nothing_accepts_nothing() {
    let nothing = "<PublishBatchResponse><PublishBatchResult/></PublishBatchResponse>";
    for (target, body) in [(QUEUE, "{}"), (TOPIC, nothing)] {
        let failure = failure_of_all(target, Answer::raw(200, body)).await;
        assert_eq!((failure.class, failure.scope), (FailureClass::Unknown, Scope::Entry));
        assert_eq!(failure.code, "not_listed");
    }
}

#[tokio::test]
async fn a_success_that_is_no_answer_at_all_is_unknown() {
    for target in [QUEUE, TOPIC] {
        let failure = failure_of_all(target, Answer::raw(200, "<html>Welcome</html>")).await;
        assert_eq!((failure.class, failure.scope), (FailureClass::Unknown, Scope::Request));
        assert!(!failure.detail.contains("Welcome"), "{failure:?}");
    }
}

/// Case B09.
#[tokio::test]
async fn a_missing_target_is_the_destinations_fault_in_every_spelling() {
    let missing_queue = |query_code: Option<&str>| Answer::Error {
        status: 400,
        code: "QueueDoesNotExist".into(),
        query_code: query_code.map(str::to_owned),
        text: "It does not exist.".into(),
    };
    for (target, answer) in [
        (QUEUE, missing_queue(Some("AWS.SimpleQueueService.NonExistentQueue"))),
        (QUEUE, missing_queue(None)),
        (TOPIC, Answer::error(404, "NotFound", "It does not exist.")),
    ] {
        let failure = failure_of_all(target, answer).await;
        assert_eq!(
            (failure.class, failure.scope),
            (FailureClass::DestinationFault, Scope::Request)
        );
        assert_eq!(failure.detail, "It does not exist.");
    }
}

/// Case B13: with the SDK's waits, so all at once.
#[tokio::test]
async fn a_page_instead_of_an_answer_is_the_destinations_fault_and_is_not_quoted() {
    let mut tests = JoinSet::new();
    for (status, body) in
        [(500, ""), (502, "<html>Bad Gateway</html>"), (503, "<html>"), (504, "x")]
    {
        for target in [QUEUE, TOPIC] {
            tests.spawn(async move {
                let failure = failure_of_all(target, Answer::raw(status, body)).await;
                assert_eq!(failure.class, FailureClass::DestinationFault);
                assert_eq!(failure.code, format!("http_{status}"));
                assert_eq!(failure.detail, format!("HTTP {status} without an error code"));
            });
        }
    }
    tests.join_all().await;
}

/// Case B17.
#[tokio::test]
async fn a_refused_connection_is_the_destinations_fault_until_it_is_back() {
    let endpoint = Endpoint::start();
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    let destination = destination(&endpoint.queue_url("q"));
    endpoint.down().await;
    let outcomes = publisher.publish(&destination, &ten(&destination)).await;
    for failure in failures(&outcomes) {
        assert_eq!(
            (failure.class, failure.scope),
            (FailureClass::DestinationFault, Scope::Request)
        );
        assert_eq!(failure.code, "connect_failed");
        assert!(failure.detail.contains("refused"), "{failure:?}");
    }
    endpoint.up();
    let outcomes = publisher.publish(&destination, &ten(&destination)).await;
    assert_eq!(accepted(&outcomes), [true; 10]);
}

/// Case B17: a name that does not resolve.
#[tokio::test]
async fn an_unknown_host_is_the_destinations_fault() {
    let endpoint = Endpoint::start();
    let config = endpoint.sdk_config().into_builder();
    let publisher = AwsPublisher::new(&config.endpoint_url("http://no-such-host.invalid").build());
    let destination = destination(&endpoint.queue_url("q"));
    let outcomes = publisher.publish(&destination, &ten(&destination)).await;
    for failure in failures(&outcomes) {
        // At once or by time-out, as the resolver has it.
        assert_eq!(failure.class, FailureClass::DestinationFault, "{failure:?}");
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

/// Case A26: accepted each time, and never learnt of.
#[tokio::test]
async fn a_lost_connection_leaves_open_whether_it_was_accepted() {
    let endpoint = Endpoint::start();
    endpoint.answer_always(|_| Answer::Drop);
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    let destination = destination(&endpoint.queue_url("q"));
    let outcomes = publisher.publish(&destination, &entries(&destination, &["a"])).await;
    let failure = failures(&outcomes)[0];
    assert_eq!((failure.class, failure.scope), (FailureClass::Unknown, Scope::Request));
    assert_eq!(failure.code, "connection_lost");
    assert_eq!(endpoint.bodies(), ["a"; 3]);
}

/// Case A08, as AWS answers it: with the refusal of the whole request.
#[tokio::test]
async fn one_oversize_entry_is_refused_alone_and_nine_are_accepted() {
    let endpoint = Endpoint::start();
    endpoint.limit_bytes(262_144);
    let publisher = AwsPublisher::new(&endpoint.sdk_config());
    let destination = destination(&endpoint.queue_url("q"));
    let large = "x".repeat(300_000);
    let request = entries(&destination, &["0", "1", "2", "3", &large, "5", "6", "7", "8", "9"]);
    let outcomes = publisher.publish(&destination, &request).await;

    let [t, f] = [true, false];
    assert_eq!(accepted(&outcomes), [t, t, t, t, f, t, t, t, t, t]);
    let failure = failures(&outcomes)[0];
    assert_eq!((failure.class, failure.scope), (FailureClass::Permanent, Scope::Entry));
    assert_eq!(failure.code, "BatchRequestTooLong");
    assert_eq!(endpoint.calls(), 11);
}

/// Cases A11 and A24: a refusal of the whole request for one entry, whether its code is known here or not.
#[tokio::test]
async fn one_invalid_entry_is_refused_alone_and_nine_are_accepted() {
    for code in ["InvalidMessageContents", "InvalidParameterValue", "SomethingNew"] {
        let endpoint = Endpoint::start();
        endpoint.answer_always(move |request| {
            let is_bad = request.entries.iter().any(|entry| entry.body == "4");
            if is_bad { Answer::error(400, code, "one entry is bad") } else { Answer::Accept }
        });
        let publisher = AwsPublisher::new(&endpoint.sdk_config());
        let destination = destination(&endpoint.queue_url("q"));
        let outcomes = publisher.publish(&destination, &ten(&destination)).await;
        let [t, f] = [true, false];
        assert_eq!(accepted(&outcomes), [t, t, t, t, f, t, t, t, t, t], "{code}");
    }
}

/// Guarantee 5: SNS says of a topic in another region what it says of a bad message.
#[tokio::test]
async fn a_refused_topic_arn_kills_no_message() {
    let answer = Answer::error(400, "InvalidParameter", "Invalid parameter: TopicArn");
    let failure = failure_of_all(TOPIC, answer).await;
    assert_eq!((failure.class, failure.scope), (FailureClass::DestinationFault, Scope::Request));
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

//! What the publisher makes of answers, and of none. The clock is paused wherever the SDK would wait.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod stub;

use std::time::Duration;

use outbox::{Destination, Entry, Failure, FailureClass, Message, Outcome, Scope, Target};
use outbox_publish::{AwsPublisher, Publish};
use tokio::time::Instant;
use uuid::Uuid;

use stub::{Reply, Stub};

const QUEUE: &str = "https://sqs.us-east-1.amazonaws.com/000000000000/q";
const TOPIC: &str = "arn:aws:sns:us-east-1:000000000000:t";

fn destination(target: &str) -> Destination {
    Destination::new("orders", Target::parse(target).unwrap())
}

fn entry(payload: &str, destination: &Destination) -> Entry {
    let message = Message {
        id: 1,
        message_id: Uuid::new_v4(),
        destination: "orders".into(),
        message_type: "order.placed.v1".into(),
        message_group: None,
        payload: payload.into(),
        content_type: "application/json".into(),
        headers: "{}".into(),
        correlation_id: None,
        traceparent: None,
        attempts: 1,
        lost_claims: 0,
        was_alone: false,
        has_failed: false,
    };
    Entry::prepare(message, destination).unwrap()
}

/// Sends entries with the bodies `body-0`, `body-1` and so on.
async fn publish(stub: &Stub, target: &str, count: usize) -> Vec<Outcome> {
    let destination = destination(target);
    let request: Vec<_> =
        (0..count).map(|index| entry(&format!("body-{index}"), &destination)).collect();
    AwsPublisher::new(&stub.sdk_config()).publish(&destination, &request).await
}

fn sqs(status: u16, body: &str) -> Stub {
    let body = body.to_owned();
    Stub::new(move |_| Reply::Http(status, body.clone()))
}

fn sns(successful: &str, failed: &str) -> Stub {
    let body = format!(
        "<PublishBatchResponse><PublishBatchResult><Successful>{successful}</Successful>\
         <Failed>{failed}</Failed></PublishBatchResult></PublishBatchResponse>"
    );
    sqs(200, &body)
}

/// One word for each outcome: the broker's id, or the failure's code.
fn words(outcomes: &[Outcome]) -> Vec<&str> {
    let words = outcomes.iter().map(|outcome| match outcome {
        Outcome::Accepted { broker_message_id } => broker_message_id.as_str(),
        Outcome::Failed(failure) => failure.code.as_str(),
    });
    words.collect()
}

fn failure(outcome: &Outcome) -> &Failure {
    match outcome {
        Outcome::Failed(failure) => failure,
        Outcome::Accepted { .. } => panic!("{outcome:?}"),
    }
}

/// Class and scope of the failure that all entries share.
fn common_failure(outcomes: &[Outcome]) -> (FailureClass, Scope) {
    assert!(outcomes.iter().all(|outcome| outcome == &outcomes[0]), "{outcomes:?}");
    let failure = failure(&outcomes[0]);
    (failure.class, failure.scope)
}

#[tokio::test]
async fn sqs_outcomes_are_in_the_order_of_the_entries_not_of_the_answer() {
    let stub = sqs(
        200,
        r#"{"Failed": [{"Id": "1", "Code": "InternalError", "SenderFault": false}],
            "Successful": [{"Id": "2", "MessageId": "c"}, {"Id": "0", "MessageId": "a"}]}"#,
    );
    assert_eq!(words(&publish(&stub, QUEUE, 3).await), ["a", "InternalError", "c"]);
    assert_eq!(stub.calls(), 1);
}

#[tokio::test]
async fn sns_outcomes_are_in_the_order_of_the_entries_not_of_the_answer() {
    let stub = sns(
        "<member><Id>2</Id><MessageId>c</MessageId></member>\
         <member><Id>0</Id><MessageId>a</MessageId></member>",
        "<member><Id>1</Id><Code>InternalError</Code><SenderFault>false</SenderFault></member>",
    );
    assert_eq!(words(&publish(&stub, TOPIC, 3).await), ["a", "InternalError", "c"]);
    assert_eq!(stub.calls(), 1);
}

/// Cases B01 and A14.
#[tokio::test]
async fn an_entry_that_is_not_listed_or_under_another_id_is_not_accepted() {
    for body in [
        "{}",
        r#"{"Successful": null, "Failed": null}"#,
        r#"{"Successful": [{"Id": "00", "MessageId": "x"}, {"Id": "7", "MessageId": "x"}, {}]}"#,
    ] {
        let outcomes = publish(&sqs(200, body), QUEUE, 2).await;
        assert_eq!(words(&outcomes), ["not_listed"; 2]);
        assert_eq!(common_failure(&outcomes), (FailureClass::Unknown, Scope::Entry));
    }
    let outcomes = publish(&sns("<member><MessageId>x</MessageId></member>", ""), TOPIC, 1).await;
    assert_eq!(words(&outcomes), ["not_listed"]);
}

#[tokio::test]
async fn an_entry_that_is_listed_twice_is_not_accepted() {
    let both = r#"{"Successful": [{"Id": "0", "MessageId": "a"}, {"Id": "1", "MessageId": "b"}],
                   "Failed": [{"Id": "0", "Code": "InternalError", "SenderFault": false}]}"#;
    let twice = r#"{"Successful": [{"Id": "0", "MessageId": "x"}, {"Id": "1", "MessageId": "b"},
                                   {"Id": "0", "MessageId": "y"}]}"#;
    for body in [both, twice] {
        let outcomes = publish(&sqs(200, body), QUEUE, 2).await;
        assert_eq!(words(&outcomes), ["listed_twice", "b"]);
        assert_eq!(failure(&outcomes[0]).class, FailureClass::Unknown);
    }
}

/// Case B04: by its code, for throttling is reported as the sender's fault too.
#[tokio::test]
async fn an_entrys_failure_is_judged_by_its_code_whosever_fault_it_is_called() {
    for (code, class) in [
        ("InvalidMessageContents", FailureClass::Permanent),
        ("InternalError", FailureClass::Transient),
        ("SomethingNew", FailureClass::Transient),
        ("RequestThrottled", FailureClass::Throttled),
        ("KMS.ThrottlingException", FailureClass::Throttled),
        ("KMS.AccessDeniedException", FailureClass::DestinationFault),
    ] {
        for fault in [true, false] {
            let failed = format!(r#"[{{"Id": "0", "Code": "{code}", "SenderFault": {fault}}}]"#);
            let outcomes =
                publish(&sqs(200, &format!(r#"{{"Failed": {failed}}}"#)), QUEUE, 1).await;
            assert_eq!(common_failure(&outcomes), (class, Scope::Entry), "{code}");
        }
    }
}

/// Case B07: bounded by the SDK's three attempts.
#[tokio::test(start_paused = true)]
async fn throttling_of_a_request_is_asked_three_times_and_blames_no_message() {
    let stub = sqs(403, r#"{"__type": "com.amazonaws.sqs#RequestThrottled"}"#);
    let outcomes = publish(&stub, QUEUE, 10).await;
    assert_eq!(common_failure(&outcomes), (FailureClass::Throttled, Scope::Request));
    assert_eq!(stub.calls(), 3);
}

/// Case B13.
#[tokio::test(start_paused = true)]
async fn a_status_without_a_code_is_judged_by_the_status() {
    for (status, class) in [
        (429, FailureClass::Throttled),
        (403, FailureClass::DestinationFault),
        (404, FailureClass::DestinationFault),
        (301, FailureClass::DestinationFault),
        (500, FailureClass::DestinationFault),
        (503, FailureClass::DestinationFault),
    ] {
        for target in [QUEUE, TOPIC] {
            let outcomes = publish(&sqs(status, "<html>secret</html>"), target, 3).await;
            assert_eq!(common_failure(&outcomes), (class, Scope::Request), "{status}");
            assert_eq!(failure(&outcomes[0]).code, format!("http_{status}"));
            assert!(!failure(&outcomes[0]).detail.contains("secret"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_error_of_a_whole_request_is_the_destinations_fault() {
    for code in ["InternalFailure", "ServiceUnavailable", "SomethingNew"] {
        let stub = sqs(503, &format!(r#"{{"__type": "{code}"}}"#));
        let outcomes = publish(&stub, QUEUE, 10).await;
        assert_eq!(common_failure(&outcomes), (FailureClass::DestinationFault, Scope::Request));
        assert_eq!(stub.calls(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn no_answer_ends_in_half_a_minute_and_is_unknown() {
    let stub = Stub::new(|_| Reply::Silence);
    let started = Instant::now();
    for target in [QUEUE, TOPIC] {
        let outcomes = publish(&stub, target, 10).await;
        assert_eq!(common_failure(&outcomes), (FailureClass::Unknown, Scope::Request));
        assert_eq!(failure(&outcomes[0]).code, "timeout");
    }
    assert!(started.elapsed() <= Duration::from_secs(2 * 25), "{:?}", started.elapsed());
    assert_eq!(stub.calls(), 2 * 3);
}

/// Case A08: one that is too large by itself.
#[tokio::test]
async fn a_refused_request_is_sent_again_one_by_one_and_at_most_once() {
    for (status, body) in [(413, "<html>"), (400, r#"{"__type": "BatchRequestTooLong"}"#)] {
        let stub = sqs(status, body);
        let outcomes = publish(&stub, QUEUE, 10).await;
        assert_eq!(common_failure(&outcomes), (FailureClass::Permanent, Scope::Entry));
        assert_eq!(stub.calls(), 1 + 10);
    }
}

#[tokio::test]
async fn a_request_of_one_is_not_sent_again_when_refused() {
    let stub = sqs(400, r#"{"__type": "InvalidMessageContents", "message": "a character"}"#);
    let outcomes = publish(&stub, QUEUE, 1).await;
    assert_eq!(common_failure(&outcomes), (FailureClass::Permanent, Scope::Entry));
    assert_eq!(failure(&outcomes[0]).detail, "a character");
    assert_eq!(stub.calls(), 1);
}

/// An unknown kind of refusal may be a destination's fault, so it counts against a message only where the
/// same destination takes its neighbours.
#[tokio::test]
async fn an_unknown_refusal_is_a_messages_own_only_beside_an_accepted_neighbour() {
    let refusal = || Reply::Http(400, r#"{"__type": "SomethingNew"}"#.to_owned());
    let accepted = || Reply::Http(200, r#"{"Successful":[{"Id":"0","MessageId":"b"}]}"#.to_owned());

    let one_is_bad =
        Stub::new(move |body| if body.contains("body-1") { refusal() } else { accepted() });
    let outcomes = publish(&one_is_bad, QUEUE, 3).await;
    assert_eq!(words(&outcomes), ["b", "SomethingNew", "b"]);
    let own = failure(&outcomes[1]);
    assert_eq!((own.class, own.scope), (FailureClass::Transient, Scope::Entry));

    let outcomes = publish(&Stub::new(move |_| refusal()), QUEUE, 3).await;
    assert_eq!(common_failure(&outcomes), (FailureClass::Transient, Scope::Request));
}

#[tokio::test]
async fn a_fault_of_ours_is_not_taken_out_on_the_messages() {
    for code in ["TooManyEntriesInBatchRequest", "EmptyBatchRequest", "BatchEntryIdsNotDistinct"] {
        let stub = sqs(400, &format!(r#"{{"__type": "AWS.SimpleQueueService.{code}"}}"#));
        let outcomes = publish(&stub, QUEUE, 10).await;
        assert_eq!(common_failure(&outcomes), (FailureClass::Transient, Scope::Request));
        assert_eq!(stub.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn without_credentials_or_region_nothing_is_sent_and_no_message_is_blamed() {
    let stub = sqs(200, "{}");
    let without_region = stub.sdk_config().into_builder().region(None).build();
    for (config, target) in [
        (stub.bare_config(), QUEUE),
        (stub.bare_config(), TOPIC),
        (without_region, "http://localhost:4566/000000000000/q"),
    ] {
        let destination = destination(target);
        let request = [entry("body", &destination)];
        let outcomes = AwsPublisher::new(&config).publish(&destination, &request).await;
        assert_eq!(common_failure(&outcomes), (FailureClass::DestinationFault, Scope::Request));
        assert_eq!(failure(&outcomes[0]).code, "request_failed");
    }
    assert_eq!(stub.calls(), 0);
}

//! What the publisher takes an answer for: of each entry, accepted or which failure.

use outbox::{Failure, FailureClass, Outcome, Scope};
use outbox_publish::{AwsPublisher, Publish};
use outbox_tests::endpoint::{Answer, Endpoint};
use tokio::task::JoinSet;

use super::{accepted, destination, entries, ten};

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

/// Case B17: a port that speaks no TLS, as behind a proxy that cuts connections open.
#[tokio::test]
async fn a_failed_tls_handshake_is_the_destinations_fault() {
    let endpoint = Endpoint::start();
    let config = endpoint.sdk_config().into_builder();
    let url = endpoint.url().replace("http:", "https:");
    let publisher = AwsPublisher::new(&config.endpoint_url(url).build());
    for target in [endpoint.queue_url("q"), endpoint.topic_arn("t")] {
        let destination = destination(&target);
        let outcomes = publisher.publish(&destination, &ten(&destination)).await;
        for failure in failures(&outcomes) {
            assert_eq!(
                (failure.class, failure.scope),
                (FailureClass::DestinationFault, Scope::Request),
                "{failure:?}"
            );
        }
    }
    assert_eq!(endpoint.calls(), 0);
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

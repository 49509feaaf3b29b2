//! What the publisher reads off the answers of a queue or topic.

use std::time::Duration;

use outbox::{Failure, FailureClass};
use outbox_publish::{AwsPublisher, Keeping, Properties};

use crate::stub::{Reply, Stub};
use crate::{QUEUE, TOPIC, destination, sqs};

async fn inspect(stub: &Stub, target: &str) -> Result<Properties, Failure> {
    AwsPublisher::new(&stub.sdk_config()).inspect(&destination(target).target).await
}

fn attributes(action: &str, attributes: &[(&str, &str)]) -> String {
    let entries = attributes
        .iter()
        .map(|(key, value)| format!("<entry><key>{key}</key><value>{value}</value></entry>"));
    let entries: String = entries.collect();
    format!(
        "<{action}Response><{action}Result><Attributes>{entries}</Attributes></{action}Result></{action}Response>"
    )
}

/// A topic with three subscriptions, of which the queue's is raw; without permission for the list or for one of it.
fn topic(may_list: bool, may_ask: bool) -> Stub {
    Stub::new(move |body| {
        let denied = || {
            let error =
                "<ErrorResponse><Error><Code>AuthorizationError</Code></Error></ErrorResponse>";
            Reply::Http(403, error.to_owned())
        };
        let member = |arn: &str, protocol: &str| {
            format!(
                "<member><SubscriptionArn>{arn}</SubscriptionArn><Protocol>{protocol}</Protocol></member>"
            )
        };
        let members = [
            member("arn:aws:sns:us-east-1:0:t:1", "sqs"),
            member("arn:aws:sns:us-east-1:0:t:2", "lambda"),
            member("PendingConfirmation", "sqs"),
        ]
        .concat();
        match () {
            () if body.contains("Action=GetTopicAttributes") => {
                let told = [("SubscriptionsConfirmed", "7"), ("FifoTopic", "false")];
                Reply::Http(200, attributes("GetTopicAttributes", &told))
            }
            () if body.contains("Action=ListSubscriptionsByTopic") && may_list => {
                let action = "ListSubscriptionsByTopic";
                let list = format!(
                    "<{action}Result><Subscriptions>{members}</Subscriptions></{action}Result>"
                );
                Reply::Http(200, format!("<{action}Response>{list}</{action}Response>"))
            }
            () if body.contains("Action=GetSubscriptionAttributes") && may_ask => {
                assert!(body.contains("%3At%3A1"), "only the queue is asked: {body}");
                let told = [("RawMessageDelivery", "true")];
                Reply::Http(200, attributes("GetSubscriptionAttributes", &told))
            }
            () => denied(),
        }
    })
}

#[tokio::test]
async fn a_queue_tells_its_limit_its_kind_its_key_and_how_it_keeps_messages() {
    let plain = sqs(
        200,
        r#"{"Attributes": {"MaximumMessageSize": "2048", "SqsManagedSseEnabled": "true"}}"#,
    );
    let told = inspect(&plain, QUEUE).await.unwrap();
    let expected = Properties {
        max_bytes: Some(2_048),
        has_sqs_key: true,
        keeping: Some(Keeping::default()),
        ..Properties::default()
    };
    assert_eq!(told, expected);

    let all = r#"{"Attributes": {"MaximumMessageSize": "262144", "FifoQueue": "true", "KmsMasterKeyId": "alias/k",
                  "ContentBasedDeduplication": "true", "MessageRetentionPeriod": "345600",
                  "DelaySeconds": "7", "VisibilityTimeout": "30",
                  "RedrivePolicy": "{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:0:dead\",\"maxReceiveCount\":5}"}}"#;
    let told = inspect(&sqs(200, all), QUEUE).await.unwrap();
    let expected = Properties {
        max_bytes: Some(262_144),
        is_fifo: true,
        content_based_deduplication: true,
        kms_key: Some("alias/k".into()),
        has_sqs_key: false,
        keeping: Some(Keeping {
            dead_letter_queue: Some("arn:aws:sqs:us-east-1:0:dead".into()),
            retention: Some(Duration::from_hours(96)),
            delay: Some(Duration::from_secs(7)),
            visibility_timeout: Some(Duration::from_secs(30)),
        }),
        subscriptions: None,
        raw_queues: None,
    };
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_topic_tells_what_it_may_be_asked() {
    for (may_list, may_ask, subscriptions, raw_queues) in
        [(true, true, 2, Some(1)), (true, false, 2, None), (false, true, 7, None)]
    {
        let told = inspect(&topic(may_list, may_ask), TOPIC).await.unwrap();
        assert_eq!((told.subscriptions, told.raw_queues), (Some(subscriptions), raw_queues));
    }
}

/// Cases B09 and B11: in the words of either service.
#[tokio::test]
async fn a_target_that_does_not_tell_says_why() {
    let xml =
        |code: &str| format!("<ErrorResponse><Error><Code>{code}</Code></Error></ErrorResponse>");
    for (target, status, body, code) in [
        (
            QUEUE,
            403,
            r#"{"__type": "com.amazon.coral.service#AccessDeniedException"}"#.to_owned(),
            "AccessDenied",
        ),
        (
            QUEUE,
            400,
            r#"{"__type": "com.amazonaws.sqs#QueueDoesNotExist"}"#.to_owned(),
            "QueueDoesNotExist",
        ),
        (TOPIC, 403, xml("AuthorizationError"), "AuthorizationError"),
        (TOPIC, 404, xml("NotFound"), "NotFound"),
    ] {
        let failure = inspect(&sqs(status, &body), target).await.unwrap_err();
        assert_eq!((failure.class, failure.code.as_str()), (FailureClass::DestinationFault, code));
    }
}

async fn knock(stub: &Stub, target: &str) -> Result<(), Failure> {
    AwsPublisher::new(&stub.sdk_config()).knock(&destination(target).target).await
}

/// The request holds nothing, whatever it is answered.
#[tokio::test]
async fn a_knock_sends_nothing_and_is_refused_for_what_would_be_refused_to_a_message() {
    let json = |code: &str| (400, format!(r#"{{"__type": "{code}"}}"#));
    let xml = |status, code: &str| {
        (status, format!("<ErrorResponse><Error><Code>{code}</Code></Error></ErrorResponse>"))
    };
    for (target, (status, body), refused_with) in [
        (QUEUE, json("com.amazonaws.sqs#EmptyBatchRequest"), None),
        (QUEUE, json("AWS.SimpleQueueService.EmptyBatchRequest"), None),
        (TOPIC, xml(400, "EmptyBatchRequest"), None),
        (TOPIC, xml(400, "EmptyBatchRequestException"), None),
        (QUEUE, json("com.amazonaws.sqs#AccessDeniedException"), Some("AccessDenied")),
        (QUEUE, json("com.amazonaws.sqs#QueueDoesNotExist"), Some("QueueDoesNotExist")),
        (TOPIC, xml(403, "AuthorizationError"), Some("AuthorizationError")),
        (TOPIC, xml(404, "NotFound"), Some("NotFound")),
    ] {
        let stub = Stub::new(move |sent| {
            assert!(!sent.contains("Id") && !sent.contains(".member."), "{sent}");
            Reply::Http(status, body.clone())
        });
        let refused = knock(&stub, target).await.err().map(|failure| failure.code);
        assert_eq!(refused.as_deref(), refused_with);
        assert_eq!(stub.calls(), 1);
    }
}

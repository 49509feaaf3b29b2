//! The relay function with the feature `otel`: the spans of a run, as a collector beside it receives them.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use outbox::NewMessage;
use outbox::telemetry::{SPANS, attribute};
use outbox_tests::collector::{Collector, Manner, Span, text};
use outbox_tests::endpoint::{Answer, Endpoint};
use outbox_tests::{Database, Function, eventually, program};
use serde_json::{Value, json};

const MINUTE: Duration = Duration::from_mins(1);

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// Numbers of the protocol.
const INTERNAL: i32 = 1;
const CLIENT: i32 = 3;
const ERROR: i32 = 2;

async fn relay(db: &Database, endpoint: &Endpoint, collector: &Collector) -> Function {
    let destinations = json!({
        "orders": endpoint.queue_url("orders"), "events": endpoint.topic_arn("events"),
    });
    let mut command = program("relay");
    command
        .env("OUTBOX_DATABASE_URL", db.url())
        .env("OUTBOX_DESTINATIONS", destinations.to_string())
        .env("AWS_ENDPOINT_URL", endpoint.url())
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    Function::start(command).await
}

fn traced(destination: &str, traceparent: &str) -> NewMessage {
    NewMessage {
        traceparent: Some(traceparent.to_owned()),
        ..NewMessage::new(destination, "order.placed.v1", "{\"secret\":\"s3cret\"}")
    }
}

fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

fn get(span: &Span, name: &str) -> String {
    text(&span.attributes, name)
}

/// The spans that each linked span id came with, and whether it was sampled.
fn links(span: &Span) -> BTreeSet<(String, String, bool)> {
    let hex =
        |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let links = span.links.iter();
    links.map(|link| (hex(&link.trace_id), hex(&link.span_id), link.flags & 1 == 1)).collect()
}

/// Every span has a name, a kind and attributes of the table.
fn check_names(spans: &[Span]) {
    for span in spans {
        let known = SPANS.iter().find(|known| match known.name.split_once(" {") {
            Some((first, _)) => span.name.starts_with(&format!("{first} ")),
            None => span.name == known.name,
        });
        let known = known.unwrap_or_else(|| panic!("{} is in no table", span.name));
        let kind = if known.kind == "CLIENT" { CLIENT } else { INTERNAL };
        assert_eq!(span.kind, kind, "{}", span.name);
        for attribute in &span.attributes {
            let is_known = known.attributes.contains(&attribute.key.as_str());
            assert!(is_known, "{} of {} is in no table", attribute.key, span.name);
        }
    }
}

#[tokio::test]
async fn a_run_exports_its_spans_before_it_answers_each_request_linked_to_where_its_messages_come_from()
 {
    let db = Database::fresh().await;
    let (endpoint, collector) = (Endpoint::start(), Collector::start(Manner::Takes));
    let relay = relay(&db, &endpoint, &collector).await;
    let sampled = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let unsampled = format!("00-{TRACE}-00f067aa0ba902b8-00");
    db.insert_raw([
        traced("orders", &sampled),
        traced("orders", &unsampled),
        traced("orders", "no trace"),
        traced("events", &sampled),
    ])
    .await;
    let report = relay.invoke(&json!({}), MINUTE).await.unwrap();
    assert_eq!(report["dispatched"], 4, "{report}");

    let spans = collector.spans();
    check_names(&spans);
    assert_eq!(text(&collector.resource().attributes, "service.name"), "relay");
    let [run] = named(&spans, "outbox run")[..] else { panic!("{spans:#?}") };
    assert!(run.parent_span_id.is_empty(), "{run:?}");
    assert_eq!(get(run, attribute::INVOCATION_ID).len(), 36);
    assert_eq!(get(run, attribute::COLD_START), "true");
    let others: Vec<_> = spans.iter().filter(|span| span.span_id != run.span_id).collect();
    assert!(others.iter().all(|span| span.parent_span_id == run.span_id), "{spans:#?}");
    assert!(others.iter().all(|span| span.trace_id == run.trace_id), "{spans:#?}");

    let [to_queue] = named(&spans, "send orders")[..] else { panic!("{spans:#?}") };
    let found = [
        attribute::SYSTEM,
        attribute::OPERATION_NAME,
        attribute::OPERATION_TYPE,
        attribute::DESTINATION,
        attribute::MESSAGE_COUNT,
        attribute::QUEUE_URL,
        attribute::TOPIC_ARN,
        attribute::ERROR_TYPE,
    ]
    .map(|name| get(to_queue, name));
    let url = endpoint.queue_url("orders");
    assert_eq!(found, ["aws_sqs", "send", "send", "orders", "3", &url, "", ""]);
    let received = endpoint.received();
    let of_queue = received.iter().find(|it| it.target == url).unwrap();
    let request_id = format!("request-{}", of_queue.request_number);
    assert_eq!(get(to_queue, attribute::REQUEST_ID), request_id);
    let of_sampled = (TRACE.to_owned(), "00f067aa0ba902b7".to_owned(), true);
    let of_unsampled = (TRACE.to_owned(), "00f067aa0ba902b8".to_owned(), false);
    assert_eq!(links(to_queue), [of_sampled.clone(), of_unsampled].into());

    // A request of one has no count, and the broker's id of its message.
    let [to_topic] = named(&spans, "send events")[..] else { panic!("{spans:#?}") };
    let found = [attribute::SYSTEM, attribute::OPERATION_NAME, attribute::TOPIC_ARN];
    let arn = endpoint.topic_arn("events");
    assert_eq!(found.map(|name| get(to_topic, name)), ["aws.sns", "publish", &arn]);
    assert_eq!(get(to_topic, attribute::MESSAGE_COUNT), "");
    let accepted = endpoint.received().into_iter().find(|it| it.target == arn).unwrap();
    assert_eq!(get(to_topic, attribute::MESSAGE_ID), accepted.broker_message_id);
    assert_eq!(links(to_topic), [of_sampled].into());

    let claimed: i64 = named(&spans, "outbox claim")
        .iter()
        .filter_map(|span| get(span, attribute::MESSAGE_COUNT).parse::<i64>().ok())
        .sum();
    assert_eq!(claimed, 4);
    assert!(!named(&spans, "outbox mark").is_empty(), "{spans:#?}");
    let all = format!("{spans:?}");
    assert!(!all.contains("s3cret"), "no payload is in a span");
    for name in SPANS.iter().flat_map(|span| span.attributes) {
        assert!(*name == attribute::ERROR_TYPE || all.contains(name), "no span has {name}");
    }
}

#[tokio::test]
async fn a_request_that_failed_has_its_code_and_an_error_status() {
    let db = Database::fresh().await;
    let (endpoint, collector) = (Endpoint::start(), Collector::start(Manner::Takes));
    let relay = relay(&db, &endpoint, &collector).await;
    endpoint.answer_next([Answer::fail(["0"], "InternalError")]);
    db.insert_raw([traced("orders", "")]).await;
    let report = relay.invoke(&json!({}), MINUTE).await.unwrap();
    assert_eq!(report["retried"], 1, "{report}");
    let spans = collector.spans();
    check_names(&spans);
    let [failed] = named(&spans, "send orders")[..] else { panic!("{spans:#?}") };
    assert_eq!(get(failed, attribute::ERROR_TYPE), "InternalError");
    assert_eq!(failed.status.as_ref().unwrap().code, ERROR);
    assert!(failed.links.is_empty(), "{failed:?}");
}

/// Whatever the collector does, or if there is none: spans are lost then, and nothing else.
#[tokio::test]
async fn a_collector_that_fails_or_hangs_costs_its_spans_and_no_run() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    for manner in [Manner::Refuses, Manner::Keeps] {
        let collector = Collector::start(manner);
        let relay = relay(&db, &endpoint, &collector).await;
        for time in [MINUTE, Duration::from_secs(4)] {
            db.insert_raw([traced("orders", "")]).await;
            let started = Instant::now();
            let report = relay.invoke(&json!({}), time).await.unwrap();
            assert_eq!(report["dispatched"], 1, "{report}");
            assert!(started.elapsed() < time, "{:?} of {time:?}", started.elapsed());
        }
        assert!(collector.calls() >= 2, "each run tried");
        let said = || async {
            let line: Option<Value> =
                ["spans were not exported", "spans were not exported in time"]
                    .iter()
                    .find_map(|message| relay.process.logged(message));
            line
        };
        let line = eventually("a word about the lost spans", said).await;
        assert_eq!(line["level"], "WARN", "{line}");
    }
}

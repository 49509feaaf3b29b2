#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use super::*;

mod document;

const NOW: Duration = Duration::from_millis(1_796_000_000_123);

fn metrics() -> Metrics {
    Metrics { namespace: Some("Outbox".to_owned()), service: "relay".to_owned() }
}

fn line(dimensions: &[(&'static str, &str)], values: &[(&'static Metric, Measured)]) -> Value {
    let line = render("Outbox", UNIX_EPOCH + NOW, dimensions, values).unwrap();
    assert!(!line.contains('\n'), "{line}");
    serde_json::from_str(&line).unwrap()
}

fn destination(name: &str, age: impl Into<Option<f64>>) -> DestinationMetrics {
    DestinationMetrics { name: name.to_owned(), oldest_due_seconds: age.into() }
}

/// The destination and the age of each line.
fn ages(destinations: &[DestinationMetrics]) -> Vec<(String, f64)> {
    let (lines, _) = metrics().destination_lines(destinations);
    let read = |line: &String| {
        let line: Value = serde_json::from_str(line).unwrap();
        let name = line["destination"].as_str().unwrap().to_owned();
        (name, line["outbox.backlog.age"].as_f64().unwrap())
    };
    lines.iter().map(read).collect()
}

#[test]
fn a_line_names_its_metrics_their_units_and_its_dimensions() {
    let dimensions = [(dimension::SERVICE, "relay"), (dimension::DESTINATION, "orders")];
    let values = [(&table::CLAIMED, Count(3)), (&table::BACKLOG_AGE, Seconds(1.5))];
    let expected = json!({
        "_aws": {
            "Timestamp": 1_796_000_000_123_u64,
            "CloudWatchMetrics": [{
                "Namespace": "Outbox",
                "Dimensions": [["service", "destination"]],
                "Metrics": [
                    { "Name": "outbox.claimed.messages", "Unit": "Count" },
                    { "Name": "outbox.backlog.age", "Unit": "Seconds" },
                ],
            }],
        },
        "service": "relay",
        "destination": "orders",
        "outbox.claimed.messages": 3,
        "outbox.backlog.age": 1.5,
    });
    assert_eq!(line(&dimensions, &values).to_string(), expected.to_string());
}

/// Case L16.
#[test]
fn what_is_no_finite_number_is_left_out_with_its_name() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let line = line(&[], &[(&table::BACKLOG_AGE, Seconds(bad)), (&table::RUNS, Count(1))]);
        let metrics = &line["_aws"]["CloudWatchMetrics"][0]["Metrics"];
        assert_eq!(*metrics, json!([{ "Name": "outbox.run.count", "Unit": "Count" }]));
        assert!(line.get("outbox.backlog.age").is_none(), "{line}");
    }
    let nothing = render("Outbox", UNIX_EPOCH, &[], &[(&table::BACKLOG_AGE, Seconds(f64::NAN))]);
    assert_eq!(nothing, None);
}

/// Case L16.
#[test]
fn a_dimension_without_a_value_is_left_out() {
    for empty in ["", " "] {
        let line = line(&[(dimension::SERVICE, empty)], &[(&table::RUNS, Count(1))]);
        assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([[]]));
        assert!(line.get("service").is_none(), "{line}");
    }
}

/// Case L16: a destination's name is whatever somebody enqueued.
#[test]
fn a_name_is_bounded_printable_ascii_and_two_names_stay_two() {
    let long = "x".repeat(5_000);
    for (name, expected) in [
        ("orders v2", "orders v2".to_owned()),
        ("a\nb\"}", "a\\nb\"}".to_owned()),
        ("\u{1f980}", "\\u{1f980}".to_owned()),
        ("bestellungen-\u{e4}", "bestellungen-\\u{e4}".to_owned()),
        ("\u{0}\u{7f}", "\\u{0}\\u{7f}".to_owned()),
        (long.as_str(), "x".repeat(255)),
    ] {
        assert_eq!(ages(&[destination(name, 1.0)]), [(expected, 1.0)]);
    }
    assert_eq!(ages(&[destination("", 1.0), destination("\t ", 1.0)]), []);
}

/// Case L16.
#[test]
fn a_destination_with_nothing_due_has_the_age_0_and_one_of_unknown_age_no_line() {
    let found = ages(&[destination("orders", 0.0), destination("events", None)]);
    assert_eq!(found, [("orders".to_owned(), 0.0)]);
}

#[test]
fn of_many_destinations_the_fifty_with_the_oldest_messages_have_lines() {
    let many: Vec<_> =
        (0_u32..60).map(|n| destination(&format!("d{n}"), f64::from(n * 7 % 60))).collect();
    assert_eq!(metrics().destination_lines(&many).1, 10, "left out");
    let ages: Vec<f64> = ages(&many).into_iter().map(|(_, age)| age).collect();
    assert_eq!(ages, (10..60).rev().map(f64::from).collect::<Vec<_>>());
}

#[test]
fn with_metrics_off_there_are_no_lines() {
    let off = Metrics { namespace: None, service: "relay".to_owned() };
    assert_eq!(off.line(None, &[(&table::RUNS, Count(1))]), None);
    assert!(off.destination_lines(&[destination("orders", 1.0)]).0.is_empty());
}

//! Holds `docs/telemetry.md` to the table of metrics.

use crate::metrics::{ALL, Metric};

/// A metric as the document has it.
fn row(metric: &Metric) -> String {
    let Metric { name, unit, written_by, is_per_destination, about } = metric;
    let dimensions =
        if *is_per_destination { "service; service and destination" } else { "service" };
    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("| `{name}` | {} | {dimensions} | {} | {about} |", unit.name(), written_by.join(", "))
}

#[test]
fn the_document_has_a_row_for_each_metric_in_order_and_no_other() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/telemetry.md");
    let document = std::fs::read_to_string(path).unwrap();
    let metrics = document.split("## Metrics").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows: Vec<&str> = metrics.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows, ALL.iter().map(|metric| row(metric)).collect::<Vec<_>>());
}

/// More of either, and `CloudWatch` takes none of the line.
#[test]
fn a_line_of_all_metrics_stays_within_the_limits() {
    assert!(ALL.len() <= 100);
    assert!(ALL.iter().all(|metric| metric.name.len() <= 255));
}

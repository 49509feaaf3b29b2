//! One metric line, in `CloudWatch`'s embedded metric format: one JSON object, with nothing before or after it.
//!
//! `CloudWatch` says nothing about a line that it cannot take; it only counts it in a metric of its own. So whatever
//! would spoil one is left out here: a value that is no finite number (JSON has none, and null is refused), a
//! dimension without a value, a character outside ASCII.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Number, Value, json};

use crate::metrics::table::Metric;

/// A quarter of what `CloudWatch` takes: a destination's name has 128 at most, and more only when escaped.
const MAX_DIMENSION_CHARS: usize = 255;

/// A measured value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Measured {
    Count(u64),
    Seconds(f64),
}

/// The line, without its end. `None` if nothing is left to say.
pub(super) fn render(
    namespace: &str,
    now: SystemTime,
    dimensions: &[(&'static str, &str)],
    values: &[(&'static Metric, Measured)],
) -> Option<String> {
    let mut members = Map::new();
    let mut metrics = Vec::new();
    for (metric, value) in values {
        let Some(value) = number(*value) else { continue };
        members.insert(metric.name.to_owned(), value.into());
        metrics.push(json!({ "Name": metric.name, "Unit": metric.unit.name() }));
    }
    let mut set = Vec::new();
    for (name, value) in dimensions {
        let Some(value) = dimension_value(value) else { continue };
        members.insert((*name).to_owned(), value.into());
        set.push(*name);
    }
    if metrics.is_empty() {
        return None;
    }
    let timestamp_ms = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let directive = json!({ "Namespace": namespace, "Dimensions": [set], "Metrics": metrics });
    let timestamp_ms = u64::try_from(timestamp_ms).unwrap_or(u64::MAX);
    members.insert(
        "_aws".to_owned(),
        json!({ "Timestamp": timestamp_ms, "CloudWatchMetrics": [directive] }),
    );
    Some(Value::Object(members).to_string())
}

/// `None` for what JSON has no number for.
fn number(value: Measured) -> Option<Number> {
    match value {
        Measured::Count(n) => Some(n.into()),
        Measured::Seconds(seconds) => Number::from_f64(seconds),
    }
}

/// A value as `CloudWatch` takes it: printable ASCII, bounded, and not only blanks. What else a name holds is
/// escaped, so that two names stay two.
fn dimension_value(name: &str) -> Option<String> {
    let is_printable = |c: char| c.is_ascii_graphic() || c == ' ';
    let mut value = String::new();
    for character in name.chars() {
        if is_printable(character) {
            value.push(character);
        } else {
            value.extend(character.escape_default());
        }
    }
    value.truncate(MAX_DIMENSION_CHARS); // It is ASCII: a byte is a character.
    (!value.trim().is_empty()).then_some(value)
}

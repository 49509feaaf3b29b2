//! One metric line, in `CloudWatch`'s embedded metric format: one JSON object, with nothing before or after it. The format
//! is metrique's; what is here decides what goes in.
//!
//! `CloudWatch` says nothing about a line that it cannot take; it only counts it in a metric of its own. So whatever
//! would spoil one is left out here: a value that is no finite number (metrique would make a huge one of an infinite
//! one), a dimension without a value, a character outside ASCII.

use std::time::SystemTime;

use metrique_writer_core::format::Format;
use metrique_writer_core::unit::NegativeScale;
use metrique_writer_core::{
    Entry, EntryWriter, MetricFlags, Observation, Unit as MetriqueUnit, Value, ValueWriter,
};
use metrique_writer_format_emf::Emf;

use crate::metrics::table::{Metric, Unit};

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
    let is_finite = |value: Measured| match value {
        Measured::Count(_) => true,
        Measured::Seconds(seconds) => seconds.is_finite(),
    };
    let line = Line {
        now,
        dimensions: dimensions
            .iter()
            .filter_map(|(name, value)| Some((*name, dimension_value(value)?)))
            .collect(),
        values: values.iter().filter(|(_, value)| is_finite(*value)).copied().collect(),
    };
    if line.values.is_empty() {
        return None;
    }
    // One writer a line: which dimensions there are is decided by the line.
    let set = line.dimensions.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut written = Vec::new();
    match Emf::builder(namespace.to_owned(), vec![set]).build().format(&line, &mut written) {
        Ok(()) => Some(String::from_utf8(written).ok()?.trim_end().to_owned()),
        Err(error) => {
            tracing::error!(%error, "a line of metrics can't be written");
            None
        }
    }
}

/// What metrique writes.
struct Line {
    now: SystemTime,
    dimensions: Vec<(&'static str, String)>,
    values: Vec<(&'static Metric, Measured)>,
}

impl Entry for Line {
    fn write<'a>(&'a self, writer: &mut impl EntryWriter<'a>) {
        writer.timestamp(self.now);
        for (name, value) in &self.dimensions {
            writer.value(*name, value.as_str());
        }
        for (metric, value) in &self.values {
            writer.value(metric.name, &Point(metric.unit, *value));
        }
    }
}

/// A value with its unit.
struct Point(Unit, Measured);

impl Value for Point {
    fn write(&self, writer: impl ValueWriter) {
        let unit = match self.0 {
            Unit::Count => MetriqueUnit::Count,
            Unit::Seconds => MetriqueUnit::Second(NegativeScale::One),
        };
        let value = match self.1 {
            Measured::Count(n) => Observation::Unsigned(n),
            Measured::Seconds(seconds) => Observation::Floating(seconds),
        };
        writer.metric([value], unit, [], MetricFlags::empty());
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

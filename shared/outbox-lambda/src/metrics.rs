//! Metrics: each run of a function writes them to standard output, from where Lambda brings them to `CloudWatch`
//! without a call, a permission or an endpoint.
//!
//! ```text
//! let run = metrics.start();
//! ...
//! run.relayed(&measured);     // one line for the run, and one for the age of each destination
//! ```
//!
//! A run that is dropped instead, by an error, a panic or a cancellation, has written a line that says so. Names and
//! units are in `table.rs`, what may be in a line in `line.rs`; the format is metrique's.

mod line;
mod table;

use std::io::{self, Write};
use std::time::{Instant, SystemTime};

pub use table::{ALL, Metric, Unit};

use line::Measured::{Count, Seconds};
use line::{Measured, render};
use table::dimension;

use crate::settings::{Program, Settings};

/// Most destinations of a run that have a line of their own: each is a metric to pay for.
const MAX_DESTINATIONS: usize = 50;

/// Where a function writes its metrics. It has no state: a run's values are gone with its lines.
#[derive(Clone, Debug)]
pub struct Metrics {
    namespace: Option<String>,
    service: String,
}

/// A run under way, and its clock.
#[must_use = "a run that is dropped has failed"]
#[derive(Debug)]
pub struct Run<'a> {
    metrics: &'a Metrics,
    started: Instant,
    has_ended: bool,
}

/// What a run of the relay did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunMetrics {
    /// Messages leased to it.
    pub claimed: u64,
    /// Messages that the broker accepted, and that were marked so.
    pub published: u64,
    /// Messages that failed and wait for another attempt.
    pub retried: u64,
    /// Messages that died.
    pub dead: u64,
    /// Messages not marked, because the lease was lost to another relay.
    pub lease_lost: u64,
    /// Messages handed back unsent.
    pub released: u64,
    /// Age of the oldest due message of all, in seconds; 0 if none is due, `None` if unknown.
    pub oldest_due_seconds: Option<f64>,
    /// Message groups that a dead message holds back; `None` if unknown.
    pub held_groups: Option<u64>,
    /// Destinations whose breaker is open; `None` if unknown.
    pub open_breakers: Option<u64>,
    /// Those that are to have a line of their own; of too many, the ones with the oldest messages have.
    pub destinations: Vec<DestinationMetrics>,
}

/// What a run found at one destination.
#[derive(Clone, Debug, PartialEq)]
pub struct DestinationMetrics {
    /// Its logical name.
    pub name: String,
    /// Age of its oldest due message, in seconds; 0 if none is due, `None` if unknown.
    pub oldest_due_seconds: Option<f64>,
}

impl Metrics {
    /// Under the function's own name, which alarms know it by.
    pub fn new(settings: &Settings, program: Program) -> Self {
        if settings.metrics_namespace.is_some() {
            warn_of_dropped_metrics();
        }
        let service = std::env::var("AWS_LAMBDA_FUNCTION_NAME");
        let service = service.unwrap_or_else(|_| program.name().to_owned());
        Self { namespace: settings.metrics_namespace.clone(), service }
    }

    /// Starts the clock of a run.
    pub fn start(&self) -> Run<'_> {
        Run { metrics: self, started: Instant::now(), has_ended: false }
    }

    fn line(
        &self,
        destination: Option<&str>,
        values: &[(&'static Metric, Measured)],
    ) -> Option<String> {
        let namespace = self.namespace.as_deref()?;
        let mut dimensions = vec![(dimension::SERVICE, self.service.as_str())];
        dimensions.extend(destination.map(|name| (dimension::DESTINATION, name)));
        render(namespace, SystemTime::now(), &dimensions, values)
    }

    /// The lines of the destinations, and how many are left out: the oldest come first, so that those are the least of
    /// a worry.
    fn destination_lines(&self, destinations: &[DestinationMetrics]) -> (Vec<String>, usize) {
        let age = |of: &&DestinationMetrics| of.oldest_due_seconds.unwrap_or_default();
        // One without a name would be counted among the ages of all.
        let is_named = |of: &&DestinationMetrics| !of.name.trim().is_empty();
        let mut oldest_first: Vec<_> = destinations.iter().filter(is_named).collect();
        oldest_first.sort_by(|a, b| age(b).total_cmp(&age(a)));
        let n_left_out = oldest_first.len().saturating_sub(MAX_DESTINATIONS);
        let lines = oldest_first.into_iter().take(MAX_DESTINATIONS).filter_map(|of| {
            self.line(Some(&of.name), &[(&table::BACKLOG_AGE, Seconds(of.oldest_due_seconds?))])
        });
        (lines.collect(), n_left_out)
    }
}

impl Run<'_> {
    /// Ends a run of the relay.
    pub fn relayed(mut self, run: &RunMetrics) {
        let mut values = vec![
            (&table::CLAIMED, Count(run.claimed)),
            (&table::PUBLISHED, Count(run.published)),
            (&table::RETRIED, Count(run.retried)),
            (&table::DEAD, Count(run.dead)),
            (&table::LOST_LEASES, Count(run.lease_lost)),
            (&table::RELEASED, Count(run.released)),
        ];
        values.extend(run.oldest_due_seconds.map(|age| (&table::BACKLOG_AGE, Seconds(age))));
        values.extend(run.held_groups.map(|n| (&table::HELD_GROUPS, Count(n))));
        values.extend(run.open_breakers.map(|n| (&table::OPEN_BREAKERS, Count(n))));
        self.end(false, &values);
        let (lines, n_left_out) = self.metrics.destination_lines(&run.destinations);
        if n_left_out > 0 && !lines.is_empty() {
            tracing::info!(n_left_out, "some destinations have no metrics of their own");
        }
        write(lines);
    }

    /// Ends a purge that has deleted so many messages.
    pub fn purged(mut self, n_messages: u64) {
        self.end(false, &[(&table::PURGED, Count(n_messages))]);
    }

    /// Ends a command of an operator.
    pub fn answered(mut self) {
        self.end(false, &[]);
    }

    fn end(&mut self, has_failed: bool, values: &[(&'static Metric, Measured)]) {
        self.has_ended = true;
        let mut all = vec![
            (&table::RUNS, Count(1)),
            (&table::FAILED_RUNS, Count(has_failed.into())),
            (&table::DURATION, Seconds(self.started.elapsed().as_secs_f64())),
        ];
        all.extend_from_slice(values);
        write(self.metrics.line(None, &all));
    }
}

impl Drop for Run<'_> {
    /// Nobody has ended it: it has failed, whatever the way.
    fn drop(&mut self) {
        if !self.has_ended {
            self.end(true, &[]);
        }
    }
}

/// Lambda takes a line without a level, as those of the metrics are, for `INFO`.
fn warn_of_dropped_metrics() {
    let level = std::env::var("AWS_LAMBDA_LOG_LEVEL").unwrap_or_default();
    if ["WARN", "ERROR", "FATAL"].contains(&level.to_ascii_uppercase().as_str()) {
        tracing::error!(
            application_log_level = level,
            "Lambda drops all metrics: set its ApplicationLogLevel to INFO, and OUTBOX_LOG_LEVEL as you like"
        );
    }
}

/// Each line in one piece, so that no other line gets between. If it can't be written, nor can a log say so.
fn write(lines: impl IntoIterator<Item = String>) {
    let mut stdout = io::stdout().lock();
    for line in lines {
        drop(stdout.write_all(format!("{line}\n").as_bytes()));
    }
}

#[cfg(test)]
mod tests;

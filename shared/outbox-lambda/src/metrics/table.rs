//! Every metric, once: its name, its unit and what it says.
//!
//! Names follow OpenTelemetry's form: dots, no unit and no `_total` in the name. `docs/telemetry.md` is
//! the same table for people, and a test compares the two.

/// One metric.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name in `CloudWatch`, and its member in the line.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// The functions that write it.
    pub written_by: &'static [&'static str],
    /// Whether it is also written for each destination.
    pub is_per_destination: bool,
    /// What it says, in one sentence.
    pub about: &'static str,
}

/// The units that `CloudWatch` knows and we use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// How many.
    Count,
    /// How long, in seconds and parts of them.
    Seconds,
}

impl Unit {
    /// Its name in `CloudWatch`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "Count",
            Self::Seconds => "Seconds",
        }
    }
}

const EVERY_FUNCTION: &[&str] = &["relay", "purge", "admin"];
const RELAY: &[&str] = &["relay"];
const PURGE: &[&str] = &["purge"];

const fn count(
    name: &'static str,
    written_by: &'static [&'static str],
    about: &'static str,
) -> Metric {
    Metric { name, unit: Unit::Count, written_by, is_per_destination: false, about }
}

pub(super) const RUNS: Metric =
    count("outbox.run.count", EVERY_FUNCTION, "Runs that ended, well or not: 1 in each line.");

pub(super) const FAILED_RUNS: Metric = count(
    "outbox.run.failed",
    EVERY_FUNCTION,
    "1 if the run ended in an error or a panic, else 0; what such a run did is not known.",
);

pub(super) const DURATION: Metric = Metric {
    name: "outbox.run.duration",
    unit: Unit::Seconds,
    written_by: EVERY_FUNCTION,
    is_per_destination: false,
    about: "How long the run took.",
};

pub(super) const CLAIMED: Metric = count(
    "outbox.claimed.messages",
    RELAY,
    "Messages leased to the run; one that was claimed twice counts twice.",
);

pub(super) const PUBLISHED: Metric =
    count("outbox.published.messages", RELAY, "Messages that SQS or SNS accepted, marked so.");

pub(super) const RETRIED: Metric =
    count("outbox.retried.messages", RELAY, "Messages that failed and wait for another attempt.");

pub(super) const DEAD: Metric =
    count("outbox.dead.messages", RELAY, "Messages that died in this run.");

pub(super) const LOST_LEASES: Metric = count(
    "outbox.lease.lost",
    RELAY,
    "Messages that the run could not mark, because another relay had claimed them since.",
);

pub(super) const RELEASED: Metric =
    count("outbox.released.messages", RELAY, "Messages handed back unsent.");

pub(super) const BACKLOG_AGE: Metric = Metric {
    name: "outbox.backlog.age",
    unit: Unit::Seconds,
    written_by: RELAY,
    is_per_destination: true,
    about: "How long the oldest due message has been due when the run ends, by the database's clock; \
            0 if none is due, and absent if the database could not be asked.",
};

pub(super) const HELD_GROUPS: Metric = count(
    "outbox.held.groups",
    RELAY,
    "Message groups that a dead message holds back; absent if unknown.",
);

pub(super) const OPEN_BREAKERS: Metric = count(
    "outbox.breaker.open",
    RELAY,
    "Destinations that claims leave out until they answer again; absent if unknown.",
);

pub(super) const PURGED: Metric = count("outbox.purged.messages", PURGE, "Messages deleted.");

/// All metrics, in the order of `docs/telemetry.md`.
pub const ALL: &[&Metric] = &[
    &RUNS,
    &FAILED_RUNS,
    &DURATION,
    &CLAIMED,
    &PUBLISHED,
    &RETRIED,
    &DEAD,
    &LOST_LEASES,
    &RELEASED,
    &BACKLOG_AGE,
    &HELD_GROUPS,
    &OPEN_BREAKERS,
    &PURGED,
];

/// Names of dimensions.
pub(super) mod dimension {
    /// The function's name in Lambda.
    pub(in crate::metrics) const SERVICE: &str = "service";
    /// A destination's logical name.
    pub(in crate::metrics) const DESTINATION: &str = "destination";
}

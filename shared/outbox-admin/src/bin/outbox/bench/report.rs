//! The report of a bench: medians of the rounds, and what they tell and do not tell.

use std::time::Duration;

use outbox_store::{BenchServer, LeftOver};
use serde::Serialize;

use super::load::Load;
use super::rounds::{Drained, Measured, Round};
use crate::output::table;

const NOT_MEASURED: &str = "not measured: SQS and SNS, the way to them, and Lambda; the relay's publisher accepts \
     everything at once, and signs and sends nothing";

/// A way to the server that shows in a claim or a mark: the relay goes it twice for each.
const FAR_MS: f64 = 1.0;

/// What `outbox bench` answers.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    server: Server,
    load: LoadOf,
    /// The statements of a claim and a mark, one after another.
    database: Statements,
    /// The relay from its first look to its last, with several claims side by side.
    relay: Whole,
    /// The median of the rounds' own ratios: what else goes on hits both parts of a round.
    relay_over_database: f64,
    rounds: Vec<RoundOf>,
    notes: Vec<String>,
    left_over: Vec<LeftOverOf>,
}

#[derive(Debug, Serialize)]
struct Server {
    version: String,
    synchronous_commit: String,
    fsync: String,
    full_page_writes: String,
    round_trip_p50_ms: f64,
}

#[derive(Debug, Serialize)]
struct LoadOf {
    messages: u32,
    payload_bytes: u32,
    groups: u32,
    batch_size: u32,
    rounds: u32,
}

#[derive(Debug, Serialize)]
struct Statements {
    messages_per_second: f64,
    claim_p50_ms: f64,
    claim_p99_ms: f64,
    mark_p50_ms: f64,
    mark_p99_ms: f64,
    wal_bytes_per_message: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Whole {
    messages_per_second: f64,
    wal_bytes_per_message: Option<f64>,
}

#[derive(Debug, Serialize)]
struct RoundOf {
    database: Part<Statements>,
    relay: Part<Whole>,
    /// Transactions of others that wrote while the database's part was on; absent if the server does not tell.
    other_transactions: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Part<T> {
    dispatched: u64,
    #[serde(flatten)]
    figures: T,
}

#[derive(Debug, Serialize)]
struct LeftOverOf {
    schema: String,
    bytes: u64,
    drop_statement: String,
}

impl Report {
    pub(crate) fn new(
        server: BenchServer,
        load: &Load,
        measured: &Measured,
        left_over: Vec<LeftOver>,
    ) -> Self {
        let round_trip_p50_ms = percentile_ms(&measured.round_trips, 50);
        let notes = notes(&server, round_trip_p50_ms, measured);
        let BenchServer { version, synchronous_commit, fsync, full_page_writes, .. } = server;
        let &Load { messages, payload_bytes, groups, batch_size, rounds } = load;
        let rounds_of: Vec<RoundOf> = measured.rounds.iter().map(RoundOf::new).collect();
        let ratio = |round: &RoundOf| {
            round.relay.figures.messages_per_second / round.database.figures.messages_per_second
        };
        Self {
            server: Server {
                version,
                synchronous_commit,
                fsync,
                full_page_writes,
                round_trip_p50_ms,
            },
            load: LoadOf { messages, payload_bytes, groups, batch_size, rounds },
            database: Statements {
                messages_per_second: of_database(&rounds_of, |it| it.messages_per_second),
                claim_p50_ms: of_database(&rounds_of, |it| it.claim_p50_ms),
                claim_p99_ms: of_database(&rounds_of, |it| it.claim_p99_ms),
                mark_p50_ms: of_database(&rounds_of, |it| it.mark_p50_ms),
                mark_p99_ms: of_database(&rounds_of, |it| it.mark_p99_ms),
                wal_bytes_per_message: all_or_none(
                    rounds_of.iter().map(|it| it.database.figures.wal_bytes_per_message),
                ),
            },
            relay: Whole {
                messages_per_second: median(
                    rounds_of.iter().map(|it| it.relay.figures.messages_per_second),
                ),
                wal_bytes_per_message: all_or_none(
                    rounds_of.iter().map(|it| it.relay.figures.wal_bytes_per_message),
                ),
            },
            relay_over_database: rounded(median(rounds_of.iter().map(ratio))),
            rounds: rounds_of,
            notes,
            left_over: left_over.into_iter().map(LeftOverOf::from).collect(),
        }
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let Self { server, load, database, relay, .. } = self;
        let groups = match load.groups {
            0 => "without message groups".to_owned(),
            1 => "in 1 message group".to_owned(),
            n => format!("in {n} message groups"),
        };
        let plural = if load.rounds == 1 { "" } else { "s" };
        let header = format!(
            "Postgres {}, synchronous_commit {}, round trip {} ms\n\
             {} round{plural} of {} messages of {} bytes {groups}, claims of {}",
            server.version,
            server.synchronous_commit,
            server.round_trip_p50_ms,
            load.rounds,
            load.messages,
            load.payload_bytes,
            load.batch_size,
        );
        let rate = |rate: f64| format!("{rate:.0}");
        let ms = |ms: f64| format!("{ms:.1}");
        let wal =
            |bytes: Option<f64>| bytes.map_or_else(|| "-".to_owned(), |it| format!("{it:.0}"));
        let none = || "-".to_owned();
        let figures = table(
            &[
                "",
                "messages/s",
                "claim p50 ms",
                "claim p99 ms",
                "mark p50 ms",
                "mark p99 ms",
                "WAL bytes/message",
            ],
            [
                vec![
                    "database alone".to_owned(),
                    rate(database.messages_per_second),
                    ms(database.claim_p50_ms),
                    ms(database.claim_p99_ms),
                    ms(database.mark_p50_ms),
                    ms(database.mark_p99_ms),
                    wal(database.wal_bytes_per_message),
                ],
                vec![
                    "relay".to_owned(),
                    rate(relay.messages_per_second),
                    none(),
                    none(),
                    none(),
                    none(),
                    wal(relay.wal_bytes_per_message),
                ],
            ],
        );
        let mut parts = vec![header, figures, self.ratio_text()];
        parts.extend(self.notes.iter().map(|note| format!("note: {note}")));
        parts.join("\n")
    }

    /// The ratio, and how far the rounds lie apart.
    fn ratio_text(&self) -> String {
        let spread = |rates: Vec<f64>| {
            let lowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let highest = rates.iter().copied().fold(0.0, f64::max);
            format!("{lowest:.0} to {highest:.0}")
        };
        let rounds = &self.rounds;
        let database = rounds.iter().map(|it| it.database.figures.messages_per_second).collect();
        let relay = rounds.iter().map(|it| it.relay.figures.messages_per_second).collect();
        let ratio = self.relay_over_database;
        let why = if ratio > 1.0 { ", as it claims, publishes and marks side by side" } else { "" };
        format!(
            "relay/database: {ratio:.2}{why}\n\
             lowest to highest round: database {}, relay {} messages/s",
            spread(database),
            spread(relay),
        )
    }
}

impl RoundOf {
    fn new(round: &Round) -> Self {
        let figures = Statements {
            messages_per_second: rate(&round.database),
            claim_p50_ms: percentile_ms(&round.claims, 50),
            claim_p99_ms: percentile_ms(&round.claims, 99),
            mark_p50_ms: percentile_ms(&round.marks, 50),
            mark_p99_ms: percentile_ms(&round.marks, 99),
            wal_bytes_per_message: wal(&round.database),
        };
        let whole = Whole {
            messages_per_second: rate(&round.relay),
            wal_bytes_per_message: wal(&round.relay),
        };
        Self {
            database: Part { dispatched: round.database.dispatched, figures },
            relay: Part { dispatched: round.relay.dispatched, figures: whole },
            other_transactions: round.other_transactions,
        }
    }
}

impl From<LeftOver> for LeftOverOf {
    fn from(LeftOver { name, bytes, drop_statement }: LeftOver) -> Self {
        Self { schema: name, bytes, drop_statement }
    }
}

/// What a person should know besides.
fn notes(server: &BenchServer, round_trip_ms: f64, measured: &Measured) -> Vec<String> {
    let mut notes = vec![NOT_MEASURED.to_owned()];
    notes.push(
        "whatever else this machine and the server do shows in the figures: compare only what one bench tells"
            .to_owned(),
    );
    if cfg!(debug_assertions) {
        notes.push(
            "this program is built without optimization, and its share of the time is several times what it would be: \
             cargo build --release -p outbox-admin"
                .to_owned(),
        );
    }
    if round_trip_ms >= FAR_MS {
        notes.push(format!(
            "the server is {round_trip_ms} ms away: a claim goes there twice, and so does a mark"
        ));
    }
    if server.synchronous_commit != "on" || server.fsync != "on" {
        notes.push(format!(
            "synchronous_commit is {} and fsync is {}: where both are on a commit takes longer",
            server.synchronous_commit, server.fsync
        ));
    }
    if !server.missing_roles.is_empty() {
        notes.push(format!(
            "the roles {} were made and stay, as an outbox needs them; nobody is a member",
            server.missing_roles.join(", ")
        ));
    }
    let others: Option<u64> = measured.rounds.iter().map(|round| round.other_transactions).sum();
    match others {
        None => notes.push("the server does not tell how much WAL it writes".to_owned()),
        // Autovacuum writes a little on an idle server too.
        Some(n_others) if n_others > 10 * measured.rounds.len() as u64 => notes.push(format!(
            "others wrote at the same time, in {n_others} transactions: WAL bytes per message count theirs too"
        )),
        Some(_) => {}
    }
    notes
}

fn of_database(rounds: &[RoundOf], figure: fn(&Statements) -> f64) -> f64 {
    median(rounds.iter().map(|round| figure(&round.database.figures)))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a count of messages or bytes, told to three places"
)]
fn rate(drained: &Drained) -> f64 {
    rounded(drained.dispatched as f64 / drained.time.as_secs_f64())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a count of messages or bytes, told to three places"
)]
fn wal(drained: &Drained) -> Option<f64> {
    drained.wal_bytes.map(|bytes| rounded(bytes as f64 / drained.dispatched as f64))
}

/// The smallest time that so many percent of all do not exceed, in milliseconds; 0 if there is none.
fn percentile_ms(times: &[Duration], percent: usize) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let place = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(place).map_or(0.0, |time| rounded(time.as_secs_f64() * 1_000.0))
}

/// The middle one, or the mean of the two in the middle; 0 if there is none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    match (sorted.len() / 2, sorted.len() % 2) {
        (0, 0) => 0.0,
        (middle, 0) => rounded(f64::midpoint(sorted[middle - 1], sorted[middle])),
        (middle, _) => sorted[middle],
    }
}

/// The median, if all are known.
fn all_or_none(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let known: Option<Vec<f64>> = values.collect();
    known.map(|known| median(known.into_iter()))
}

/// To three places.
fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

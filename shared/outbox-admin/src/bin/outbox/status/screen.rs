//! The screen of a status: what waits, what ran, what the database is like, and at last the verdict.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use outbox_admin::{Problem, Status, age_in_words};
use outbox_store::{
    ALL_DESTINATIONS, ActivePause, DatabaseStatus, DeadCount, DestinationStatus, LastRun, Storage,
};
use serde_json::Value;

use super::{dead_by_code, held_by_pause};
use crate::output::{plain, table};
use crate::paint::Paint;

/// A terminal's width, less a little.
const WIDTH: usize = 78;

/// Problems of one kind, and lines about the dead, that are shown in full: it is to be one screen.
const MOST_ALIKE: usize = 5;
const MOST_CODES: usize = 12;

pub(super) fn text(status: &Status, paint: Paint) -> String {
    let mut parts = Vec::new();
    if status.facts.destinations.is_empty() {
        parts.push("nothing waits and nothing is dead".to_owned());
    } else {
        parts.push(waiting(status));
    }
    if !status.dead_letters.is_empty() {
        parts.push(most_dead(&status.dead_letters));
    }
    parts.push(surroundings(status, paint));
    parts.push(verdict(status, paint));
    parts.join("\n\n")
}

/// The dead by destination and code, the most first where there are many.
fn most_dead(dead: &[DeadCount]) -> String {
    if dead.len() <= MOST_CODES {
        return dead_by_code(dead);
    }
    let mut most = dead.to_vec();
    most.sort_by_key(|count| Reverse(count.messages));
    most.truncate(MOST_CODES);
    let n_more = dead.len() - MOST_CODES;
    format!("{}\n and {n_more} more; --output json has all", dead_by_code(&most))
}

/// What waits, by destination; held groups only where there are any.
fn waiting(status: &Status) -> String {
    let has_held = status.held_groups > 0;
    let destinations = &status.facts.destinations;
    let mut rows: Vec<Vec<String>> = destinations
        .iter()
        .map(|DestinationStatus { backlog: of, is_bounded, .. }| {
            let mark = match (of.paused, of.breaker_open) {
                (true, _) => " (paused)",
                (false, true) => " (breaker)",
                (false, false) => "",
            };
            let waiting = [of.due, of.retrying, of.scheduled, of.claimed];
            let stuck = (of.dead, has_held.then_some(of.held_groups));
            let name = format!("{}{mark}", of.destination);
            row(name, waiting, stuck, *is_bounded, of.oldest_due_seconds)
        })
        .collect();
    if rows.len() > 1 {
        let Status { due, retrying, scheduled, claimed, dead, held_groups, .. } = *status;
        let is_bounded = destinations.iter().any(|of| of.is_bounded);
        let stuck = (dead, has_held.then_some(held_groups));
        let waiting = [due, retrying, scheduled, claimed];
        rows.push(row("total".to_owned(), waiting, stuck, is_bounded, status.oldest_due_seconds));
    }
    let mut header = vec!["destination", "due", "retrying", "scheduled", "claimed", "dead"];
    header.extend(has_held.then_some("held"));
    header.push("oldest due");
    table(&header, rows)
}

/// A + marks the least there is. That nothing is dead is certain all the same.
fn row(
    name: String,
    waiting: [i64; 4],
    (dead, held_groups): (i64, Option<i64>),
    is_bounded: bool,
    oldest_due_seconds: f64,
) -> Vec<String> {
    let at_least = |count: i64| format!("{count}{}", if is_bounded { "+" } else { "" });
    let mut cells = vec![name];
    cells.extend(waiting.map(at_least));
    cells.push(if dead > 0 { at_least(dead) } else { "0".to_owned() });
    cells.extend(held_groups.map(|count| count.to_string()));
    cells.push(age_in_words(oldest_due_seconds));
    cells
}

/// A line for each pause and each run, and for the database and its table.
fn surroundings(status: &Status, paint: Paint) -> String {
    let line = |name: &str, text: &str| {
        wrapped(text, WIDTH - 10)
            .iter()
            .enumerate()
            .map(|(n, line)| {
                let name = if n == 0 { name } else { "" };
                format!("{} {line}", paint.name(&format!("{name:<9}")))
            })
            .collect::<Vec<_>>()
            .join("\n")
    };
    let facts = &status.facts;
    let mut lines: Vec<String> =
        facts.pauses.iter().map(|pause| line("paused", &paused(pause))).collect();
    let relay = ["dispatched", "retried", "dead"];
    lines.push(line("relay", &last_run(facts.last_runs.relay.as_ref(), &relay)));
    let purge = ["purged", "archived"];
    lines.push(line("purge", &last_run(facts.last_runs.purge.as_ref(), &purge)));
    lines.push(line("database", &database(&facts.database)));
    lines.push(line("table", &storage(&facts.database.storage)));
    lines.join("\n")
}

fn paused(pause: &ActivePause) -> String {
    let name = match pause.destination.as_str() {
        ALL_DESTINATIONS => "all destinations",
        name => name,
    };
    let reason = if pause.reason.is_empty() { "no reason given" } else { &pause.reason };
    format!("{name}, for {} by {}: {reason}", age_in_words(pause.seconds), pause.by)
}

/// The last run with these of its numbers.
fn last_run(run: Option<&LastRun>, numbers: &[&str]) -> String {
    let Some(run) = run else { return "has not run yet".to_owned() };
    let done = numbers.iter().map(|name| {
        let number = run.report.get(name).and_then(Value::as_u64);
        format!("{name} {}", number.map_or("?".to_owned(), |number| number.to_string()))
    });
    let done = done.collect::<Vec<_>>().join(", ");
    let end = run.error_code.as_ref().map_or(String::new(), |code| format!("failed with {code}; "));
    let (age, seconds) = (age_in_words(run.ended_seconds_ago), run.duration_seconds);
    format!("{age} ago, took {seconds:.1} s: {end}{done} ({})", run.run_by)
}

fn database(database: &DatabaseStatus) -> String {
    let writes = if database.takes_writes { "takes writes" } else { "takes no writes" };
    let transaction = match &database.oldest_transaction {
        None => "no open transaction".to_owned(),
        Some(open) => {
            let named = open.application_name.as_deref().filter(|name| !name.is_empty());
            format!(
                "oldest transaction {}, of {}, pid {}, {}",
                age_in_words(open.age_seconds),
                named.unwrap_or("an unnamed application"),
                open.pid,
                open.state.as_deref().unwrap_or("in an unknown state"),
            )
        }
    };
    let mut parts = vec![
        format!("outbox of version {}", database.schema_version),
        writes.to_owned(),
        transaction,
    ];
    if let Some(prepared) = &database.prepared_transaction {
        let age = age_in_words(prepared.age_seconds);
        parts.push(format!("oldest prepared transaction {age}, {}", prepared.name));
    }
    if let Some(slot) = &database.replication_slot {
        let n = slot.age_transactions;
        parts.push(format!("slot {} holds back {n} transactions", slot.name));
    }
    parts.join("; ")
}

fn storage(storage: &Storage) -> String {
    let Storage { live_rows, dead_rows, table_bytes, index_bytes, vacuumed_seconds_ago } = storage;
    let vacuumed = vacuumed_seconds_ago.map_or("not vacuumed yet".to_owned(), |seconds| {
        format!("vacuumed {} ago", age_in_words(seconds))
    });
    format!(
        "about {live_rows} rows in {}, {dead_rows} dead row versions, indexes {}; {vacuumed}",
        size(*table_bytes),
        size(*index_bytes)
    )
}

fn size(bytes: i64) -> String {
    match bytes {
        ..10_240 => format!("{bytes} B"),
        10_240..10_485_760 => format!("{} kB", bytes >> 10),
        10_485_760..10_737_418_240 => format!("{} MB", bytes >> 20),
        _ => format!("{} GB", bytes >> 30),
    }
}

/// `healthy`, or each problem with what to do next; then what is worth knowing.
fn verdict(status: &Status, paint: Paint) -> String {
    let mut lines = Vec::new();
    match status.problems.len() {
        0 => lines.push(paint.good("healthy")),
        1 => lines.push(paint.bad("not healthy: 1 problem")),
        n => lines.push(paint.bad(&format!("not healthy: {n} problems"))),
    }
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    for problem in &status.problems {
        let n_told = told.entry(problem.code).or_default();
        *n_told += 1;
        if *n_told <= MOST_ALIKE {
            lines.extend(item(problem, &paint.bad("-")));
        }
    }
    for (code, n_told) in told.into_iter().filter(|&(_, n_told)| n_told > MOST_ALIKE) {
        let n_more = n_told - MOST_ALIKE;
        lines.push(format!("  and {n_more} more of {code}; --output json has all"));
    }
    for note in &status.notes {
        lines.extend(item(note, &paint.to_note("note:")));
    }
    lines.extend(held_by_pause(status.facts.destinations.iter().map(|of| &of.backlog)));
    lines.join("\n")
}

/// The sentence, and below it the command, which is kept on one line to be copied.
fn item(problem: &Problem, bullet: &str) -> Vec<String> {
    let sentence = wrapped(&problem.text, WIDTH - 6);
    let mut lines: Vec<String> = sentence
        .iter()
        .enumerate()
        .map(|(n, line)| if n == 0 { format!("{bullet} {line}") } else { format!("  {line}") })
        .collect();
    let Some(next) = &problem.next else { return lines };
    let next = match next.split_once(": ") {
        Some((advice, command)) if next.chars().count() > WIDTH - 4 => {
            vec![plain(&format!("{advice}:")), plain(&format!("  {command}"))]
        }
        Some(_) => vec![plain(next)],
        None => wrapped(next, WIDTH - 4),
    };
    lines.extend(next.iter().map(|line| format!("    {line}")));
    lines
}

/// Lines of at most so many characters, broken between words, without what a terminal would obey.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in plain(text).split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_stops_short_is_marked_but_for_nothing_dead() {
        let cells = |dead, is_bounded| row("o".into(), [7, 0, 0, 1], (dead, None), is_bounded, 5.0);
        assert_eq!(cells(0, true), ["o", "7+", "0+", "0+", "1+", "0", "5 s"]);
        assert_eq!(cells(9, true)[5], "9+");
        assert_eq!(cells(9, false), ["o", "7", "0", "0", "1", "9", "5 s"]);
    }

    #[test]
    fn of_many_dead_the_most_are_shown() {
        let count = |n: i64| DeadCount {
            destination: format!("d{n}"),
            code: None,
            messages: n,
            oldest_dead_seconds: 1.0,
        };
        let text = most_dead(&(1..=20).map(count).collect::<Vec<_>>());
        assert!(text.contains("d20: no code") && !text.contains("d8: no code"), "{text}");
        assert!(text.ends_with("and 8 more; --output json has all"), "{text}");
    }

    #[test]
    fn a_long_sentence_is_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("incomprehensibilities", 7), ["incomprehensibilities"]);
        assert_eq!(wrapped("", 7), [""]);
    }

    #[test]
    fn a_size_has_a_unit_that_fits() {
        for (bytes, text) in
            [(0, "0 B"), (49_152, "48 kB"), (52_428_800, "50 MB"), (107_374_182_400, "100 GB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}

//! The verdict: what of the facts is a problem, and what to do next. Pure: no SQL, no clock.
//!
//! It is never healthy while a message has been due for longer than the limit, whatever else is the case.

use std::cmp::Ordering;

use outbox_store::{
    ALL_DESTINATIONS, ActivePause, DatabaseStatus, DeadCount, DestinationStatus, LastRun,
    OpenBreaker, SCHEMA_VERSION,
};
use serde::Serialize;

use super::Facts;
use crate::words::{age_in_words, for_a_shell, messages_in_words};

/// A due message is published within seconds; one that waits for minutes means that no relay runs, or that
/// its destination does not take it.
pub const OLDEST_DUE_LIMIT_SECONDS: f64 = 300.0;

/// A timer starts a relay each minute. What the latest run took is added: a long one leaves its row when it ends.
pub const RELAY_LIMIT_SECONDS: f64 = 600.0;

/// A purge runs each hour, or each day.
pub const PURGE_LIMIT_SECONDS: f64 = 2.0 * 86_400.0;

/// An outbox is vacuumed every few minutes. What a transaction holds back for an hour makes each claim and purge slower.
pub const TRANSACTION_LIMIT_SECONDS: f64 = 3_600.0;

/// A slot that nobody uses keeps what so many transactions have left.
pub const SLOT_LIMIT_TRANSACTIONS: i32 = 1_000_000;

/// Dead row versions of which autovacuum takes care; beside these, as many as there are rows.
const DEAD_ROWS_LIMIT: i64 = 100_000;

/// What somebody has to look at, or may like to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The kind of problem, as a label of few values.
    pub code: &'static str,
    /// One sentence.
    pub text: String,
    /// What to do next: a command, of a shell or of SQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The problems, those of all destinations first, and the notes.
pub(super) fn verdict(facts: &Facts, oldest_due_limit: f64) -> (Vec<Problem>, Vec<Problem>) {
    let Facts { destinations, database, last_runs, .. } = facts;
    let (mut problems, mut notes) = (Vec::new(), Vec::new());
    problems.extend(read_only(database));
    judge_relay(last_runs.relay.as_ref(), destinations, &mut problems, &mut notes);
    problems.extend(pause_of_all(facts, oldest_due_limit));
    for destination in destinations {
        problems.extend(waiting(destination, facts, oldest_due_limit));
    }
    // A breaker may be open, or somebody have paused it, where nothing waits any more.
    problems.extend(facts.breakers.iter().map(breaker));
    problems.extend(breakers_without_state(facts));
    problems.extend(destinations.iter().filter_map(held_groups));
    problems.extend(destinations.iter().filter_map(dead));
    judge_purge(last_runs.purge.as_ref(), database, &mut problems, &mut notes);
    problems.extend(open_transaction(database));
    problems.extend(prepared_transaction(database));
    problems.extend(replication_slot(database));
    notes.extend(notes_on_the_database(database));
    notes.extend(bounded(destinations));
    (problems, notes)
}

fn problem(code: &'static str, text: impl Into<String>, next: impl Into<String>) -> Problem {
    Problem { code, text: text.into(), next: Some(next.into()) }
}

fn note(code: &'static str, text: impl Into<String>) -> Problem {
    Problem { code, text: text.into(), next: None }
}

/// Whether an age is over its limit. What is no number is: nobody knows that all is well.
fn exceeds(age: f64, limit: f64) -> bool {
    !matches!(age.partial_cmp(&limit), Some(Ordering::Less | Ordering::Equal))
}

fn read_only(database: &DatabaseStatus) -> Option<Problem> {
    (!database.takes_writes).then(|| {
        problem(
            "read_only",
            "the database takes no writes, so nothing is claimed, marked or purged: it is a \
             replica, or set read-only",
            "set OUTBOX_DATABASE_URL to the primary, or look at SHOW default_transaction_read_only",
        )
    })
}

const START_A_RELAY: &str =
    "look at the relay's timer and its log; by hand: outbox relay --until-drained";

fn judge_relay(
    last: Option<&LastRun>,
    destinations: &[DestinationStatus],
    problems: &mut Vec<Problem>,
    notes: &mut Vec<Problem>,
) {
    let Some(last) = last else {
        let waiting = destinations.iter().map(|of| of.oldest_waiting_seconds).fold(0.0, f64::max);
        if exceeds(waiting, RELAY_LIMIT_SECONDS) {
            let age = age_in_words(waiting);
            let text = format!("no relay has run yet, and a message was enqueued {age} ago");
            problems.push(problem("relay_not_running", text, START_A_RELAY));
        } else {
            notes.push(note("relay_not_running", "no relay has run yet"));
        }
        return;
    };
    if exceeds(last.ended_seconds_ago, RELAY_LIMIT_SECONDS + last.duration_seconds) {
        let age = age_in_words(last.ended_seconds_ago);
        let text = format!("no relay has run for {age}");
        problems.push(problem("relay_not_running", text, START_A_RELAY));
    }
    if let Some(code) = &last.error_code {
        let age = age_in_words(last.ended_seconds_ago);
        let text = format!("the relay's last run, {age} ago, failed with {code}");
        problems.push(problem("relay_failed", text, "outbox doctor"));
    }
}

/// One sentence for all destinations that nothing but the pause of all keeps.
fn pause_of_all(facts: &Facts, limit: f64) -> Option<Problem> {
    let pause = pause_of(facts, ALL_DESTINATIONS)?;
    let late = facts.destinations.iter().filter(|of| {
        exceeds(of.backlog.oldest_due_seconds, limit)
            && pause_of(facts, &of.backlog.destination).is_none()
    });
    let names: Vec<&str> = late.clone().map(|of| of.backlog.destination.as_str()).collect();
    let oldest = late.map(|of| of.backlog.oldest_due_seconds).fold(0.0, f64::max);
    let (by, age) = (who_and_why(pause), age_in_words(oldest));
    (!names.is_empty()).then(|| {
        problem(
            "paused",
            format!("all is paused {by}; due for {age}: {}", names.join(", ")),
            "outbox resume --reason \"...\"",
        )
    })
}

/// What is due for too long, and why. For each destination over the limit that the pause of all does not explain, there is
/// a sentence.
fn waiting(of: &DestinationStatus, facts: &Facts, limit: f64) -> Option<Problem> {
    let (name, seconds) = (&of.backlog.destination, of.backlog.oldest_due_seconds);
    if !exceeds(seconds, limit) {
        return of.age_is_bounded.then(|| too_many(name));
    }
    let (age, arg) = (age_in_words(seconds), for_a_shell(name));
    if let Some(pause) = pause_of(facts, name) {
        let text = format!("{name} is paused {}; due for {age}", who_and_why(pause));
        return Some(problem("paused", text, format!("outbox resume {arg} --reason \"...\"")));
    }
    if pause_of(facts, ALL_DESTINATIONS).is_some() {
        return None;
    }
    let why = if of.backlog.breaker_open {
        "its breaker is open"
    } else if of.backlog.held_groups > 0 {
        "it is not paused, but groups of it are held"
    } else {
        "it is not paused, and its breaker is closed"
    };
    Some(problem("due_too_long", format!("{name}: due for {age}; {why}"), "outbox doctor"))
}

/// Of so many the oldest is not known, and it may have waited for longer than the limit.
fn too_many(name: &str) -> Problem {
    problem(
        "too_many_due",
        format!(
            "{name}: more messages wait than are looked at, and the oldest may have waited for long"
        ),
        "SELECT * FROM outbox.backlog tells, and takes its time".to_owned(),
    )
}

fn pause_of<'a>(facts: &'a Facts, name: &str) -> Option<&'a ActivePause> {
    facts.pauses.iter().find(|pause| pause.destination == name)
}

/// `for 2 h 0 min by ada@host (queue is repaired)`.
fn who_and_why(pause: &ActivePause) -> String {
    let reason = if pause.reason.is_empty() { "no reason given" } else { &pause.reason };
    format!("for {} by {} ({reason})", age_in_words(pause.seconds), pause.by)
}

fn breaker(breaker: &OpenBreaker) -> Problem {
    let OpenBreaker { destination, seconds, probe_in_seconds, .. } = breaker;
    let code = breaker.error_code.as_deref().unwrap_or("an unknown code");
    let probe = if *probe_in_seconds > 0.0 {
        format!("in {}", age_in_words(*probe_in_seconds))
    } else {
        "right now".to_owned()
    };
    let age = age_in_words(*seconds);
    breaker_open(
        destination,
        &format!(" for {age}: requests fail with {code}, and the next is tried {probe}"),
    )
}

/// It was opened between one look and the other.
fn breakers_without_state(facts: &Facts) -> impl Iterator<Item = Problem> {
    let known = |name: &str| facts.breakers.iter().any(|open| open.destination == name);
    let open = facts.destinations.iter().filter(|of| of.backlog.breaker_open);
    let unknown = open.filter(move |of| !known(&of.backlog.destination));
    unknown.map(|of| breaker_open(&of.backlog.destination, ""))
}

fn breaker_open(name: &str, more: &str) -> Problem {
    let arg = for_a_shell(name);
    problem(
        "breaker_open",
        format!("breaker open for {name}{more}"),
        format!("once repaired it closes by itself; at once: outbox resume {arg} --reason \"...\""),
    )
}

fn held_groups(of: &DestinationStatus) -> Option<Problem> {
    let (n_groups, n_held, name) =
        (of.backlog.held_groups, of.backlog.held, &of.backlog.destination);
    if n_groups == 0 {
        return None;
    }
    let groups = if n_groups == 1 { "group" } else { "groups" };
    let behind = messages_in_words(n_held.unsigned_abs());
    let arg = for_a_shell(name);
    let group = of.held_group.as_deref().map_or("GROUP".to_owned(), for_a_shell);
    Some(problem(
        "groups_held",
        format!("held by a dead message: {n_groups} {groups} with {behind} behind, for {name}"),
        format!(
            "redrive it, or go on without: outbox resume {arg} --group {group} --reason \"...\""
        ),
    ))
}

fn dead(of: &DestinationStatus) -> Option<Problem> {
    let name = &of.backlog.destination;
    let codes = of.dead_letters.iter().map(|DeadCount { code, messages, .. }| {
        format!("{messages} {}", code.as_deref().unwrap_or("without a code"))
    });
    let codes: Vec<String> = codes.take(5).collect();
    let more = if of.dead_letters.len() > codes.len() { ", ..." } else { "" };
    let messages = messages_in_words(of.backlog.dead.unsigned_abs());
    (of.backlog.dead > 0).then(|| {
        let codes =
            if codes.is_empty() { String::new() } else { format!(": {}{more}", codes.join(", ")) };
        problem(
            "dead",
            format!("{messages} dead for {name}{codes}"),
            format!(
                "outbox list --status dead and outbox show ID tell why; then: outbox redrive --destination {name} --reason \"...\"",
                name = for_a_shell(name)
            ),
        )
    })
}

fn judge_purge(
    last: Option<&LastRun>,
    database: &DatabaseStatus,
    problems: &mut Vec<Problem>,
    notes: &mut Vec<Problem>,
) {
    let Some(last) = last else {
        if database.storage.live_rows > 0 {
            notes.push(note("purge_not_running", "no purge has run yet"));
        }
        return;
    };
    let age = age_in_words(last.ended_seconds_ago);
    if let Some(code) = &last.error_code {
        let text = format!("the purge's last run, {age} ago, failed with {code}");
        problems.push(problem("purge_failed", text, "outbox purge"));
    } else if exceeds(last.ended_seconds_ago, PURGE_LIMIT_SECONDS) {
        notes.push(note("purge_not_running", format!("no purge has run for {age}")));
    }
}

fn open_transaction(database: &DatabaseStatus) -> Option<Problem> {
    let open = database.oldest_transaction.as_ref()?;
    let state = open.state.as_deref().unwrap_or("in an unknown state");
    let application = match open.application_name.as_deref() {
        None | Some("") => "an unnamed application",
        Some(name) => name,
    };
    let (age, pid) = (age_in_words(open.age_seconds), open.pid);
    exceeds(open.age_seconds, TRANSACTION_LIMIT_SECONDS).then(|| {
        problem(
            "old_transaction",
            format!(
                "a transaction has been open for {age} ({application}, {state}): vacuum removes \
                 nothing that it might still see"
            ),
            format!("end it where it was begun, or: SELECT pg_terminate_backend({pid})"),
        )
    })
}

fn prepared_transaction(database: &DatabaseStatus) -> Option<Problem> {
    let prepared = database.prepared_transaction.as_ref()?;
    exceeds(prepared.age_seconds, TRANSACTION_LIMIT_SECONDS).then(|| {
        let (name, age) = (&prepared.name, age_in_words(prepared.age_seconds));
        problem(
            "old_prepared_transaction",
            format!("the transaction {name} was prepared {age} ago and never ended"),
            format!(
                "COMMIT PREPARED or ROLLBACK PREPARED '{}', as its coordinator says",
                name.replace('\'', "''")
            ),
        )
    })
}

fn replication_slot(database: &DatabaseStatus) -> Option<Problem> {
    let slot = database.replication_slot.as_ref()?;
    let (name, n) = (&slot.name, slot.age_transactions);
    (!slot.in_use && n > SLOT_LIMIT_TRANSACTIONS).then(|| {
        problem(
            "unused_slot",
            format!("the replication slot {name}, which nobody uses, holds back vacuum by {n} transactions"),
            format!("start its consumer, or: SELECT pg_drop_replication_slot('{name}')"),
        )
    })
}

fn notes_on_the_database(database: &DatabaseStatus) -> Vec<Problem> {
    let mut notes = Vec::new();
    let DatabaseStatus { hidden_sessions, storage, schema_version, .. } = database;
    if *hidden_sessions > 0 {
        let sessions = if *hidden_sessions == 1 { "session" } else { "sessions" };
        notes.push(Problem {
            code: "hidden_sessions",
            text: format!(
                "{hidden_sessions} {sessions} of this database are hidden from the schema's owner, \
                 and so is the age of their transactions"
            ),
            next: Some("GRANT pg_read_all_stats TO the owner of the schema".to_owned()),
        });
    }
    if storage.dead_rows > DEAD_ROWS_LIMIT.max(storage.live_rows) {
        let n_dead = storage.dead_rows;
        notes.push(Problem {
            code: "dead_row_versions",
            text: format!("vacuum does not keep up: {n_dead} dead row versions"),
            next: Some("VACUUM outbox.message, when no old transaction holds it back".to_owned()),
        });
    }
    if *schema_version > SCHEMA_VERSION {
        let text = format!(
            "the outbox has version {schema_version}, and this program knows {SCHEMA_VERSION}: deploy the newer one"
        );
        notes.push(note("newer_schema", text));
    }
    notes
}

fn bounded(destinations: &[DestinationStatus]) -> Option<Problem> {
    destinations.iter().any(|of| of.is_bounded).then(|| {
        note("bounded", "a + marks counts that stop short; the view outbox.backlog counts all")
    })
}

#[cfg(test)]
pub(super) mod tests;

//! `outbox status`

use outbox_admin::{OLDEST_DUE_LIMIT_SECONDS, Status};
use outbox_lambda::Program;
use outbox_store::{Backlog, DeadCount};

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Output, messages, table};

pub(crate) async fn run(output: Output) -> Result<Exit, Failure> {
    let context = Context::quiet(Program::CommandLine)?;
    let status =
        outbox_admin::status(&context.store()?).await.map_err(|error| context.failure(error))?;
    output.show_list(&status, &status.destinations, || text(&status))?;
    Ok(if status.healthy { Exit::Ok } else { Exit::Problem })
}

fn text(status: &Status) -> String {
    if status.destinations.is_empty() {
        return "nothing waits and nothing is dead".to_owned();
    }
    let row = |name: String, counts: [i64; 5], oldest_due_seconds: f64| {
        let counts = counts.map(|count| count.to_string());
        [name].into_iter().chain(counts).chain([age(oldest_due_seconds)]).collect()
    };
    let of_destination = |d: &Backlog| {
        let mark = match (d.paused, d.breaker_open) {
            (true, _) => " (paused)",
            (false, true) => " (breaker)",
            (false, false) => "",
        };
        let counts = [d.due, d.retrying, d.scheduled, d.claimed, d.dead];
        row(format!("{}{mark}", d.destination), counts, d.oldest_due_seconds)
    };
    let mut rows: Vec<Vec<String>> = status.destinations.iter().map(of_destination).collect();
    if rows.len() > 1 {
        let Status { due, retrying, scheduled, claimed, dead, oldest_due_seconds, .. } = *status;
        let counts = [due, retrying, scheduled, claimed, dead];
        rows.push(row("total".to_owned(), counts, oldest_due_seconds));
    }
    let header = ["destination", "due", "retrying", "scheduled", "claimed", "dead", "oldest due"];
    let mut text = table(&header, rows) + "\n";
    if !status.dead_letters.is_empty() {
        text = text + "\n" + &dead_by_code(&status.dead_letters) + "\n\n";
    }
    text + &verdict(status)
}

/// The dead messages by destination and code.
pub(crate) fn dead_by_code(dead: &[DeadCount]) -> String {
    let rows = dead.iter().map(|count| {
        let code = count.code.as_deref().unwrap_or("no code");
        let name = format!("{}: {code}", count.destination);
        vec![name, count.messages.to_string(), age(count.oldest_dead_seconds)]
    });
    table(&["dead", "messages", "oldest"], rows)
}

/// What a person should look at, if anything.
fn verdict(status: &Status) -> String {
    let mut lines = Vec::new();
    if status.dead > 0 {
        let n_dead = status.dead;
        lines.push(format!(
            "{n_dead} dead: outbox.dead_letter has the reason, then redrive or discard"
        ));
    }
    lines.extend(held_by_the_dead(status));
    lines.extend(breakers_open(&status.destinations));
    let unpaused = status.destinations.iter().filter(|backlog| !backlog.paused);
    let oldest = unpaused.map(|backlog| backlog.oldest_due_seconds).fold(0.0, f64::max);
    if oldest > OLDEST_DUE_LIMIT_SECONDS {
        let age = age(oldest);
        lines.push(format!("due for {age}: does a relay run, and does the destination answer it?"));
    }
    lines.extend(held_by_pause(&status.destinations));
    lines.join("\n")
}

/// Which groups wait for a person, and what he can do.
fn held_by_the_dead(status: &Status) -> Option<String> {
    let Status { held_groups, held, .. } = *status;
    let names = names(&status.destinations, |backlog| backlog.held_groups > 0);
    let groups = if held_groups == 1 { "group" } else { "groups" };
    let behind = messages(held.unsigned_abs());
    (held_groups > 0).then(|| {
        format!(
            "held by a dead message: {held_groups} {groups} with {behind} behind, for {names}\n  \
             redrive or discard it, or go on without: outbox resume NAME --group GROUP"
        )
    })
}

/// Which destinations' requests fail.
fn breakers_open(backlog: &[Backlog]) -> Option<String> {
    let names = names(backlog, |backlog| backlog.breaker_open);
    (!names.is_empty()).then(|| {
        format!(
            "breaker open for {names}: requests fail, and one is tried each minute or sooner\n  \
             once repaired it closes by itself; at once: outbox resume NAME"
        )
    })
}

fn names(backlog: &[Backlog], is_meant: impl Fn(&Backlog) -> bool) -> String {
    let meant = backlog.iter().filter(|backlog| is_meant(backlog));
    meant.map(|backlog| backlog.destination.as_str()).collect::<Vec<_>>().join(", ")
}

/// How much would be sent, or tried again, but for a pause; `None` if there is nothing.
pub(crate) fn held_by_pause(backlog: &[Backlog]) -> Option<String> {
    let held = |backlog: &Backlog| if backlog.paused { backlog.due + backlog.retrying } else { 0 };
    let n_held: i64 = backlog.iter().map(held).sum();
    let names = names(backlog, |backlog| held(backlog) > 0);
    let messages = messages(n_held.unsigned_abs());
    (n_held > 0).then(|| format!("held by a pause: {messages} for {names}"))
}

/// Two units are as much as a person wants to know.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an age in seconds")]
pub(crate) fn age(seconds: f64) -> String {
    match seconds.max(0.0) as u64 {
        0 if seconds <= 0.0 => "-".to_owned(),
        s @ 0..60 => format!("{s} s"),
        s @ 60..3_600 => format!("{} min {} s", s / 60, s % 60),
        s @ 3_600..86_400 => format!("{} h {} min", s / 3_600, s % 3_600 / 60),
        s => format!("{} d {} h", s / 86_400, s % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_at_most_two_units() {
        for (seconds, text) in [
            (0.0, "-"),
            (0.4, "0 s"),
            (59.9, "59 s"),
            (60.0, "1 min 0 s"),
            (3_725.0, "1 h 2 min"),
            (90_000.0, "1 d 1 h"),
        ] {
            assert_eq!(age(seconds), text);
        }
    }
}

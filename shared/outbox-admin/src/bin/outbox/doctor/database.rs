//! What is found of the database: the server, the role, and what waits.

use std::ops::RangeInclusive;
use std::time::Duration;

use outbox::Destinations;
use outbox_store::{Backlog, Examination, SCHEMA_VERSION};

use crate::output::messages;

use super::finding::Finding;

/// Clocks that are set over the network are closer than this.
const CLOCKS_AGREE_WITHIN: Duration = Duration::from_secs(5);

/// What the server and the role are like. `here` is this machine's clock when it asked and when it was answered;
/// the server read its own between.
pub(super) fn judge_server(
    examination: &Examination,
    here: RangeInclusive<Duration>,
) -> Vec<Finding> {
    let Examination { server_version, encoding, database, role, .. } = examination;
    let mut findings = vec![Finding::ok(
        "database",
        format!(
            "{database} is reached as {role}; PostgreSQL {server_version}, encoding {encoding}"
        ),
    )];
    if encoding != "UTF8" {
        findings.push(Finding::problem(
            "database",
            format!(
                "its encoding is {encoding}, in which one message could stop all others: move the \
                 outbox to a database of encoding UTF8"
            ),
        ));
    }
    if !examination.takes_writes {
        findings.push(Finding::problem(
            "database",
            "it takes no writes, so nothing can be claimed: set OUTBOX_DATABASE_URL to the primary",
        ));
    }
    if !examination.missing_rights.is_empty() {
        let missing = examination.missing_rights.join(", ");
        findings.push(Finding::problem(
            "role",
            format!(
                "{role} can't do a relay's work, it lacks {missing}: GRANT outbox_relay TO \
                 {role}, or run this with the relay's settings"
            ),
        ));
    }
    findings.push(clock(&here, examination.clock));
    findings
}

/// For information: no time of this machine is compared with one of the database.
fn clock(here: &RangeInclusive<Duration>, there: Duration) -> Finding {
    let ahead = here.start().saturating_sub(there);
    let behind = there.saturating_sub(*here.end());
    let apart = ahead.max(behind);
    if apart < CLOCKS_AGREE_WITHIN {
        return Finding::ok("clock", "this machine's agrees with the database's");
    }
    let which = if ahead > behind { "ahead of" } else { "behind" };
    let seconds = apart.as_secs_f64();
    Finding::note(
        "clock",
        format!(
            "this machine's is {seconds:.1} s {which} the database's: the outbox does not mind, \
             but AWS refuses signatures of a clock that is 5 minutes off"
        ),
    )
}

/// The outbox has the version that this program knows.
pub(super) fn outbox_is_there() -> Finding {
    Finding::ok("outbox", format!("it has version {SCHEMA_VERSION}, as this program needs"))
}

/// Destinations of messages that the settings do not know.
pub(super) fn judge_backlog(backlog: &[Backlog], known: &Destinations) -> Vec<Finding> {
    let unknown = backlog.iter().filter(|waiting| known.get(&waiting.destination).is_none());
    let findings = unknown.filter_map(|unknown| {
        let Backlog { destination, due, retrying, scheduled, claimed, dead, .. } = unknown;
        let subject = format!("destination {destination}");
        let n_waiting = (due + retrying + scheduled + claimed).unsigned_abs();
        if n_waiting > 0 {
            let advice = format!(
                "OUTBOX_DESTINATIONS does not have it, and {} would die with no_route: add it \
                 before a relay runs, or `outbox pause {destination}`",
                messages(n_waiting)
            );
            Some(Finding::problem(subject, advice))
        } else if *dead > 0 {
            let advice = format!(
                "OUTBOX_DESTINATIONS does not have it, and has {} dead: add it before a redrive",
                messages(dead.unsigned_abs())
            );
            Some(Finding::note(subject, advice))
        } else {
            None
        }
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use outbox::{Destination, Target};

    use super::super::finding::Severity::{self, Note, Ok, Problem};
    use super::*;

    const NOON: Duration = Duration::from_hours(498_900);

    fn healthy() -> Examination {
        Examination {
            server_version: "15.18".into(),
            encoding: "UTF8".into(),
            database: "shop".into(),
            role: "relay_login".into(),
            takes_writes: true,
            clock: NOON,
            missing_rights: Vec::new(),
        }
    }

    fn severities(findings: &[Finding]) -> Vec<Severity> {
        findings.iter().map(|finding| finding.severity).collect()
    }

    #[test]
    fn a_healthy_server_has_no_problem() {
        assert_eq!(severities(&judge_server(&healthy(), NOON..=NOON)), [Ok, Ok]);
    }

    #[test]
    fn what_would_stop_a_relay_is_a_problem_that_says_what_to_do() {
        for (sick, named) in [
            (Examination { encoding: "LATIN1".into(), ..healthy() }, "encoding UTF8"),
            (Examination { takes_writes: false, ..healthy() }, "the primary"),
            (
                Examination { missing_rights: vec!["SELECT on message".into()], ..healthy() },
                "GRANT outbox_relay TO relay_login",
            ),
        ] {
            let findings = judge_server(&sick, NOON..=NOON);
            assert_eq!(severities(&findings), [Ok, Problem, Ok]);
            assert!(findings[1].advice.contains(named), "{:?}", findings[1]);
        }
    }

    /// Case P09: it is told, and it is no problem.
    #[test]
    fn a_clock_that_is_off_is_a_note_with_its_direction() {
        let minutes = Duration::from_mins(10);
        for (here, severity, said) in [
            (NOON..=NOON + minutes, Ok, "agrees"),
            (NOON.saturating_sub(minutes)..=NOON, Ok, "agrees"),
            (NOON + minutes..=NOON + 2 * minutes, Note, "600.0 s ahead of"),
            (Duration::ZERO..=NOON.saturating_sub(minutes), Note, "600.0 s behind"),
        ] {
            let finding = judge_server(&healthy(), here).pop().unwrap();
            assert_eq!(finding.severity, severity);
            assert!(finding.advice.contains(said), "{finding:?}");
        }
    }

    #[test]
    fn messages_for_an_unknown_destination_are_a_problem_and_dead_ones_a_note() {
        let backlog = |destination: &str, [due, scheduled, dead]: [i64; 3]| Backlog {
            destination: destination.into(),
            due,
            retrying: 0,
            scheduled,
            claimed: 0,
            dead,
            oldest_due_seconds: 0.0,
            paused: false,
            breaker_open: false,
            held_groups: 0,
            held: 0,
        };
        let target = Target::parse("arn:aws:sqs:eu-west-1:1:orders").unwrap();
        let known: Destinations = [Destination::new("orders", target)].into_iter().collect();
        let waiting = [
            backlog("orders", [7, 0, 1]),
            backlog("fax", [1, 1, 5]),
            backlog("letters", [0, 0, 1]),
        ];
        let findings = judge_backlog(&waiting, &known);
        assert_eq!(severities(&findings), [Problem, Note]);
        assert_eq!(findings[0].subject, "destination fax");
        assert!(findings[0].advice.contains("2 messages would die"), "{findings:?}");
    }
}

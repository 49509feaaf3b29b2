//! What is found of the server: the database, the clock, and the version of the outbox.

use std::ops::RangeInclusive;
use std::time::Duration;

use outbox_store::{Error, Examination, SCHEMA_VERSION};

use super::finding::Finding;

/// Clocks that are set over the network are closer than this.
const CLOCKS_AGREE_WITHIN: Duration = Duration::from_secs(5);

/// What the server is like. `here` is this machine's clock when it asked and when it was answered;
/// the server read its own between.
pub(super) fn judge(examination: &Examination, here: RangeInclusive<Duration>) -> Vec<Finding> {
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

/// Whether a pooler hands out the server's connections. A login may have no second connection to find out by.
pub(super) fn judge_pooler(is_pooled: &Result<bool, Error>) -> Finding {
    match is_pooled {
        Ok(true) => Finding::ok(
            "pooler",
            "a transaction pooler is between, through which every program works but `outbox \
             migrate`",
        ),
        Ok(false) => Finding::ok(
            "pooler",
            "no transaction pooler was seen: a connection kept its process of the server",
        ),
        Err(error) => {
            let code = error.code();
            Finding::note(
                "pooler",
                format!(
                    "two connections at once, as a function has them, were not to be had ({code}): \
                     raise the login's CONNECTION LIMIT, or the server's max_connections"
                ),
            )
        }
    }
}

#[cfg(test)]
mod tests {
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
            member_of: Vec::new(),
        }
    }

    fn severities(findings: &[Finding]) -> Vec<Severity> {
        findings.iter().map(|finding| finding.severity).collect()
    }

    #[test]
    fn a_healthy_server_has_no_problem() {
        assert_eq!(severities(&judge(&healthy(), NOON..=NOON)), [Ok, Ok]);
    }

    #[test]
    fn what_would_stop_a_relay_is_a_problem_that_says_what_to_do() {
        for (sick, named) in [
            (Examination { encoding: "LATIN1".into(), ..healthy() }, "encoding UTF8"),
            (Examination { takes_writes: false, ..healthy() }, "the primary"),
        ] {
            let findings = judge(&sick, NOON..=NOON);
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
            let finding = judge(&healthy(), here).pop().unwrap();
            assert_eq!(finding.severity, severity);
            assert!(finding.advice.contains(said), "{finding:?}");
        }
    }
}

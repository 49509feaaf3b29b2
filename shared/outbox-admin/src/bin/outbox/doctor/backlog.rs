//! What is found of the backlog: destinations of messages that the settings do not know.

use outbox::Destinations;
use outbox_admin::{Finding, for_a_shell};
use outbox_store::Backlog;

use crate::output::messages;

/// Destinations of messages that the settings do not know.
pub(super) fn judge(backlog: &[Backlog], known: &Destinations) -> Vec<Finding> {
    let unknown = backlog.iter().filter(|waiting| known.get(&waiting.destination).is_none());
    let findings = unknown.filter_map(|unknown| {
        let Backlog { destination, due, retrying, scheduled, claimed, dead, .. } = unknown;
        let subject = format!("destination {destination}");
        let n_waiting = (due + retrying + scheduled + claimed).unsigned_abs();
        if n_waiting > 0 {
            let advice = format!(
                "OUTBOX_DESTINATIONS does not have it, and {} would die with no_route: add it \
                 before a relay runs, or `outbox pause {}`",
                messages(n_waiting),
                for_a_shell(destination)
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
    use outbox_admin::Severity::{Note, Problem};

    use super::*;

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
        let findings = judge(&waiting, &known);
        let severities: Vec<_> = findings.iter().map(|finding| finding.severity).collect();
        assert_eq!(severities, [Problem, Note]);
        assert_eq!(findings[0].subject, "destination fax");
        assert!(findings[0].advice.contains("2 messages would die"), "{findings:?}");
    }
}

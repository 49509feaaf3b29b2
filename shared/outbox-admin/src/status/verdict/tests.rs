use outbox_store::{
    Backlog, DestinationStatus, LastRuns, OpenTransaction, PreparedTransaction, SlotHorizon,
    Storage,
};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A destination without anything.
pub(in crate::status) fn destination(name: &str) -> DestinationStatus {
    DestinationStatus {
        backlog: Backlog {
            destination: name.to_owned(),
            due: 0,
            retrying: 0,
            scheduled: 0,
            claimed: 0,
            dead: 0,
            oldest_due_seconds: 0.0,
            paused: false,
            breaker_open: false,
            held_groups: 0,
            held: 0,
        },
        is_bounded: false,
        age_is_bounded: false,
        oldest_waiting_seconds: 0.0,
        held_group: None,
        dead_letters: Vec::new(),
    }
}

fn ran(ended_seconds_ago: f64) -> LastRun {
    LastRun {
        run_by: "relay/1f3a9c2e".to_owned(),
        ended_at: "2026-11-30T18:00:00Z".to_owned(),
        ended_seconds_ago,
        duration_seconds: 0.5,
        error_code: None,
        report: json!({}),
    }
}

/// A relay ran half a minute ago, a purge half an hour ago, and nothing waits.
pub(in crate::status) fn healthy() -> Facts {
    Facts {
        destinations: Vec::new(),
        pauses: Vec::new(),
        breakers: Vec::new(),
        last_runs: LastRuns { relay: Some(ran(30.0)), purge: Some(ran(1_800.0)) },
        database: DatabaseStatus {
            takes_writes: true,
            schema_version: SCHEMA_VERSION,
            oldest_transaction: None,
            hidden_sessions: 0,
            prepared_transaction: None,
            replication_slot: None,
            storage: Storage::default(),
        },
    }
}

fn paused(name: &str) -> ActivePause {
    ActivePause {
        destination: name.to_owned(),
        since: "2026-11-30T18:00:00Z".to_owned(),
        seconds: 7_200.0,
        by: "ada@host".to_owned(),
        reason: "repair".to_owned(),
    }
}

fn open(name: &str) -> OpenBreaker {
    OpenBreaker {
        destination: name.to_owned(),
        since: "2026-11-30T18:00:00Z".to_owned(),
        seconds: 90.0,
        error_code: Some("AccessDenied".to_owned()),
        failed_probes: 2,
        probe_in_seconds: 12.0,
    }
}

/// A destination with a message that has been due for ten minutes.
fn late(name: &str) -> DestinationStatus {
    let mut late = destination(name);
    (late.backlog.due, late.backlog.oldest_due_seconds) = (1, 600.0);
    late.oldest_waiting_seconds = 600.0;
    late
}

/// The facts of a healthy outbox, but for this.
fn but(change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = healthy();
    change(&mut facts);
    facts
}

fn codes(of: &[Problem]) -> Vec<&'static str> {
    of.iter().map(|problem| problem.code).collect()
}

/// The problems of each state, by their codes; each says what to do, and one of them so.
fn check(states: Vec<(Facts, &[&str], &str)>) {
    for (facts, expected, next) in states {
        let (problems, _) = verdict(&facts, OLDEST_DUE_LIMIT_SECONDS);
        assert_eq!(codes(&problems), expected, "{facts:?}");
        let nexts: Vec<&str> = problems.iter().filter_map(|p| p.next.as_deref()).collect();
        assert_eq!(nexts.len(), problems.len(), "each says what to do: {problems:?}");
        assert!(next.is_empty() || nexts.iter().any(|n| n.contains(next)), "{problems:?}");
    }
}

#[test]
fn what_waits_for_too_long_is_told_with_what_keeps_it() {
    check(vec![
        (healthy(), &[], ""),
        (
            but(|f| {
                let mut later = destination("orders");
                (later.backlog.scheduled, later.oldest_waiting_seconds) = (5, 86_400.0);
                f.destinations.push(later);
            }),
            &[],
            "",
        ),
        (but(|f| f.destinations.push(late("orders"))), &["due_too_long"], "outbox doctor"),
        (but(|f| f.pauses.push(paused("orders"))), &[], ""),
        (
            but(|f| {
                f.pauses.push(paused("orders"));
                f.destinations.push(late("orders"));
            }),
            &["paused"],
            "outbox resume orders --reason \"...\"",
        ),
        (
            but(|f| {
                f.pauses.push(paused("*"));
                f.destinations.extend([late("events"), late("orders")]);
            }),
            &["paused"],
            "outbox resume --reason \"...\"",
        ),
        (
            but(|f| {
                f.pauses.extend([paused("*"), paused("orders")]);
                f.destinations.extend([late("events"), late("orders")]);
            }),
            &["paused", "paused"],
            "outbox resume orders --reason \"...\"",
        ),
    ]);
}

#[test]
fn what_waits_for_a_person_is_told_with_the_command_that_ends_it() {
    check(vec![
        (
            but(|f| f.breakers.push(open("orders"))),
            &["breaker_open"],
            "outbox resume orders --reason \"...\"",
        ),
        (
            but(|f| {
                let mut held = destination("orders");
                (held.backlog.held_groups, held.backlog.held) = (1, 2);
                held.held_group = Some("customer 7".to_owned());
                f.destinations.push(held);
            }),
            &["groups_held"],
            "outbox resume orders --group 'customer 7' --reason \"...\"",
        ),
        (
            but(|f| {
                let mut with_dead = destination("orders");
                with_dead.backlog.dead = 3;
                f.destinations.push(with_dead);
            }),
            &["dead"],
            "outbox redrive --destination orders --reason \"...\"",
        ),
    ]);
}

#[test]
fn a_function_that_does_not_run_or_fails_is_told() {
    check(vec![
        (
            but(|f| f.last_runs.relay = Some(ran(601.0))),
            &["relay_not_running"],
            "outbox relay --until-drained",
        ),
        (but(|f| f.last_runs.relay = Some(ran(600.0))), &[], ""),
        (
            but(|f| {
                f.last_runs.relay = Some(LastRun { duration_seconds: 840.0, ..ran(900.0) });
            }),
            &[],
            "",
        ),
        (
            but(|f| {
                let failed = LastRun { error_code: Some("42501".to_owned()), ..ran(5.0) };
                f.last_runs.relay = Some(failed);
            }),
            &["relay_failed"],
            "outbox doctor",
        ),
        (
            but(|f| {
                f.last_runs.relay = None;
                f.destinations.push(late("orders"));
                f.destinations[0].oldest_waiting_seconds = 601.0;
            }),
            &["relay_not_running", "due_too_long"],
            "outbox relay --until-drained",
        ),
        (
            but(|f| {
                let failed = LastRun { error_code: Some("AccessDenied".to_owned()), ..ran(5.0) };
                f.last_runs.purge = Some(failed);
            }),
            &["purge_failed"],
            "outbox purge",
        ),
    ]);
}

#[test]
fn a_database_that_holds_up_the_outbox_is_told() {
    let transaction = |age_seconds| OpenTransaction {
        age_seconds,
        pid: 4711,
        state: Some("idle in transaction".to_owned()),
        application_name: Some("psql".to_owned()),
    };
    check(vec![
        (but(|f| f.database.takes_writes = false), &["read_only"], "OUTBOX_DATABASE_URL"),
        (but(|f| f.database.oldest_transaction = Some(transaction(3_600.0))), &[], ""),
        (
            but(|f| f.database.oldest_transaction = Some(transaction(7_200.0))),
            &["old_transaction"],
            "SELECT pg_terminate_backend(4711)",
        ),
        (
            but(|f| {
                let (name, age_seconds) = ("order's".to_owned(), 7_200.0);
                f.database.prepared_transaction = Some(PreparedTransaction { name, age_seconds });
            }),
            &["old_prepared_transaction"],
            "ROLLBACK PREPARED 'order''s'",
        ),
        (
            but(|f| {
                let (name, age_transactions) = ("replica".to_owned(), 2_000_000);
                f.database.replication_slot =
                    Some(SlotHorizon { name, in_use: false, age_transactions });
            }),
            &["unused_slot"],
            "SELECT pg_drop_replication_slot('replica')",
        ),
    ]);
}

#[test]
fn what_is_worth_knowing_is_a_note_and_no_problem() {
    for (facts, expected) in [
        (but(|f| f.last_runs.relay = None), &["relay_not_running"][..]),
        (
            but(|f| {
                f.last_runs.purge = None;
                f.database.storage.live_rows = 1;
            }),
            &["purge_not_running"],
        ),
        (but(|f| f.last_runs.purge = Some(ran(200_000.0))), &["purge_not_running"]),
        (but(|f| f.database.hidden_sessions = 2), &["hidden_sessions"]),
        (but(|f| f.database.storage.dead_rows = 100_001), &["dead_row_versions"]),
        (but(|f| f.database.schema_version += 1), &["newer_schema"]),
        (
            but(|f| {
                f.destinations
                    .push(DestinationStatus { is_bounded: true, ..destination("orders") });
            }),
            &["bounded"],
        ),
    ] {
        let (problems, notes) = verdict(&facts, OLDEST_DUE_LIMIT_SECONDS);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(codes(&notes), expected, "{facts:?}");
    }
}

/// Ids tell no age: of what was not looked at, some may have waited for longer than the limit.
#[test]
fn a_backlog_too_long_to_know_its_oldest_is_not_healthy() {
    let mut facts = healthy();
    facts.destinations.push(DestinationStatus { age_is_bounded: true, ..destination("orders") });
    assert_eq!(codes(&verdict(&facts, OLDEST_DUE_LIMIT_SECONDS).0), ["too_many_due"]);
    facts.destinations[0].backlog.oldest_due_seconds = 301.0;
    assert_eq!(codes(&verdict(&facts, OLDEST_DUE_LIMIT_SECONDS).0), ["due_too_long"]);
}

#[test]
fn an_age_that_is_no_number_is_not_healthy() {
    let facts = but(|f| {
        f.destinations.push(destination("orders"));
        f.destinations[0].backlog.oldest_due_seconds = f64::NAN;
    });
    assert_eq!(codes(&verdict(&facts, OLDEST_DUE_LIMIT_SECONDS).0), ["due_too_long"]);
}

prop_compose! {
    fn any_destination()(
        name in "[a-d]",
        oldest_due_seconds in prop_oneof![Just(0.0), 0.0..600.0_f64, 600.0..1e9_f64],
        counts in prop::array::uniform5(0..3_i64),
        (paused, breaker_open, is_bounded) in any::<(bool, bool, bool)>(),
        held_groups in 0..2_i64,
    ) -> DestinationStatus {
        let [due, retrying, scheduled, claimed, dead] = counts;
        let mut of = destination(&name);
        of.backlog = Backlog {
            due, retrying, scheduled, claimed, dead, oldest_due_seconds, paused, breaker_open, held_groups,
            ..of.backlog
        };
        of.is_bounded = is_bounded;
        of
    }
}

prop_compose! {
    /// States of destinations, of which the lists of pauses and breakers need not agree with what was seen of each.
    fn any_facts()(
        destinations in prop::collection::vec(any_destination(), 0..5),
        pauses in prop::collection::vec("[a-d*]", 0..4),
        breakers in prop::collection::vec("[a-d]", 0..3),
        relay_ran in prop::option::of(0.0..1_200.0_f64),
        takes_writes in any::<bool>(),
    ) -> Facts {
        let mut facts = healthy();
        facts.destinations = destinations;
        facts.pauses = pauses.iter().map(|name| paused(name)).collect();
        facts.breakers = breakers.iter().map(|name| open(name)).collect();
        facts.last_runs.relay = relay_ran.map(ran);
        facts.database.takes_writes = takes_writes;
        facts
    }
}

proptest! {
    #[test]
    fn it_is_never_healthy_while_a_message_is_due_for_longer_than_the_limit(
        facts in any_facts(),
        limit in 1.0..1e6_f64,
    ) {
        let (problems, _) = verdict(&facts, limit);
        for of in facts.destinations.iter().filter(|of| of.backlog.oldest_due_seconds > limit) {
            let name = &of.backlog.destination;
            let is_told = problems.iter().any(|problem| {
                ["paused", "due_too_long"].contains(&problem.code) && problem.text.contains(name)
            });
            prop_assert!(is_told, "{name}: {problems:?}");
        }
    }
}

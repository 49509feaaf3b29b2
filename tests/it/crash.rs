//! Relays that die, stall or compete: nothing is lost, and what goes out twice goes out with the same ids.
//!
//! The endpoint's gate stands between acceptance and answer, so a relay is stopped exactly there and nothing sleeps.
//! Ages are written: a lease has run out when its row says so.

use std::collections::HashSet;
use std::time::Duration;

use outbox::RunPolicy;
use outbox_publish::AwsPublisher;
use outbox_relay::Relay;
use outbox_tests::endpoint::{Answer, Endpoint, Gate, Received};
use outbox_tests::{Database, Ended, Function, Process, destinations, eventually, queue_at, relay};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::function::{MINUTE, set_up};

/// `outbox relay` with these arguments.
fn outbox_relay(db: &Database, endpoint: &Endpoint, args: &[&str]) -> Command {
    let mut command = set_up("outbox", &db.url(), endpoint);
    command.arg("relay").args(args);
    command
}

/// Another relay, in the test's own process.
fn other_relay(db: &Database, endpoint: &Endpoint) -> Relay<AwsPublisher> {
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders.fifo"))]);
    relay(db, &endpoint.sdk_config(), to, RunPolicy::default())
}

/// Everything that a row says.
async fn rows(db: &Database) -> Vec<String> {
    db.value("SELECT array_agg(m::text ORDER BY id) FROM outbox.message AS m").await
}

/// A relay has died after ten messages were accepted and before they were marked: they wait for its lease, then go out
/// once more, the same in everything, and are dispatched.
async fn they_go_out_again_after_the_lease(db: &Database, endpoint: &Endpoint) {
    assert_eq!(db.count("claimed").await, 10);
    let other = other_relay(db, endpoint);
    let report = other.run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!((report.claimed, endpoint.calls()), (0, 1), "the lease holds");

    db.expire_leases().await;
    let report = other.run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!((report.claimed, report.dispatched, report.drained), (10, 10, true));
    assert_eq!(db.count("dispatched").await, 10);
    let accepted = endpoint.accepted();
    let sent = |Received { body, attributes, group_id, deduplication_id, .. }: &Received| {
        (body.clone(), attributes.clone(), group_id.clone(), deduplication_id.clone())
    };
    let [first, second] = [&accepted[..10], &accepted[10..]]
        .map(|copies| copies.iter().map(sent).collect::<Vec<_>>());
    assert_eq!(first, second);
}

/// Hands-on test C; case L02.
#[tokio::test]
async fn a_process_killed_between_accept_and_mark_sends_the_batch_again_after_its_lease() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(10).await;
    endpoint.answer_next([Answer::Accept.behind(&Gate::closed())]);
    let process = Process::start(outbox_relay(&db, &endpoint, &[]));
    endpoint.calls_reached(1).await;
    process.kill().await;
    they_go_out_again_after_the_lease(&db, &endpoint).await;
}

/// Hands-on test C; case L02.
#[tokio::test]
async fn a_function_killed_between_accept_and_mark_sends_the_batch_again_after_its_lease() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(10).await;
    endpoint.answer_next([Answer::Accept.behind(&Gate::closed())]);
    let function = Function::start(set_up("relay", &db.url(), &endpoint)).await;
    let event = json!({});
    tokio::select! {
        answer = function.invoke(&event, MINUTE) => panic!("answered though held: {answer:?}"),
        () = endpoint.calls_reached(1) => function.process.kill().await,
    }
    they_go_out_again_after_the_lease(&db, &endpoint).await;
}

/// Case R01: the function stalls with the answer under way; its messages are claimed and fail elsewhere meanwhile.
#[tokio::test]
async fn a_function_that_stalled_past_its_lease_changes_nothing_of_what_another_claimed() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    db.pending(10).await;
    let all = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    endpoint.answer_next([Answer::Accept.behind(&gate), Answer::fail(all, "InternalError")]);
    let stale = Function::start(set_up("relay", &db.url(), &endpoint)).await;

    let event = json!({});
    let takeover = async {
        endpoint.calls_reached(1).await;
        stale.process.freeze();
        db.expire_leases().await;
        let other = other_relay(&db, &endpoint);
        let report = other.run(None, &CancellationToken::new()).await.unwrap();
        assert_eq!((report.claimed, report.retried), (10, 10));
        let left = rows(&db).await;
        gate.open();
        stale.process.thaw();
        left
    };
    let (report, left) = tokio::join!(stale.invoke(&event, MINUTE), takeover);
    let report = report.unwrap();
    let counts = ["claimed", "dispatched", "fenced"].map(|count| report[count].as_u64());
    assert_eq!(counts, [Some(10), Some(0), Some(10)], "{report}");
    assert_eq!(rows(&db).await, left);
}

/// Case R01, with a process, and with another that succeeds.
#[tokio::test]
async fn a_process_that_stalled_past_its_lease_changes_nothing_of_what_another_dispatched() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    db.pending(10).await;
    endpoint.answer_next([Answer::Accept.behind(&gate)]);
    let args = ["--until-drained", "--output", "json"];
    let stale = Process::start(outbox_relay(&db, &endpoint, &args));
    endpoint.calls_reached(1).await;
    stale.freeze();
    db.expire_leases().await;
    let other = other_relay(&db, &endpoint);
    let report = other.run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!(report.dispatched, 10);
    let left = rows(&db).await;
    gate.open();
    stale.thaw();

    let Ended { code, stdout, output } = stale.ended().await;
    assert_eq!(code, Some(0), "{output}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let counts = ["claimed", "dispatched", "fenced"].map(|count| report[count].as_u64());
    assert_eq!(counts, [Some(10), Some(0), Some(10)], "{report}");
    assert_eq!(rows(&db).await, left);
}

#[tokio::test]
async fn at_sigterm_a_process_marks_what_is_in_flight_and_hands_back_the_rest() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    let held = gate.clone();
    endpoint.answer_always(move |_| Answer::Accept.behind(&held));
    db.pending(100).await;
    let mut command = outbox_relay(&db, &endpoint, &[]);
    command.env("OUTBOX_CONCURRENCY", "2");
    let process = Process::start(command);
    endpoint.calls_reached(2).await;
    process.terminate();
    let heard = || async { process.output().contains("stopping").then_some(()) };
    eventually("the signal to be heard", heard).await;
    gate.open();

    let Ended { code, output, .. } = process.ended().await;
    assert_eq!(code, Some(0), "{output}");
    assert_eq!((db.count("dispatched").await, endpoint.calls()), (20, 2));
    let untouched =
        "SELECT count(*) FROM outbox.message WHERE attempts = 0 AND locked_until IS NULL";
    assert_eq!(db.value::<i64>(untouched).await, 80);
}

/// Case P05: the gate opens when each of them holds a claim, so that each has work.
#[tokio::test]
async fn four_processes_at_once_send_every_one_of_5000_messages_exactly_once() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    let held = gate.clone();
    let slow = Answer::Accept.after(Duration::from_millis(3));
    endpoint.answer_always(move |_| slow.clone().behind(&held));
    db.pending(5_000).await;
    let args = ["--until-drained", "--output", "json"];
    let processes = [(); 4].map(|()| Process::start(outbox_relay(&db, &endpoint, &args)));
    let claimants = "SELECT count(DISTINCT claimed_by) FROM outbox.message";
    let all = || async { (db.value::<i64>(claimants).await == 4).then_some(()) };
    eventually("a claim of each process", all).await;
    gate.open();

    let mut n_dispatched = 0;
    for process in &processes {
        let Ended { code, stdout, output } = process.ended().await;
        assert_eq!(code, Some(0), "{output}");
        let report: Value = serde_json::from_str(&stdout).unwrap();
        let dispatched = report["dispatched"].as_u64().unwrap();
        assert!(dispatched > 0 && report["claimed"] == dispatched, "{report}");
        n_dispatched += dispatched;
    }
    assert_eq!(n_dispatched, 5_000);
    assert_eq!(db.count("dispatched").await, 5_000);
    let accepted = endpoint.accepted();
    let distinct: HashSet<_> = accepted.iter().map(Received::message_id).collect();
    assert_eq!((accepted.len(), distinct.len()), (5_000, 5_000));
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(db.value::<i64>(deadlocks).await, 0);
}

/// A function that has ten messages to send, and the gate that their answer is behind.
pub(crate) async fn about_to_be_accepted(db: &Database, endpoint: &Endpoint) -> (Function, Gate) {
    let gate = Gate::closed();
    db.pending(10).await;
    endpoint.answer_next([Answer::Accept.behind(&gate)]);
    (Function::start(set_up("relay", &db.url(), endpoint)).await, gate)
}

/// Ends the relay's sessions.
const END_SESSIONS: &str = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'outbox-relay'";

/// How many messages look as if an attempt had failed.
async fn blamed(db: &Database) -> i64 {
    let blamed = "SELECT count(*) FROM outbox.message
                  WHERE first_failed_at IS NOT NULL OR last_error_code IS NOT NULL";
    db.value(blamed).await
}

/// Case P12.
#[tokio::test]
async fn messages_whose_sessions_end_between_accept_and_mark_are_marked_on_new_ones() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let (function, gate) = about_to_be_accepted(&db, &endpoint).await;
    let meanwhile = async {
        endpoint.calls_reached(1).await;
        db.run(END_SESSIONS).await;
        gate.open();
    };
    let event = json!({});
    let (report, ()) = tokio::join!(function.invoke(&event, MINUTE), meanwhile);
    assert_eq!(report.unwrap()["dispatched"], 10);
    assert_eq!((db.count("dispatched").await, endpoint.calls()), (10, 1));
    let attempts = "SELECT max(attempts) FROM outbox.message";
    assert_eq!((db.value::<i32>(attempts).await, blamed(&db).await), (1, 0));
}

/// Case R03, as after a fail-over that is not complete: the server is read-only.
#[tokio::test]
async fn a_mark_that_the_database_refuses_for_a_while_is_made_in_the_same_run() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let (function, gate) = about_to_be_accepted(&db, &endpoint).await;
    let meanwhile = async {
        endpoint.calls_reached(1).await;
        db.refuse("NEW.dispatched_at IS NOT NULL", "25006").await;
        gate.open();
        let refused = || async { function.process.logged("marking failed and is tried again") };
        eventually("a refused mark", refused).await;
        db.refuse_nothing().await;
    };
    let event = json!({});
    let (report, ()) = tokio::join!(function.invoke(&event, MINUTE), meanwhile);
    assert_eq!(report.unwrap()["dispatched"], 10);
    assert_eq!((db.count("dispatched").await, endpoint.calls()), (10, 1));
    assert_eq!(blamed(&db).await, 0);
}

/// Case R03, as after a grant was taken away: no use in trying again.
#[tokio::test]
async fn messages_that_can_not_be_marked_fail_the_run_and_go_out_again_after_the_lease() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let (function, gate) = about_to_be_accepted(&db, &endpoint).await;
    let meanwhile = async {
        endpoint.calls_reached(1).await;
        db.refuse("NEW.dispatched_at IS NOT NULL", "42501").await;
        gate.open();
    };
    let event = json!({});
    let (answer, ()) = tokio::join!(function.invoke(&event, MINUTE), meanwhile);
    let error = answer.unwrap_err();
    assert_eq!(error["errorType"], "42501");
    assert!(error["errorMessage"].as_str().unwrap().contains("10 messages"), "{error}");
    assert_eq!(blamed(&db).await, 0);
    db.refuse_nothing().await;
    they_go_out_again_after_the_lease(&db, &endpoint).await;
}

//! `outbox relay`

use outbox_tests::endpoint::{Answer, Endpoint, Gate};
use outbox_tests::{Database, Process, eventually};
use serde_json::{Value, json};
use tokio::process::Command;
use url::Url;

use super::sentence;
use crate::function::set_up;

/// `outbox relay` with these arguments.
fn relay(database_url: &str, endpoint: &Endpoint, args: &[&str]) -> Command {
    let mut command = set_up("outbox", database_url, endpoint);
    command.arg("relay").args(args);
    command
}

/// Runs `outbox relay --until-drained` to its end: the sum of its reports, and its exit code.
async fn drain(db: &Database, endpoint: &Endpoint) -> (Value, Option<i32>) {
    let command = relay(&db.url(), endpoint, &["--until-drained", "--output", "json"]);
    let ended = Process::start(command).ended().await;
    let sum = serde_json::from_str(&ended.stdout);
    (sum.unwrap_or_else(|_| panic!("{}", ended.output)), ended.code)
}

#[tokio::test]
async fn until_drained_waits_for_what_failed_and_not_for_what_is_scheduled() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    endpoint.answer_next([
        Answer::fail(["2", "5"], "InternalError"),
        Answer::error(503, "ServiceUnavailable", ""),
    ]);
    db.pending(31).await;
    db.run("UPDATE outbox.message SET available_at = now() + interval '1 week' WHERE id = 31")
        .await;
    let (sum, code) = drain(&db, &endpoint).await;
    let expected = (&json!(30), &json!(0), &json!(true), Some(0));
    assert_eq!((&sum["dispatched"], &sum["retrying"], &sum["drained"], code), expected, "{sum}");
    assert!(sum["retried"].as_u64() >= Some(2), "{sum}");

    let (sum, code) = drain(&db, &endpoint).await;
    assert_eq!((&sum["claimed"], code), (&json!(0), Some(0)), "{sum}");
    assert_eq!(db.count("dispatched").await, 30);
}

#[tokio::test]
async fn until_drained_says_how_much_a_pause_holds_and_does_not_wait_for_it() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.insert(5, "CASE WHEN i > 2 THEN 'events' ELSE 'orders' END", "NULL").await;
    db.run(
        "UPDATE outbox.message SET available_at = now() + interval '1 minute', first_failed_at = now() WHERE id = 5;
         INSERT INTO outbox.destination (name, paused_at, paused_by) VALUES ('events', now(), 'me')",
    )
    .await;
    let ended = Process::start(relay(&db.url(), &endpoint, &["--until-drained"])).ended().await;
    assert_eq!(ended.code, Some(0), "{}", ended.output);
    let said = "held by a pause: 3 messages for events\nnothing else is left to send\n";
    assert!(ended.stdout.starts_with("dispatched 2 messages"), "{}", ended.output);
    assert!(ended.stdout.ends_with(said), "{}", ended.output);
}

#[tokio::test]
async fn until_drained_says_how_much_a_dead_message_holds() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.insert(3, "'orders'", "'customer-7'").await;
    db.run("UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused', holds_group = true WHERE id = 1")
        .await;
    let ended = Process::start(relay(&db.url(), &endpoint, &["--until-drained"])).ended().await;
    assert_eq!(ended.code, Some(0), "{}", ended.output);
    let said = "held behind a dead message of their group: 2 messages for orders; see outbox list --status dead\n\
                nothing else is left to send\n";
    assert!(ended.stdout.ends_with(said), "{}", ended.output);
}

#[tokio::test]
async fn until_drained_says_how_many_have_died_and_ends_well() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.insert(3, "CASE i WHEN 2 THEN 'nowhere' ELSE 'orders' END", "NULL").await;
    let ended = Process::start(relay(&db.url(), &endpoint, &["--until-drained"])).ended().await;
    assert_eq!(ended.code, Some(0), "{}", ended.output);
    for said in ["dispatched 2 messages", "dead: 1 message;", "nothing is left to send"] {
        assert!(ended.stdout.contains(said), "{}", ended.output);
    }
}

#[tokio::test]
async fn a_relay_outlives_a_database_that_takes_no_work_for_a_while() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let url = db.url_as("outbox_relay").await;
    let login = Url::parse(&url).unwrap().username().to_owned();
    db.run(&format!("ALTER ROLE {login} CONNECTION LIMIT 0")).await;
    db.pending(3).await;
    let relay = Process::start(relay(&url, &endpoint, &[]));
    let tried = || async { relay.logged("run failed and is tried again") };
    let line = eventually("a failed run", tried).await;
    assert!(line["error"].as_str().unwrap().contains("53300"), "{line}");

    db.run(&format!("ALTER ROLE {login} CONNECTION LIMIT -1")).await;
    eventually("the messages", || async { (db.count("dispatched").await == 3).then_some(()) })
        .await;
    relay.terminate();
    assert_eq!(relay.ended().await.code, Some(0));
}

#[tokio::test]
async fn a_relay_that_may_not_sign_in_ends_with_3() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let mut url = Url::parse(&db.url()).unwrap();
    url.set_password(Some(super::PASSWORD)).unwrap();
    let ended = Process::start(relay(url.as_str(), &endpoint, &[])).ended().await;
    assert_eq!(ended.code, Some(3), "{}", ended.output);
    // Behind the run's report.
    let said = ended.output.lines().last().unwrap();
    assert!(said.starts_with("outbox: ") && said.contains("28P01"), "{}", ended.output);
}

#[tokio::test]
async fn a_second_signal_ends_a_relay_at_once() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    endpoint.answer_next([Answer::Accept.behind(&gate)]);
    db.pending(1).await;
    let relay = Process::start(relay(&db.url(), &endpoint, &[]));
    endpoint.calls_reached(1).await;
    relay.terminate();
    let stopping =
        || async { relay.logged("stopping when requests in flight are answered and marked") };
    eventually("the first signal to be heard", stopping).await;
    relay.terminate();
    assert_eq!(relay.ended().await.code, Some(1));
    assert_eq!(db.count("claimed").await, 1);
}

#[tokio::test]
async fn a_relay_that_is_switched_off_sends_nothing_and_stops_when_told() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(1).await;
    let mut off = relay(&db.url(), &endpoint, &["--until-drained"]);
    off.env("OUTBOX_ENABLED", "false");
    let ended = Process::start(off).ended().await;
    assert_eq!(ended.code, Some(1));
    assert!(sentence(&ended).contains("OUTBOX_ENABLED"), "{}", ended.output);

    let mut off = relay(&db.url(), &endpoint, &[]);
    off.env("OUTBOX_ENABLED", "false");
    let relay = Process::start(off);
    let heard = || async { relay.logged("nothing is sent, because OUTBOX_ENABLED is false") };
    eventually("the warning", heard).await;
    relay.terminate();
    assert_eq!(relay.ended().await.code, Some(0));
    assert_eq!((endpoint.calls(), db.count("pending").await), (0, 1));
}

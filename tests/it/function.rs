//! The functions as Lambda runs them: the real programs under the runtime protocol, frozen, thawed and out of time.
//! Here the relay; purge and admin have files of their own.

use std::time::Duration;

use outbox_tests::endpoint::{Answer, Endpoint, Gate};
use outbox_tests::{Database, Ended, Function, eventually, program};
use serde_json::{Value, json};
use tokio::process::Command;
use url::Url;

mod admin;
mod connections;
mod door;
mod logs;
mod metrics;
mod panic;
mod purge;

/// A deadline that no test comes near.
pub(crate) const MINUTE: Duration = Duration::from_mins(1);

/// The sessions of relay functions in a test's database.
pub(crate) const SESSIONS: &str = "FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'outbox-relay'";

/// A password that must not turn up anywhere.
const PASSWORD: &str = "kEeP-tHiS-tO-yOuRsElF";

/// A program on that database, with `orders` as a FIFO queue of the endpoint: its entries carry all ids.
pub(crate) fn set_up(name: &str, database_url: &str, endpoint: &Endpoint) -> Command {
    let destinations = json!({ "orders": endpoint.queue_url("orders.fifo") });
    let mut command = program(name);
    command
        .env("OUTBOX_DATABASE_URL", database_url)
        .env("OUTBOX_DESTINATIONS", destinations.to_string())
        .env("AWS_ENDPOINT_URL", endpoint.url());
    command
}

/// A relay function on that database, with these settings beside.
async fn relay(database_url: &str, endpoint: &Endpoint, more: &[(&str, &str)]) -> Function {
    let mut command = set_up("relay", database_url, endpoint);
    command.envs(more.iter().copied());
    Function::start(command).await
}

/// The URL with another password.
fn with_password(url: &str, password: &str) -> String {
    let mut url = Url::parse(url).unwrap();
    url.set_password(Some(password)).unwrap();
    url.into()
}

/// Under the role that it is meant for, which has the fewest grants.
#[tokio::test]
async fn a_run_publishes_what_is_due_and_returns_and_logs_its_report() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = relay(&db.url_as("outbox_relay").await, &endpoint, &[]).await;
    db.insert(25, "CASE WHEN i = 7 THEN 'nowhere' ELSE 'orders' END", "NULL").await;
    endpoint.answer_next([Answer::fail(["3"], "InternalError")]);

    let report = relay.invoke(&json!({}), MINUTE).await.unwrap();
    let expected = json!({
        "claimed": 25, "dispatched": 23, "retried": 1, "dead": 1, "fenced": 0, "released": 0,
        "drained": true, "oldest_due_seconds": report["oldest_due_seconds"],
        "duration_ms": report["duration_ms"],
    });
    assert_eq!(report, expected);
    let age = report["oldest_due_seconds"].as_f64().unwrap();
    assert!(age > 0.0, "the message that failed is still to be delivered: {report}");
    assert!(report["duration_ms"].is_u64(), "{report}");
    let statuses = [("dead", 1), ("dispatched", 23), ("pending", 1)];
    assert_eq!(db.statuses().await, statuses.map(|(name, n)| (name.to_owned(), n)).into());
    assert_eq!(endpoint.accepted().len(), 23);

    let logged = || async { relay.process.logged("run finished") };
    let logged = eventually("the run's log line", logged).await;
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(logged[name], *value, "{name}: {logged}");
    }
}

/// Case L11.
#[tokio::test]
async fn every_event_starts_a_normal_run() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = relay(&db.url(), &endpoint, &[]).await;
    for event in [
        json!({}),
        Value::Null,
        json!([]),
        json!(""),
        json!("run"),
        json!(7),
        json!(true),
        json!({ "version": "0", "id": "53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa",
                "detail-type": "Scheduled Event", "source": "aws.scheduler", "account": "000000000000",
                "time": "2026-11-30T10:00:00Z", "region": "us-east-1", "resources": [], "detail": "{}" }),
        json!({ "deadline": -1, "nested": [[[{ "\u{1f980}": "x".repeat(200_000) }]]] }),
    ] {
        db.pending(2).await;
        let report = relay.invoke(&event, MINUTE).await.unwrap();
        assert_eq!(report["dispatched"], 2, "{event:.60}");
    }
}

/// Case L13.
#[tokio::test]
async fn a_wrong_password_is_named_and_shown_nowhere_at_the_level_trace() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let url = with_password(&db.url(), PASSWORD);
    let relay = relay(&url, &endpoint, &[("OUTBOX_LOG_LEVEL", "trace")]).await;
    db.pending(1).await;
    let error = relay.invoke(&json!({}), Duration::from_secs(10)).await.unwrap_err();
    assert_eq!(error["errorType"], "database_sign_in");
    assert!(error["errorMessage"].as_str().unwrap().contains("28P01"), "{error}");

    relay.process.terminate();
    let Ended { output, .. } = relay.process.ended().await;
    assert!(output.contains("run failed"), "{output}");
    for secret in [PASSWORD, url.as_str()] {
        assert!(!format!("{error}{output}").contains(secret), "{error} {output}");
    }
}

#[tokio::test]
async fn a_relay_that_is_switched_off_asks_neither_the_database_nor_the_queue() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = relay(&db.url(), &endpoint, &[("OUTBOX_ENABLED", "false")]).await;
    db.pending(1).await;
    let report = relay.invoke(&json!({}), MINUTE).await.unwrap();
    assert_eq!((&report["claimed"], &report["drained"]), (&json!(0), &json!(false)));
    assert_eq!(endpoint.calls(), 0);
    assert_eq!(db.value::<i64>(&format!("SELECT count(*) {SESSIONS}")).await, 0);
    assert_eq!(db.count("pending").await, 1);
}

/// Case L21 among others. Each is refused with its name, what was given (unless it may hold a secret), what is allowed
/// and an example.
#[tokio::test]
async fn bad_settings_end_the_program_before_it_asks_for_an_event() {
    let endpoint = Endpoint::start();
    for (name, value, shown) in [
        (
            "OUTBOX_DESTINATIONS",
            r#"{"orders": "ftp://example.com/q"}"#,
            "\"orders\": target (not shown)",
        ),
        ("OUTBOX_DESTINATIONS", r#"{"orders": "arn:aws:s3:::bucket"}"#, "arn:aws:s3:::bucket"),
        ("OUTBOX_DESTINATIONS", r#"{"orders": "arn:aws:sqs"#, "line 1 column 23"),
        ("OUTBOX_LEASE_SECONDS", "59", "OUTBOX_FUNCTION_TIMEOUT_SECONDS, 60"),
        ("OUTBOX_BATCH_SIZE", "10001", "\"10001\""),
        ("OUTBOX_CONCURRENCY", "many", "\"many\""),
        ("OUTBOX_ENABLED", "yes", "\"yes\""),
        ("OUTBOX_DATABASE_URL", "mysql://app:s3cret@db/shop", "(not shown)"),
    ] {
        let mut relay = set_up("relay", "postgres://app:s3cret@localhost/shop", &endpoint);
        relay.env("OUTBOX_FUNCTION_TIMEOUT_SECONDS", "60").env(name, value);
        let Ended { code, output, .. } = Function::refused(relay).await;
        assert_eq!(code, Some(1), "{output}");
        for said in [&format!("{name}: "), shown, "allowed: ", "for example "] {
            assert!(output.contains(said), "no {said:?} in {output}");
        }
        assert!(!output.contains("s3cret"), "{output}");
    }
}

#[tokio::test]
async fn an_idle_function_ends_at_sigterm() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = relay(&db.url(), &endpoint, &[]).await;
    relay.invoke(&json!({}), MINUTE).await.unwrap();
    relay.process.terminate();
    assert_eq!(relay.process.ended().await.code, Some(0));
}

#[tokio::test]
async fn at_sigterm_a_function_marks_what_is_in_flight_and_hands_back_the_rest() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    let held = gate.clone();
    endpoint.answer_always(move |_| Answer::Accept.behind(&held));
    let relay = relay(&db.url(), &endpoint, &[("OUTBOX_CONCURRENCY", "2")]).await;
    db.pending(100).await;

    let event = json!({});
    tokio::select! {
        answer = relay.invoke(&event, MINUTE) => panic!("answered though held: {answer:?}"),
        () = endpoint.calls_reached(2) => relay.process.terminate(),
    }
    let heard = || async { relay.process.output().contains("SIGTERM").then_some(()) };
    eventually("the signal to be heard", heard).await;
    gate.open();
    assert_eq!(relay.process.ended().await.code, Some(0));
    assert_eq!(db.count("dispatched").await, 20);
    let untouched =
        "SELECT count(*) FROM outbox.message WHERE attempts = 0 AND locked_until IS NULL";
    assert_eq!(db.value::<i64>(untouched).await, 80);
}

//! The metric lines of the functions, read from their standard output as Lambda reads them.

use std::time::{Duration, UNIX_EPOCH};

use outbox_lambda::METRICS;
use outbox_tests::endpoint::{Answer, Endpoint};
use outbox_tests::{Database, Function, program};
use serde_json::{Map, Value, json};

use super::door::Door;
use super::{MINUTE, relay};

/// Ends the function and returns its metric lines. Every line that it wrote must be one JSON object, and each with
/// metrics must be one that `CloudWatch` takes whole.
pub(super) async fn metric_lines(function: &Function) -> Vec<Value> {
    function.process.terminate();
    let stdout = function.process.ended().await.stdout;
    let objects = stdout.lines().map(|line| {
        let object: Result<Map<String, Value>, _> = serde_json::from_str(line);
        object.unwrap_or_else(|error| panic!("{error} in the line {line:?}"))
    });
    let lines: Vec<_> = objects.filter(|line| line.contains_key("_aws")).collect();
    lines.iter().for_each(check);
    lines.into_iter().map(Value::Object).collect()
}

fn check(line: &Map<String, Value>) {
    let now_ms = u64::try_from(UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let timestamp_ms = line["_aws"]["Timestamp"].as_u64().unwrap();
    assert!((now_ms - 120_000..=now_ms).contains(&timestamp_ms), "{timestamp_ms} at {now_ms}");
    let [directive] = line["_aws"]["CloudWatchMetrics"].as_array().unwrap().as_slice() else {
        panic!("not one directive: {line:?}");
    };
    let [dimensions] = directive["Dimensions"].as_array().unwrap().as_slice() else {
        panic!("not one set of dimensions: {line:?}");
    };
    let dimensions = dimensions.as_array().unwrap();
    let metrics = directive["Metrics"].as_array().unwrap();
    assert!(metrics.len() <= 100 && dimensions.len() <= 30, "{line:?}");

    for dimension in dimensions {
        let value = line[dimension.as_str().unwrap()].as_str().unwrap();
        assert!(!value.trim().is_empty() && value.is_ascii() && value.len() <= 1_024, "{line:?}");
        assert!(!value.contains(|c: char| c.is_ascii_control()), "{line:?}");
    }
    for metric in metrics {
        let name = metric["Name"].as_str().unwrap();
        let known = METRICS.iter().find(|known| known.name == name);
        let known = known.unwrap_or_else(|| panic!("{name} is in no table"));
        assert_eq!(metric["Unit"], known.unit.name(), "{name}");
        assert!(line[name].as_f64().is_some_and(f64::is_finite), "{name}: {}", line[name]);
    }
    assert_eq!(line.len(), 1 + dimensions.len() + metrics.len(), "{line:?}");
}

/// The values of these metrics, null for one that is absent.
fn values<const N: usize>(line: &Value, names: [&str; N]) -> [Value; N] {
    names.map(|name| line[name].clone())
}

const COUNTS: [&str; 5] = [
    "outbox.run.failed",
    "outbox.claimed.messages",
    "outbox.published.messages",
    "outbox.retried.messages",
    "outbox.dead.messages",
];

/// Case L16: an empty queue, one with nothing due, one where all fail, and one where all goes well.
#[tokio::test]
async fn each_relay_run_writes_its_metrics_an_empty_one_too() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = relay(&db.url(), &endpoint, &[]).await;
    let run = async || relay.invoke(&json!({}), MINUTE).await.unwrap();
    run().await;
    db.pending(3).await;
    db.run("UPDATE outbox.message SET available_at = now() + interval '1 hour'").await;
    run().await;
    db.everything_is_due().await;
    endpoint.answer_next([Answer::fail(["0", "1", "2"], "InternalError")]);
    run().await;
    db.everything_is_due().await;
    db.insert(1, "'nowhere'", "NULL").await;
    run().await;

    let lines = metric_lines(&relay).await;
    let (lines, of_destinations): (Vec<_>, Vec<_>) =
        lines.into_iter().partition(|line| line["destination"].is_null());
    let expected = [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 3, 0, 3, 0], [0, 4, 3, 0, 1]];
    let found: Vec<_> = lines.iter().map(|line| values(line, COUNTS)).collect();
    assert_eq!(found, expected.map(|run| run.map(Value::from)));
    for line in &lines {
        assert_eq!((&line["service"], &line["outbox.run.count"]), (&json!("relay"), &json!(1)));
        let none_held_and_none_open = (&json!(0), &json!(0));
        assert_eq!(
            (&line["outbox.held.groups"], &line["outbox.breaker.open"]),
            none_held_and_none_open
        );
        assert!(line["outbox.run.duration"].as_f64().unwrap() < 60.0, "{line}");
    }
    // What failed and waits for its next attempt is still to be delivered.
    let expected = [false, false, true, false];
    assert_eq!(is_something_due(&lines), expected);
    assert_eq!(is_something_due(&of_destinations), expected);
    assert!(of_destinations.iter().all(|line| line["destination"] == "orders"));
}

/// The ages of the overall lines, or of those of a destination: whether each run found something to be delivered.
fn is_something_due(lines: &[Value]) -> Vec<bool> {
    lines.iter().map(|line| line["outbox.backlog.age"].as_f64().unwrap() > 0.0).collect()
}

/// Case L16: a zero would say that all is well.
#[tokio::test]
async fn a_run_that_could_not_ask_for_the_age_says_nothing_of_it() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let door = Door::refuses();
    let url = door.url(&db.url());
    let lost = relay(&url, &endpoint, &[]).await;
    lost.invoke(&json!({}), MINUTE).await.unwrap_err();
    let switched_off = relay(&db.url(), &endpoint, &[("OUTBOX_ENABLED", "false")]).await;
    switched_off.invoke(&json!({}), MINUTE).await.unwrap();

    let names = ["outbox.run.count", "outbox.run.failed", "outbox.claimed.messages"];
    for (function, expected) in [(&lost, json!([1, 1, null])), (&switched_off, json!([1, 0, 0]))] {
        let lines = metric_lines(function).await;
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(Value::from(values(&lines[0], names).to_vec()), expected);
        assert!(lines[0].get("outbox.backlog.age").is_none(), "{}", lines[0]);
    }
}

/// Case L16: destinations that nobody knows, with names that would break a line.
#[tokio::test]
async fn no_name_and_no_number_of_destinations_spoils_a_line() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = relay(&db.url(), &endpoint, &[("OUTBOX_BATCH_SIZE", "10")]).await;
    db.insert(80, "E'a \"b\\n\u{e4}\u{1f980}\\t' || i", "NULL").await;
    db.insert(1, "' '", "NULL").await;
    db.insert(1, "repeat('x', 128)", "NULL").await;
    db.run("INSERT INTO outbox.destination (name, paused_at, paused_by) VALUES ('*', now(), 'me')")
        .await;
    db.run("UPDATE outbox.message SET created_at = now() - interval '1 hour'").await;
    relay.invoke(&json!({}), MINUTE).await.unwrap();

    let lines = metric_lines(&relay).await;
    let (of_destinations, of_runs): (Vec<_>, Vec<_>) =
        lines.iter().partition(|line| line.get("destination").is_some());
    assert_eq!(of_runs.len(), 1, "{of_runs:?}");
    assert!(of_runs[0]["outbox.backlog.age"].as_f64().unwrap() >= 3_600.0, "{}", of_runs[0]);
    assert!(of_destinations.len() <= 50, "{} lines", of_destinations.len());
}

/// Case L16.
#[tokio::test]
async fn each_purge_and_each_command_writes_its_metrics() {
    let db = Database::fresh().await;
    db.pending(3).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '30 days'").await;
    let mut command = program("purge");
    command.env("OUTBOX_DATABASE_URL", db.url());
    let purge = Function::start(command).await;
    for _ in 0..2 {
        purge.invoke(&json!({}), MINUTE).await.unwrap();
    }
    let names = ["outbox.run.failed", "outbox.purged.messages"];
    let lines = metric_lines(&purge).await;
    let found: Vec<_> = lines.iter().map(|line| values(line, names)).collect();
    assert_eq!(found, [[0, 3], [0, 0]].map(|run| run.map(Value::from)));

    let mut command = program("admin");
    command.env("OUTBOX_DATABASE_URL", db.url());
    let admin = Function::start(command).await;
    admin.invoke(&json!({ "command": "status" }), MINUTE).await.unwrap();
    admin.invoke(&json!({ "command": "drop" }), MINUTE).await.unwrap_err();
    let lines = metric_lines(&admin).await;
    let found: Vec<_> = lines.iter().map(|line| line["outbox.run.failed"].clone()).collect();
    assert_eq!(found, [0, 1]);
    assert!(lines.iter().all(|line| line["service"] == "admin"), "{lines:?}");
}

/// Case L16.
#[tokio::test]
async fn a_purge_that_gets_no_answer_is_a_failed_run() {
    let db = Database::fresh().await;
    let mut command = program("purge");
    command.env("OUTBOX_DATABASE_URL", db.url());
    let purge = Function::start(command).await;
    let mut other = db.connect().await;
    let lock = other.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE outbox.message").await.unwrap();
    purge.invoke(&json!({}), Duration::from_secs(5)).await.unwrap_err();
    let lines = metric_lines(&purge).await;
    let names = ["outbox.run.count", "outbox.run.failed", "outbox.purged.messages"];
    let found: Vec<_> = lines.iter().map(|line| values(line, names)).collect();
    assert_eq!(found, [[json!(1), json!(1), Value::Null]]);
}

#[tokio::test]
async fn the_namespace_of_the_metrics_is_a_setting_and_off_writes_none() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    for (namespace, expected) in [("Shop/Outbox", Some("Shop/Outbox")), ("off", None)] {
        let relay = relay(&db.url(), &endpoint, &[("OUTBOX_METRICS_NAMESPACE", namespace)]).await;
        relay.invoke(&json!({}), MINUTE).await.unwrap();
        let lines = metric_lines(&relay).await;
        let found = lines.first().map(|line| &line["_aws"]["CloudWatchMetrics"][0]["Namespace"]);
        assert_eq!(found.and_then(Value::as_str), expected);
    }
}

//! Log lines as `CloudWatch` gets them: under Lambda's own names, and never at the price of the metrics.

use outbox_tests::Database;
use outbox_tests::endpoint::{Answer, Endpoint};
use serde_json::{Value, json};

use super::metrics::metric_lines;
use super::{MINUTE, relay};

/// What a function says at its start of a filter before which its metrics are lost.
const TOLD: &str = "Lambda drops all metrics: set its ApplicationLogLevel to INFO, and OUTBOX_LOG_LEVEL as you like";

/// The log lines among what it wrote; every line must be one JSON object.
fn log_lines(stdout: &str) -> Vec<Value> {
    let objects = stdout.lines().map(serde_json::from_str::<Value>);
    let objects = objects.map(|object| object.unwrap_or_else(|error| panic!("{error}: {stdout}")));
    objects.filter(|line| line.get("_aws").is_none()).collect()
}

#[tokio::test]
async fn each_line_of_an_invocation_has_its_request_id_and_whether_it_is_the_first() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = relay(&db.url(), &endpoint, &[("OUTBOX_LOG_LEVEL", "debug")]).await;
    for _ in 0..2 {
        db.pending(2).await;
        endpoint.answer_next([Answer::fail(["0"], "InternalError")]);
        relay.invoke(&json!({}), MINUTE).await.unwrap();
    }
    relay.process.terminate();
    let lines = log_lines(&relay.process.ended().await.stdout);
    for line in &lines {
        for name in ["timestamp", "level", "message", "target"] {
            assert!(line[name].is_string(), "no {name} in {line}");
        }
    }
    let of_invocations: Vec<_> = lines
        .iter()
        .filter(|line| line["target"].as_str().unwrap().starts_with("outbox"))
        .collect();
    let mut ids: Vec<_> =
        of_invocations.iter().map(|line| line["requestId"].as_str().unwrap()).collect();
    assert!(ids.len() >= 4, "a line of a retry and one of the run in each: {lines:?}");
    ids.dedup();
    assert_eq!(ids.len(), 2, "{ids:?}");
    for line in of_invocations {
        assert_eq!(line["faas.coldstart"], json!(line["requestId"] == ids[0]), "{line}");
    }
}

/// Case L16: the level of the logs is not that of the metrics.
#[tokio::test]
async fn metrics_are_written_at_every_log_level_and_a_filter_of_lambdas_that_drops_them_is_told() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    for (settings, is_told) in [
        ([("OUTBOX_LOG_LEVEL", "error"), ("AWS_LAMBDA_LOG_LEVEL", "INFO")], false),
        ([("OUTBOX_LOG_LEVEL", "info"), ("AWS_LAMBDA_LOG_LEVEL", "DEBUG")], false),
        ([("OUTBOX_LOG_LEVEL", "error"), ("AWS_LAMBDA_LOG_LEVEL", "WARN")], true),
        ([("OUTBOX_METRICS_NAMESPACE", "off"), ("AWS_LAMBDA_LOG_LEVEL", "WARN")], false),
    ] {
        let relay = relay(&db.url(), &endpoint, &settings).await;
        relay.invoke(&json!({}), MINUTE).await.unwrap();
        let told = relay.process.logged(TOLD);
        assert_eq!(told.is_some(), is_told, "{settings:?}");
        assert!(told.is_none_or(|line| line["level"] == "ERROR"));
        let n_lines = metric_lines(&relay).await.len();
        assert_eq!(n_lines > 0, !settings.contains(&("OUTBOX_METRICS_NAMESPACE", "off")));
    }
}

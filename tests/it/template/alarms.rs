//! What somebody is told of.

use outbox_lambda::METRICS;
use serde_json::json;

use super::{resources, template};

#[test]
fn alarms_watch_age_deaths_failures_and_the_failure_queue_by_metrics_that_exist() {
    let template = template();
    let alarms = resources(&template, "AWS::CloudWatch::Alarm");
    let watched: Vec<_> =
        alarms.values().map(|alarm| alarm["MetricName"].as_str().unwrap()).collect();
    let expected =
        ["outbox.backlog.age", "outbox.dead.messages", "NumberOfMessagesSent", "Errors", "Errors"];
    assert_eq!(watched, expected);
    for (id, alarm) in &alarms {
        let name = alarm["MetricName"].as_str().unwrap();
        let is_ours = alarm["Namespace"] == json!({ "Ref": "MetricsNamespace" });
        assert_eq!(is_ours, METRICS.iter().any(|metric| metric.name == name), "{id}");
        if is_ours {
            let service = json!([{ "Name": "service", "Value": { "Ref": "RelayFunction" } }]);
            assert_eq!(alarm["Dimensions"], service, "{id}");
        }
    }
    assert_eq!(
        alarms["BacklogAgeAlarm"]["TreatMissingData"], "breaching",
        "a dead relay is silent"
    );
}

//! What somebody is told of.

use outbox_lambda::METRICS;
use serde_json::json;

use super::{named, resources, template};

/// Each alarm, by the name that docs/operations.md has it under, with its metric.
const ALARMS: [(&str, &str); 11] = [
    ("backlog-age", "outbox.backlog.age"),
    ("breaker-open", "outbox.breaker.open"),
    ("dead-messages", "outbox.dead.messages"),
    ("failure-queue", "NumberOfMessagesSent"),
    ("held-groups", "outbox.held.groups"),
    ("purge-failures", "Errors"),
    ("purge-not-running", "outbox.run.count"),
    ("relay-duration", "outbox.run.duration"),
    ("relay-failures", "Errors"),
    ("relay-not-running", "outbox.run.count"),
    ("relay-throttles", "Throttles"),
];

#[test]
fn every_symptom_has_an_alarm_by_a_metric_that_exists() {
    let template = template();
    let alarms = resources(&template, "AWS::CloudWatch::Alarm");
    assert_eq!(alarms.len(), ALARMS.len());
    for (name, metric) in ALARMS {
        let found = alarms.iter().find(|(_, alarm)| alarm["AlarmName"] == named(name));
        let (id, alarm) = found.unwrap_or_else(|| panic!("there is no {name}"));
        assert_eq!(id.to_lowercase(), format!("{}alarm", name.replace('-', "")));
        assert_eq!(alarm["MetricName"], metric, "{name}");
        let is_ours = alarm["Namespace"] == json!({ "Ref": "MetricsNamespace" });
        assert_eq!(is_ours, METRICS.iter().any(|known| known.name == metric), "{name}");
        let function = if name.starts_with("purge") { "PurgeFunction" } else { "RelayFunction" };
        if is_ours {
            let service = json!([{ "Name": "service", "Value": { "Ref": function } }]);
            assert_eq!(alarm["Dimensions"], service, "{name}");
        }
        if alarm["Namespace"] == "AWS/Lambda" {
            let function = json!([{ "Name": "FunctionName", "Value": { "Ref": function } }]);
            assert_eq!(alarm["Dimensions"], function, "{name}");
        }
    }
}

#[test]
fn silence_is_an_alarm_where_it_means_that_nothing_runs_and_nowhere_else() {
    for (id, alarm) in resources(&template(), "AWS::CloudWatch::Alarm") {
        let is_told_by_silence =
            ["BacklogAgeAlarm", "RelayNotRunningAlarm", "PurgeNotRunningAlarm"].contains(&&*id);
        let expected = if is_told_by_silence { "breaching" } else { "notBreaching" };
        assert_eq!(alarm["TreatMissingData"], expected, "{id}");
    }
}

#[test]
fn an_alarm_says_what_is_the_matter_and_where_to_read_on_and_when_it_is_over() {
    for (name, _) in ALARMS {
        let alarms = resources(&template(), "AWS::CloudWatch::Alarm");
        let alarm = alarms.values().find(|alarm| alarm["AlarmName"] == named(name)).unwrap();
        let description = alarm["AlarmDescription"].as_str().unwrap();
        assert!(description.ends_with(&format!(" (docs/operations.md#{name}).")), "{description}");
        let topic = json!([
            { "Fn::If": ["HasAlarmTopic", { "Ref": "AlarmTopicArn" }, { "Ref": "AWS::NoValue" }] }
        ]);
        assert_eq!((&alarm["AlarmActions"], &alarm["OKActions"]), (&topic, &topic), "{name}");
    }
}

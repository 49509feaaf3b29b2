//! What there is to look at.

use std::collections::BTreeSet;

use outbox_lambda::METRICS;
use serde_json::Value;

use super::{resources, template};

/// The dashboard's widgets; a `${Name}` stays as it is, where it does not stand for a number.
fn widgets() -> Vec<Value> {
    let template = template();
    let dashboards = resources(&template, "AWS::CloudWatch::Dashboard");
    let body = dashboards["OperationsDashboard"]["DashboardBody"]["Fn::Sub"].as_str().unwrap();
    let body = body.replace("${OldestDueLimitSeconds}", "300");
    for name in body.split("${").skip(1).map(|rest| rest.split('}').next().unwrap()) {
        let name = name.split('.').next().unwrap();
        let is_known =
            ["Resources", "Parameters"].iter().any(|part| template[part].get(name).is_some());
        assert!(is_known || name.starts_with("AWS::"), "{name} is nothing of the template's");
    }
    let body: Value = serde_json::from_str(&body).unwrap();
    body["widgets"].as_array().unwrap().clone()
}

/// The rows of a graph: namespace and metric, or a search.
fn rows() -> Vec<Vec<Value>> {
    let of_widget = |widget: Value| widget["properties"]["metrics"].as_array().cloned();
    let rows = widgets().into_iter().filter_map(of_widget).flatten();
    rows.map(|row| row.as_array().unwrap().clone()).collect()
}

#[test]
fn graphs_are_of_metrics_that_exist_and_every_metric_has_one() {
    let mut drawn = BTreeSet::new();
    for row in rows() {
        let Some(namespace) = row[0].as_str() else {
            let search = row[0]["expression"].as_str().unwrap();
            let name = search.split("MetricName=\"").nth(1).unwrap().split('"').next().unwrap();
            assert!(METRICS.iter().any(|metric| metric.name == name), "{search}");
            assert!(search.contains("{\"${MetricsNamespace}\",destination,service}"), "{search}");
            continue;
        };
        let name = row[1].as_str().unwrap();
        if namespace == "${MetricsNamespace}" {
            assert!(METRICS.iter().any(|metric| metric.name == name), "{name}");
            assert_eq!(row[2], "service", "{name}");
            drawn.insert(name.to_owned());
        } else {
            assert!(["AWS/Lambda", "AWS/SQS"].contains(&namespace), "{namespace}");
        }
    }
    let all = METRICS.iter().map(|metric| metric.name.to_owned()).collect();
    assert_eq!(drawn, all);
}

#[test]
fn it_shows_every_alarm_and_the_last_errors_of_every_function() {
    let widgets = widgets();
    let of_kind = |kind: &str| widgets.iter().find(|widget| widget["type"] == kind).unwrap();
    let shown = of_kind("alarm")["properties"]["alarms"].as_array().unwrap();
    let mut shown: Vec<_> = shown.iter().map(|alarm| alarm.as_str().unwrap().to_owned()).collect();
    shown.sort();
    let alarms = resources(&template(), "AWS::CloudWatch::Alarm");
    let alarms: Vec<_> = alarms.keys().map(|id| format!("${{{id}.Arn}}")).collect();
    assert_eq!(shown, alarms);
    let query = of_kind("log")["properties"]["query"].as_str().unwrap();
    for group in resources(&template(), "AWS::Logs::LogGroup").keys() {
        assert!(query.contains(&format!("SOURCE '${{{group}}}'")), "{query}");
    }
}

/// `CloudWatch` has 24 columns, and takes widgets that overlap without a word.
#[test]
fn no_widget_lies_on_another() {
    let number = |widget: &Value, name: &str| widget[name].as_u64().unwrap();
    let mut taken = BTreeSet::new();
    for widget in widgets() {
        let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| number(&widget, name));
        assert!(x + width <= 24, "{widget}");
        for place in (x..x + width).flat_map(|x| (y..y + height).map(move |y| (x, y))) {
            assert!(taken.insert(place), "{widget}");
        }
    }
}

//! The deploy template, read without an account: what must hold whatever its parameters are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

mod access;
mod alarms;
pub(crate) mod cloudformation;
mod dashboard;
mod environment;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn template() -> Value {
    let path = root().join("infra/template.yaml");
    cloudformation::read(&std::fs::read_to_string(path).unwrap())
}

/// Logical id -> properties, of the resources of a type.
fn resources(template: &Value, kind: &str) -> BTreeMap<String, Value> {
    let resources = template["Resources"].as_object().unwrap().iter();
    let of_kind = resources.filter(|(_, resource)| resource["Type"] == kind);
    of_kind.map(|(id, resource)| (id.clone(), resource["Properties"].clone())).collect()
}

/// The same of the functions, with what they have from the globals.
fn functions(template: &Value) -> BTreeMap<String, Value> {
    let mut functions = resources(template, "AWS::Serverless::Function");
    for properties in functions.values_mut() {
        *properties = merged(&template["Globals"]["Function"], properties);
    }
    assert!(!functions.is_empty());
    functions
}

/// As SAM merges a function's own properties into the globals.
fn merged(globals: &Value, own: &Value) -> Value {
    let (Value::Object(globals), Value::Object(own)) = (globals, own) else { return own.clone() };
    let mut both: Map<String, Value> = globals.clone();
    for (name, value) in own {
        let value = both.get(name).map_or_else(|| value.clone(), |global| merged(global, value));
        both.insert(name.clone(), value);
    }
    Value::Object(both)
}

/// The events of a function, which are its timers.
fn timers(function: &Value) -> Vec<Value> {
    let events = function["Events"].as_object().into_iter().flatten();
    events
        .map(|(_, event)| {
            assert_eq!(event["Type"], "ScheduleV2");
            event["Properties"].clone()
        })
        .collect()
}

/// A name of the stack's, by its last part.
fn named(suffix: &str) -> Value {
    let prefix = json!({ "Fn::If": ["HasNamePrefix", { "Ref": "NamePrefix" }, { "Ref": "AWS::StackName" }] });
    json!({ "Fn::Sub": [format!("${{Prefix}}-{suffix}"), { "Prefix": prefix }] })
}

fn attribute(resource: &str) -> Value {
    json!({ "Fn::GetAtt": format!("{resource}.Arn") })
}

fn of_run(name: &str) -> Value {
    json!({ "Fn::FindInMap": ["Run", { "Ref": "Linger" }, name] })
}

#[test]
fn every_function_is_in_the_template_as_its_name_says_and_no_other() {
    let template = template();
    let folders = std::fs::read_dir(root().join("functions")).unwrap();
    let mut names: Vec<String> =
        folders.map(|folder| folder.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let functions = functions(&template);
    let found = functions.iter().map(|(id, function)| {
        let name = function["CodeUri"].as_str().unwrap().strip_prefix("../functions/").unwrap();
        assert_eq!(id.to_lowercase(), format!("{name}function"));
        assert_eq!(function["FunctionName"], named(name));
        let build = &template["Resources"][id]["Metadata"]["BuildMethod"];
        assert_eq!(*build, "rust-cargolambda", "{id}");
        let runtime = ["Runtime", "Handler"].map(|property| function[property].clone());
        assert_eq!(runtime, ["provided.al2023", "bootstrap"], "{id}");
        name.to_owned()
    });
    assert_eq!(found.collect::<Vec<_>>(), names);
}

/// Case L07: `sam build` ships the release profile, in which cargo-lambda lets a panic end the process unless told.
#[test]
fn a_panic_unwinds_in_what_is_shipped() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let profile = manifest.split("\n[profile.release]\n").nth(1).unwrap();
    let profile = profile.split("\n[").next().unwrap();
    assert!(profile.contains("\npanic = \"unwind\""), "{profile}");
}

/// Case L04: two runs at once are safe by design, which other tests show, as long as no lease ends before its run.
#[test]
fn no_lease_ends_before_its_function_whatever_the_parameters() {
    let template = template();
    let relay = &functions(&template)["RelayFunction"];
    let variables = &relay["Environment"]["Variables"];
    assert_eq!(relay["Timeout"], of_run("TimeoutSeconds"));
    assert_eq!(variables["OUTBOX_FUNCTION_TIMEOUT_SECONDS"], of_run("TimeoutSeconds"));
    assert_eq!(variables["OUTBOX_LEASE_SECONDS"], of_run("LeaseSeconds"));
    assert_eq!(variables["OUTBOX_LINGER_SECONDS"], of_run("LingerSeconds"));

    let runs = template["Mappings"]["Run"].as_object().unwrap();
    let choices = template["Parameters"]["Linger"]["AllowedValues"].as_array().unwrap();
    assert!(runs.keys().eq(choices.iter().map(|choice| choice.as_str().unwrap())));
    for (linger, run) in runs {
        let seconds = |name: &str| run[name].as_u64().unwrap();
        let [timeout, lease, linger_seconds, alarm] =
            ["TimeoutSeconds", "LeaseSeconds", "LingerSeconds", "AlarmSeconds"].map(seconds);
        assert!(lease >= timeout, "Linger {linger}: the lease ends before the run");
        // A run that lingers to its end must still mark and answer.
        assert!(linger_seconds + 20 <= timeout, "Linger {linger}: no time left");
        // A run stops sending three seconds before its end, and one that has used most of these is late.
        assert!((timeout - 3..timeout).contains(&alarm), "Linger {linger}: {run}");
        assert!((10..=3_600).contains(&lease) && timeout <= 900, "Linger {linger}: {run}");
    }
    let reserved = &relay["ReservedConcurrentExecutions"]["Fn::If"];
    assert_eq!(
        *reserved,
        json!(["HasReservedConcurrency", { "Ref": "ReservedConcurrency" }, { "Ref": "AWS::NoValue" }])
    );
}

/// Case L04: a late run is not worth repeating, and one that failed must not vanish.
#[test]
fn invocations_are_hardly_repeated_and_end_in_the_failure_queue() {
    for (id, function) in functions(&template()) {
        let invoke = &function["EventInvokeConfig"];
        assert!(invoke["MaximumRetryAttempts"].as_u64().unwrap() <= 1, "{id}");
        assert_eq!(invoke["MaximumEventAgeInSeconds"], 60, "{id}");
        let on_failure = &invoke["DestinationConfig"]["OnFailure"];
        assert_eq!(*on_failure, json!({ "Type": "SQS", "Destination": attribute("FailureQueue") }));
    }
}

/// Case L04.
#[test]
fn timers_hardly_repeat_and_what_they_cannot_start_ends_in_the_failure_queue() {
    let functions = functions(&template());
    for (id, n_attempts, age) in [("RelayFunction", 1, 60), ("PurgeFunction", 2, 900)] {
        let timers = timers(&functions[id]);
        let [timer] = timers.as_slice() else { panic!("{id} has {} timers", timers.len()) };
        let retry = &timer["RetryPolicy"];
        assert!(retry["MaximumRetryAttempts"].as_u64().unwrap() <= n_attempts, "{id}");
        assert!((60..=age).contains(&retry["MaximumEventAgeInSeconds"].as_u64().unwrap()), "{id}");
        assert_eq!(timer["DeadLetterConfig"], json!({ "Arn": attribute("FailureQueue") }));
        assert_eq!(timer["RoleArn"], attribute("SchedulerRole"));
        assert_eq!(timer["GroupName"], json!({ "Ref": "ScheduleGroup" }), "which the role serves");
        assert_eq!(timer["State"], json!({ "Ref": "ScheduleState" }));
    }
    assert_eq!(
        functions["RelayFunction"]["Events"]["Timer"]["Properties"]["FlexibleTimeWindow"],
        json!({ "Mode": "OFF" })
    );
    assert!(timers(&functions["AdminFunction"]).is_empty(), "nothing but an operator invokes it");
}

/// Case L04: without a log group of the template, Lambda makes one that keeps everything for ever.
#[test]
fn each_function_logs_to_a_group_of_its_own_with_a_retention() {
    let template = template();
    let groups = resources(&template, "AWS::Logs::LogGroup");
    let functions = functions(&template);
    assert_eq!(groups.len(), functions.len());
    for (id, function) in functions {
        let name = id.strip_suffix("Function").unwrap();
        let group = &groups[&format!("{name}LogGroup")];
        assert_eq!(group["RetentionInDays"], json!({ "Ref": "LogRetentionDays" }), "{id}");
        let logging = json!({
            "LogFormat": "JSON",
            "ApplicationLogLevel": "INFO", // Or the metric lines, which have no level, are dropped.
            "LogGroup": { "Ref": format!("{name}LogGroup") },
        });
        assert_eq!(function["LoggingConfig"], logging, "{id}");
    }
}

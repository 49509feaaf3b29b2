//! What the functions are told: every setting that they understand, and nothing else.

use std::collections::BTreeMap;

use outbox_lambda::settings::{Allowed, Setting, WhenUnset, all};
use serde_json::{Value, json};

use super::{functions, root, template};

/// Settings that no parameter decides, and why.
const LEFT_OUT: [(&str, &str); 4] = [
    ("OUTBOX_DATABASE_URL", "the parts are told, which the grants are made of"),
    ("OUTBOX_DATABASE_PASSWORD", "no password passes through the template"),
    ("OUTBOX_DEADLINE_MARGIN_MS", "its default fits the timeouts, which are no parameters either"),
    ("OUTBOX_LOG_FORMAT", "Lambda and the dashboard read JSON"),
];

/// A setting of AWS's SDK.
const OF_AWS: &str = "AWS_USE_DUALSTACK_ENDPOINT";

/// Heading of `.env.example` -> the settings below it, but for those that are for this machine.
fn sections() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(root().join(".env.example")).unwrap();
    let mut sections = BTreeMap::<String, Vec<String>>::new();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("# --- ") {
            heading.trim_end_matches('-').trim_end().clone_into(&mut section);
        } else if let Some((name, _)) = line.trim_start_matches('#').split_once('=')
            && name.starts_with("OUTBOX_")
            && section != "Local use"
        {
            sections.entry(section.clone()).or_default().push(name.to_owned());
        }
    }
    assert_eq!(sections.values().flatten().count(), all().len());
    sections
}

/// The settings that mean something to a function.
fn understood(function: &str) -> Vec<String> {
    let is_for = |section: &str| match section {
        "Database" | "Logs" | "Metrics" => true,
        "Destinations" | "Relay" => function == "RelayFunction",
        "Purge" => function == "PurgeFunction",
        other => panic!("which functions understand {other}?"),
    };
    let sections = sections().into_iter().filter(|(section, _)| is_for(section));
    sections.flat_map(|(_, names)| names).collect()
}

fn setting(name: &str) -> &'static Setting {
    all().iter().find(|setting| setting.name == name).unwrap_or_else(|| panic!("{name} is none"))
}

/// Case L04: a misspelt one ends the function at its start.
#[test]
fn each_function_is_told_every_setting_that_it_understands_and_no_other() {
    for (id, function) in functions(&template()) {
        let variables = function["Environment"]["Variables"].as_object().unwrap();
        let mut told: Vec<_> = variables.keys().filter(|name| *name != OF_AWS).cloned().collect();
        let mut expected = understood(&id);
        expected.retain(|name| LEFT_OUT.iter().all(|(left_out, _)| left_out != name));
        told.sort();
        expected.sort();
        assert_eq!(told, expected, "{id}");
        for name in told {
            assert!(!setting(&name).is_secret, "{id}: {name} would show in the console");
        }
    }
    for (name, _) in LEFT_OUT {
        setting(name);
    }
}

/// A parameter that is a setting allows what the setting does, or less, and leaves it at its default.
#[test]
fn what_a_parameter_allows_its_setting_allows_and_their_defaults_are_the_same() {
    let template = template();
    let mut n_compared = 0;
    for (id, function) in functions(&template) {
        for (name, value) in function["Environment"]["Variables"].as_object().unwrap() {
            let Some(parameter) = value["Ref"].as_str().filter(|_| name != OF_AWS) else {
                continue;
            };
            let (setting, parameter) = (setting(name), &template["Parameters"][parameter]);
            match &setting.allowed {
                Allowed::Whole(range) => {
                    assert_eq!(parameter["MinValue"], *range.start(), "{id}: {name}");
                    assert_eq!(parameter["MaxValue"], *range.end(), "{id}: {name}");
                }
                Allowed::OneOf(words) => {
                    let choices = parameter["AllowedValues"].as_array().unwrap();
                    let is_allowed = |choice: &Value| words.contains(&choice.as_str().unwrap());
                    assert!(choices.iter().all(is_allowed), "{id}: {name}");
                }
                Allowed::Text(_) => {}
            }
            // A password is no way to sign in here.
            if let WhenUnset::Value(default) = setting.default
                && name != "OUTBOX_DATABASE_AUTH"
            {
                let given = &parameter["Default"];
                let given = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
                assert_eq!(given, default, "{id}: {name}");
                n_compared += 1;
            }
        }
    }
    assert!(n_compared > 20, "{n_compared} defaults compared");
}

/// TLS is never without verification: the choice is all of it, or none for an emulator.
#[test]
fn the_default_is_a_connection_that_is_verified_by_what_is_built_in() {
    let parameters = template()["Parameters"].clone();
    let mode = &parameters["DatabaseSslMode"];
    assert_eq!(mode["Default"], "verify-full");
    assert_eq!(mode["AllowedValues"], json!(["verify-full", "disable"]));
    assert_eq!(parameters["DatabaseCaFile"]["Default"], "");
}

/// Whoever fills in a form has to know what for.
#[test]
fn every_parameter_has_a_sentence_and_a_place_in_the_form() {
    let template = template();
    let form = &template["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"];
    let groups = form.as_array().unwrap().iter();
    let mut placed: Vec<_> = groups
        .flat_map(|group| group["Parameters"].as_array().unwrap())
        .map(|name| name.as_str().unwrap())
        .collect();
    placed.sort_unstable();
    let parameters = template["Parameters"].as_object().unwrap();
    assert_eq!(placed, parameters.keys().collect::<Vec<_>>());
    for (name, parameter) in parameters {
        let sentence = parameter["Description"].as_str().unwrap_or_default();
        assert!(sentence.ends_with(['.', '}']) && sentence.len() > 10, "{name}: {sentence}");
    }
}

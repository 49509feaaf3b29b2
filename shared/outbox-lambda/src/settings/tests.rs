#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use tracing::level_filters::LevelFilter;

use super::*;

mod auth;
mod database;
mod env_example;
mod readme;
mod relay;

/// As good as nothing but what must be given.
const LEAST: [(&str, &str); 2] = [
    ("OUTBOX_DATABASE_URL", "postgres://relay:s3cret@db.example.com/shop"),
    ("OUTBOX_DESTINATIONS", r#"{"orders": "arn:aws:sqs:eu-west-1:123456789012:orders"}"#),
];

/// A relay's settings from the least that must be given and these.
fn read(vars: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    Settings::from_vars(Program::Relay, LEAST.iter().chain(vars).copied())
}

/// What such settings are refused with.
fn refused(vars: &[(&str, &str)]) -> Vec<String> {
    read(vars).unwrap_err().problems().to_vec()
}

#[test]
fn what_is_not_given_has_its_documented_default() {
    let settings = read(&[]).unwrap();
    assert_eq!(settings.schema, "outbox");
    assert_eq!(settings.relay.policy, outbox::RunPolicy::default());
    assert!(settings.relay.enabled);
    let week = Purge { retention: Duration::from_hours(168), batch_size: 2_000, archive: None };
    assert_eq!(settings.purge, week);
    assert_eq!(settings.logs, Logs { level: LevelFilter::INFO, format: LogFormat::Json });
}

#[test]
fn every_default_and_example_is_allowed() {
    for setting in all() {
        let default = match setting.default {
            WhenUnset::Value(value) => value,
            WhenUnset::Described(_) => setting.example,
        };
        for value in [default, setting.example] {
            match &setting.allowed {
                Allowed::Whole(range) => assert!(range.contains(&value.parse().unwrap())),
                Allowed::OneOf(words) => assert!(words.contains(&value)),
                Allowed::Text(_) => assert!(!value.is_empty()),
            }
        }
    }
}

#[test]
fn a_number_outside_its_range_is_refused_with_name_value_range_and_example() {
    for setting in all() {
        let Allowed::Whole(range) = &setting.allowed else { continue };
        let (name, example) = (setting.name, setting.example);
        let above = (u64::from(*range.end()) + 1).to_string();
        for bad in ["-1", "1.5", "many", "4294967296", &above] {
            let problems = refused(&[(name, bad)]);
            let line = problems.iter().find(|line| line.starts_with(&format!("{name}: "))).unwrap();
            assert!(line.contains(&format!("{bad:?}")), "{line}");
            assert!(line.contains(&setting.range()), "{line}");
            assert!(line.contains(&format!("for example {name}={example}")), "{line}");
        }
    }
}

#[test]
fn a_word_that_is_not_among_the_allowed_is_refused_with_all_of_them() {
    assert_eq!(
        refused(&[("OUTBOX_LOG_LEVEL", "outbox=trace")]),
        [
            "OUTBOX_LOG_LEVEL: \"outbox=trace\" is not allowed; allowed: error, warn, info, debug, trace; \
          for example OUTBOX_LOG_LEVEL=info"
        ]
    );
    assert_eq!(refused(&[("OUTBOX_ENABLED", "yes")]).len(), 1);
}

#[test]
fn all_problems_of_a_start_are_reported_together_one_line_each() {
    let vars = [
        ("OUTBOX_BATCH_SIZE", "0"),
        ("OUTBOX_LOG_FORMAT", "xml"),
        ("OUTBOX_LINGER_SECONDS", "forever\nand a day"),
        ("OUTBOX_BACHT_SIZE", "10"),
    ];
    let error = Settings::from_vars(Program::Relay, vars).unwrap_err();
    let names = [
        "BACHT_SIZE",
        "DATABASE_URL",
        "DESTINATIONS",
        "BATCH_SIZE",
        "LINGER_SECONDS",
        "LOG_FORMAT",
    ];
    let text = error.to_string();
    let found: Vec<&str> = text.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(found, names.map(|name| format!("OUTBOX_{name}")));
}

#[test]
fn a_misspelt_setting_is_refused_with_the_nearest_name_and_without_its_value() {
    assert_eq!(
        refused(&[("OUTBOX_DATABASE_PASWORD", "s3cret")]),
        ["OUTBOX_DATABASE_PASWORD: no such setting; did you mean OUTBOX_DATABASE_PASSWORD?"]
    );
    assert_eq!(
        refused(&[("OUTBOX_SOMETHING_ELSE_ALTOGETHER", "1")]),
        ["OUTBOX_SOMETHING_ELSE_ALTOGETHER: no such setting; .env.example lists them all"]
    );
    assert!(read(&[("OUTBOXES", "1"), ("PATH", "/bin")]).is_ok());
}

/// Templates cannot leave a variable out; they can leave it empty.
#[test]
fn a_setting_set_to_nothing_counts_as_not_set() {
    let settings = read(&[("OUTBOX_BATCH_SIZE", ""), ("OUTBOX_DATABASE_HOST", "")]).unwrap();
    assert_eq!(settings.relay.policy.batch_size, 500);
}

#[test]
fn of_two_values_the_later_one_counts() {
    let settings = read(&[("OUTBOX_SCHEMA", "one"), ("OUTBOX_SCHEMA", "two")]).unwrap();
    assert_eq!(settings.schema, "two");
}

#[test]
fn a_value_that_is_not_utf_8_is_refused_and_not_shown() {
    let vars = [("OUTBOX_SCHEMA", OsString::from_vec(vec![b'a', 0xff]))];
    let error = Settings::from_vars(Program::Purge, vars).unwrap_err();
    assert!(error.to_string().starts_with("OUTBOX_SCHEMA: the value (not shown) is not UTF-8"));
}

#[test]
fn an_archive_that_is_no_bucket_is_refused_with_name_value_allowed_form_and_example() {
    let settings = read(&[("OUTBOX_ARCHIVE", "s3://my-archive/outbox/")]).unwrap();
    assert_eq!(settings.purge.archive.unwrap().to_string(), "s3://my-archive/outbox");
    assert_eq!(
        refused(&[("OUTBOX_ARCHIVE", "my-archive/outbox")]),
        ["OUTBOX_ARCHIVE: \"my-archive/outbox\" is no s3:// address; allowed: s3://BUCKET or \
          s3://BUCKET/PREFIX, for example \"s3://my-archive/outbox\""]
    );
}

#[test]
fn a_schema_name_longer_than_63_bytes_is_refused() {
    assert!(read(&[("OUTBOX_SCHEMA", &"s".repeat(63))]).is_ok());
    assert!(refused(&[("OUTBOX_SCHEMA", &"ä".repeat(32))])[0].contains("allowed: 1 to 63 bytes"));
}

#[test]
fn metrics_go_to_a_namespace_that_cloudwatch_takes_or_nowhere() {
    let namespace = |value| read(&[("OUTBOX_METRICS_NAMESPACE", value)]).unwrap().metrics_namespace;
    assert_eq!(namespace("").as_deref(), Some("Outbox"));
    assert_eq!(namespace("Shop/Outbox").as_deref(), Some("Shop/Outbox"));
    assert_eq!(namespace("off"), None);
    for bad in ["AWS/Lambda", ":outbox", "the outbox", "out\nbox", &"o".repeat(256)] {
        let problem = &refused(&[("OUTBOX_METRICS_NAMESPACE", bad)])[0];
        assert!(problem.contains("is not a namespace; allowed: off, or 1 to 255"), "{problem}");
    }
}

//! Holds the README's table of settings to the table of settings.

use crate::settings::{Setting, WhenUnset, all};

/// A setting as the README has it. A default that is a value has its unit beside it.
fn row(setting: &Setting) -> String {
    let Setting { name, about, unit, default, allowed, .. } = setting;
    let default = match default {
        WhenUnset::Value(value) => format!("{value} {unit}"),
        WhenUnset::Described(words) => (*words).to_owned(),
    };
    format!("| `{name}` | {about} | {} | {allowed} |", default.trim_end())
}

/// What stands between the heading `Settings` and the next.
fn section() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let (_, section) = readme.split_once("\n## Settings\n").unwrap();
    section.split("\n## ").next().unwrap().to_owned()
}

#[test]
fn the_readme_has_a_row_for_each_setting_in_order_and_no_other() {
    let section = section();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `OUTBOX_")).collect();
    assert_eq!(rows, all().iter().map(|setting| row(setting)).collect::<Vec<_>>());
}

//! Holds `.env.example` to the table of settings.

use std::fmt::Write as _;

use crate::settings::{Program, Setting, Settings, all};

/// A setting as `.env.example` has it: its sentence, its unit, default and range, and a line to take
/// the comment sign off.
fn block(setting: &Setting) -> String {
    let Setting { name, about, unit, default, allowed, example, .. } = setting;
    let mut block = format!("# {about}\n# ");
    if !unit.is_empty() {
        write!(block, "Unit: {unit}. ").unwrap();
    }
    // Quoted for the shell, which would break the value at a space.
    let example =
        if example.contains(' ') { format!("'{example}'") } else { (*example).to_owned() };
    write!(block, "Default: {default}. Allowed: {allowed}.\n#{name}={example}\n").unwrap();
    block
}

fn file() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.env.example")).unwrap()
}

/// Lines that set one of our variables, whether they count or are commented out.
fn assignments(file: &str) -> impl Iterator<Item = (&str, &str)> {
    file.lines()
        .filter_map(|line| line.trim_start_matches('#').split_once('='))
        .filter(|(name, _)| name.starts_with("OUTBOX_"))
}

#[test]
fn every_setting_is_in_env_example_in_order_with_unit_default_and_range() {
    let file = file();
    let mut rest = file.as_str();
    for setting in all() {
        let block = block(setting);
        let Some(at) = rest.find(&block) else { panic!("missing, or out of order:\n{block}") };
        rest = &rest[at + block.len()..];
    }
}

#[test]
fn env_example_names_no_setting_that_does_not_exist() {
    for (name, _) in assignments(&file()) {
        assert!(all().iter().any(|setting| setting.name == name), "{name}");
    }
}

#[test]
fn what_env_example_sets_starts_a_relay_beside_what_make_up_writes() {
    let file = file();
    let set =
        file.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    let set = set.map(|(name, value)| (name, value.trim_matches('\'')));
    let made = [("DATABASE_URL", "postgres://outbox:PASSWORD@127.0.0.1:5432/outbox")];
    let settings = Settings::from_vars(Program::Relay, made.into_iter().chain(set)).unwrap();
    assert!(settings.relay.destinations.get("orders").is_some());
}

#[test]
fn every_line_of_env_example_is_a_value_that_is_allowed() {
    for (name, value) in assignments(&file()) {
        let given = [(name, value.trim_matches('\''))];
        let problems = match Settings::from_vars(Program::Admin, given) {
            Ok(_) => Vec::new(),
            Err(error) => error.problems().to_vec(),
        };
        let of_this = |problem: &&String| problem.starts_with(&format!("{name}: "));
        // A file that is named need not exist where the tests run.
        let is_absent_file = |problem: &&String| problem.contains("cannot be read");
        assert_eq!(problems.iter().filter(of_this).find(|p| !is_absent_file(p)), None);
    }
}

use super::*;

/// Case L21.
#[test]
fn a_lease_shorter_than_the_functions_timeout_is_refused_by_both_names() {
    let line =
        &refused(&[("OUTBOX_LEASE_SECONDS", "30"), ("OUTBOX_FUNCTION_TIMEOUT_SECONDS", "60")])[0];
    assert!(line.starts_with("OUTBOX_LEASE_SECONDS: \"30\" is shorter"), "{line}");
    assert!(line.contains("OUTBOX_FUNCTION_TIMEOUT_SECONDS, 60"), "{line}");

    let line = &refused(&[("OUTBOX_FUNCTION_TIMEOUT_SECONDS", "900")])[0];
    assert!(line.starts_with("OUTBOX_LEASE_SECONDS: the default 120 is shorter"), "{line}");

    assert!(read(&[("OUTBOX_FUNCTION_TIMEOUT_SECONDS", "120")]).is_ok());
}

#[test]
fn a_margin_that_leaves_nothing_of_the_functions_timeout_is_refused_by_both_names() {
    let timeout = ("OUTBOX_FUNCTION_TIMEOUT_SECONDS", "10");
    let lines = refused(&[timeout, ("OUTBOX_DEADLINE_MARGIN_MS", "10000")]);
    assert_eq!(
        lines,
        ["OUTBOX_DEADLINE_MARGIN_MS: \"10000\" is not less than a run may last \
          (OUTBOX_FUNCTION_TIMEOUT_SECONDS, 10), and nothing would be sent; \
          allowed: 500 to 9999 milliseconds; for example OUTBOX_DEADLINE_MARGIN_MS=5000"]
    );
    assert!(read(&[timeout, ("OUTBOX_DEADLINE_MARGIN_MS", "9999")]).is_ok());

    let line = &refused(&[("OUTBOX_FUNCTION_TIMEOUT_SECONDS", "3")])[0];
    assert!(line.starts_with("OUTBOX_DEADLINE_MARGIN_MS: the default 3000 is not less"), "{line}");
}

#[test]
fn the_longest_backoff_is_no_shorter_than_the_first() {
    let line =
        &refused(&[("OUTBOX_BACKOFF_BASE_MS", "2000"), ("OUTBOX_BACKOFF_MAX_MS", "1999")])[0];
    assert!(line.contains("is less than OUTBOX_BACKOFF_BASE_MS, 2000"), "{line}");
}

#[test]
fn only_the_relay_needs_destinations() {
    let database = LEAST[0];
    for program in [Program::Purge, Program::Admin, Program::CommandLine] {
        assert!(Settings::from_vars(program, [database]).is_ok());
    }
    let error = Settings::from_vars(Program::Relay, [database]).unwrap_err();
    assert!(error.to_string().starts_with("OUTBOX_DESTINATIONS: is not set"), "{error}");
}

#[test]
fn wrong_destinations_are_refused_in_every_program() {
    for (value, named) in [("{", "line 1"), ("ssm:/outbox/destinations", "not supported yet")] {
        let vars = [LEAST[0], ("OUTBOX_DESTINATIONS", value)];
        let error = Settings::from_vars(Program::Purge, vars).unwrap_err();
        assert!(error.to_string().starts_with("OUTBOX_DESTINATIONS: "), "{error}");
        assert!(error.to_string().contains(named), "{error}");
    }
}

#[test]
fn destinations_come_from_a_file_or_from_the_setting_and_not_from_both() {
    let path = std::env::temp_dir().join(format!("destinations-{}.json", std::process::id()));
    let path_text = path.to_str().unwrap();
    std::fs::write(&path, LEAST[1].1).unwrap();
    let file = ("OUTBOX_DESTINATIONS_FILE", path_text);

    let settings = Settings::from_vars(Program::Relay, [LEAST[0], file]).unwrap();
    assert!(settings.relay.destinations.get("orders").is_some());
    assert!(refused(&[file])[0].contains("given beside OUTBOX_DESTINATIONS"));

    std::fs::remove_file(&path).unwrap();
    let error = Settings::from_vars(Program::Relay, [LEAST[0], file]).unwrap_err().to_string();
    assert!(error.contains(path_text) && error.contains("cannot be read"), "{error}");
}

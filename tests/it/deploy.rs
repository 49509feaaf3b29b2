//! docs/deploy.md against the template and the migrations: what it tells to set, to grant and to open is there.

use std::collections::BTreeSet;

use crate::pages::{page, quoted};

/// What the page names in the parameters' spelling, and is none: two error codes, the construct, a metric of RDS, an output.
const NO_PARAMETERS: [&str; 5] = [
    "AccessDenied",
    "KMSAccessDenied",
    "OutboxRelay",
    "DatabaseConnectionsCurrentlySessionPinned",
    "SecurityGroup",
];

/// The services that only Lambda itself calls.
const CALLED_BY_LAMBDA: [&str; 2] = ["ec2", "xray"];

/// A chapter of the template, as its top-level keys with their lines.
fn chapter(name: &str) -> Vec<(String, String)> {
    let template = page("infra/template.yaml");
    let chapter = template.split(&format!("\n{name}:\n")).nth(1).unwrap();
    let lines = chapter.lines().take_while(|line| line.is_empty() || line.starts_with([' ', '#']));
    let mut keys: Vec<(String, String)> = Vec::new();
    for line in lines {
        let key = line.strip_prefix("  ").and_then(|line| line.strip_suffix(':'));
        match (
            key.filter(|key| key.bytes().all(|byte| byte.is_ascii_alphanumeric())),
            keys.last_mut(),
        ) {
            (Some(key), _) => keys.push((key.to_owned(), String::new())),
            (None, Some((_, text))) => text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    keys
}

/// Whether a word is spelled as a parameter is: `DatabaseHost`, `Schedule`, not `CREATE` and not `sqs:SendMessage`.
fn is_spelled_as_a_parameter(word: &str) -> bool {
    word.len() > 1
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.contains(|c: char| c.is_ascii_lowercase())
}

#[test]
fn every_parameter_that_the_page_names_is_one_of_the_template() {
    let parameters = chapter("Parameters");
    let known: BTreeSet<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
    assert!(known.len() > 40 && known.contains("DatabaseHost"), "{known:?}");
    let named = quoted(&page("docs/deploy.md"));
    let named: BTreeSet<&str> =
        named.iter().map(String::as_str).filter(|word| is_spelled_as_a_parameter(word)).collect();
    for word in named.iter().filter(|word| !NO_PARAMETERS.contains(word)) {
        assert!(known.contains(word), "docs/deploy.md names the parameter `{word}`");
    }
    for (name, text) in &parameters {
        let has_default = text.lines().any(|line| line.trim().starts_with("Default:"));
        assert!(
            has_default || named.contains(name.as_str()),
            "docs/deploy.md does not tell of {name}"
        );
    }
}

#[test]
fn what_the_page_names_beside_the_parameters_is_there_too() {
    let codes = page("docs/operations.md");
    assert!(codes.contains("`AccessDenied`") && codes.contains("`KMSAccessDenied`"));
    assert!(chapter("Outputs").iter().any(|(name, _)| name == "SecurityGroup"));
}

#[test]
fn every_role_that_the_page_names_is_made_by_a_migration_or_signs_in() {
    let migrations: String = ["V1__outbox.sql", "V5__runs.sql"]
        .map(|file| page(&format!("sql/migrations/{file}")))
        .concat();
    let made = migrations.split("ARRAY ARRAY[").nth(1).unwrap().split(']').next().unwrap();
    let template = page("infra/template.yaml");
    let text = page("docs/deploy.md");
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let roles: BTreeSet<&str> = words.filter(|word| word.starts_with("outbox_")).collect();
    assert!(roles.len() == 5, "{roles:?}");
    for role in roles {
        let is_login = template.contains(&format!("    Default: {role}\n"));
        assert!(made.contains(&format!("'{role}'")) || is_login, "docs/deploy.md names `{role}`");
    }
}

/// An action of a role is a call that needs a way: an endpoint, or a reason why none is needed.
#[test]
fn the_page_says_of_every_service_that_the_roles_call_whether_it_needs_an_endpoint() {
    let resources: String = chapter("Resources").into_iter().map(|(_, text)| text).collect();
    let allowed = resources.split("Effect: Allow").skip(1);
    let actions = allowed.filter_map(|text| {
        text.split("Action:").nth(1)?.split("Resource:").next()?.split("Condition:").next()
    });
    let words =
        actions.flat_map(|text| text.split(|c: char| c.is_whitespace() || "[],".contains(c)));
    let is_service = |word: &&str| {
        word.bytes().all(|byte| byte.is_ascii_lowercase() || b"-0123456789".contains(&byte))
    };
    let services: BTreeSet<&str> = words
        .filter_map(|word| word.split_once(':'))
        .map(|(service, _)| service)
        .filter(is_service)
        .collect();
    assert!(services.contains("sqs") && services.contains("rds-db"), "{services:?}");
    let page = page("docs/deploy.md");
    let chapter = page.split("\n# 2. Network\n").nth(1).unwrap().split("\n# ").next().unwrap();
    let named = quoted(chapter);
    for service in services.iter().filter(|service| !CALLED_BY_LAMBDA.contains(service)) {
        let name = service.trim_end_matches("-db");
        let endpoint = format!("com.amazonaws.REGION.{name}");
        assert!(
            named.contains(name) || named.contains(&endpoint),
            "docs/deploy.md is silent about {name}"
        );
    }
    let endpoints = named.iter().filter_map(|name| name.strip_prefix("com.amazonaws.REGION."));
    for endpoint in endpoints {
        assert!(services.contains(endpoint), "nothing calls {endpoint}");
    }
}

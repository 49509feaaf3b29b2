//! No password, token, payload or header value in anything that a program says, at the level trace, whatever goes wrong:
//! not in a log, a metric, an answer, an error, a panic, a help text, the list of processes, or what a row keeps of an error.

use std::fmt::Write as _;
use std::time::Duration;

use outbox_tests::endpoint::Endpoint;
use outbox_tests::{Database, Function, Process, program};
use serde_json::{Value, json};
use tokio::process::Command;
use url::Url;

use canary::{ACCESS_KEY, HEADER, PASSWORD, PAYLOAD, Said, TOKEN};

mod broker;
mod canary;
mod rows;
mod server;
mod settings;

/// A deadline that no test comes near.
const MINUTE: Duration = Duration::from_mins(1);

/// A program with AWS credentials that must stay its own, and told to say all that it ever says.
fn talkative(name: &str) -> Command {
    let mut command = program(name);
    command.envs([
        ("AWS_SECRET_ACCESS_KEY", ACCESS_KEY),
        ("AWS_SESSION_TOKEN", TOKEN),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("OUTBOX_LOG_LEVEL", "trace"),
        ("RUST_LOG", "trace"),
        ("RUST_BACKTRACE", "full"),
    ]);
    command
}

/// The same on that database, with a queue and a topic of the endpoint as destinations.
fn on(name: &str, database_url: &str, endpoint: &Endpoint) -> Command {
    let mut command = talkative(name);
    let destinations = json!({
        "orders": endpoint.queue_url("orders"), "events": endpoint.topic_arn("events"),
        "small": { "target": endpoint.queue_url("small"), "max_bytes": 1024 },
    });
    command
        .env("OUTBOX_DATABASE_URL", database_url)
        .env("OUTBOX_DESTINATIONS", destinations.to_string())
        .env("AWS_ENDPOINT_URL", endpoint.url());
    command
}

/// The URL with another password.
fn with_password(url: &str, password: &str) -> String {
    let mut url = Url::parse(url).unwrap();
    url.set_password(Some(password)).unwrap();
    url.into()
}

/// An event for each function.
fn event(name: &str) -> Value {
    match name {
        "admin" => json!({ "command": "redrive", "all": true, "reason": "r" }),
        _ => json!({ "payload": PAYLOAD, "password": PASSWORD }),
    }
}

/// Every verb that does something, with arguments.
const VERBS: [&[&str]; 12] = [
    &["migrate", "--check"],
    &["enqueue", "--file", "/dev/null"],
    &["relay", "--until-drained"],
    &["purge"],
    &["status"],
    &["status", "--output", "json"],
    &["doctor"],
    &["redrive", "--all", "--yes", "--reason", "r"],
    &["discard", "7", "--yes", "--reason", "r"],
    &["pause", "orders", "--reason", "r"],
    &["resume", "orders", "--reason", "r"],
    &["bench", "--messages", "100", "--rounds", "1", "--yes"],
];

/// What the three functions and every verb say, each made by `set_up`, and what the process list shows of them.
async fn everybody(said: &mut Said, set_up: impl Fn(&str) -> Command) {
    everybody_with(said, &VERBS, set_up).await;
}

/// The same with some verbs only.
async fn everybody_with(said: &mut Said, verbs: &[&[&str]], set_up: impl Fn(&str) -> Command) {
    for name in ["relay", "purge", "admin"] {
        let function = Function::start(set_up(name)).await;
        said.add(format!("the process list of {name}"), process_list(&function.process));
        let answer = function.invoke(&event(name), MINUTE).await;
        said.add(format!("{name} in its answer"), answer.unwrap_or_else(|error| error));
        function.process.terminate();
        said.add(name, function.process.ended().await.output);
    }
    for verb in verbs {
        let mut command = set_up("outbox");
        let process = Process::start({
            command.args(*verb);
            command
        });
        said.add(format!("outbox {verb:?}"), process.ended().await.output);
    }
}

/// What `ps` shows of a process. Its environment is shown to nobody but its own user.
fn process_list(process: &Process) -> String {
    let read = |file: &str| {
        let bytes = std::fs::read(format!("/proc/{}/{file}", process.id())).unwrap();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    let shown = format!("{} {}", read("comm"), read("cmdline"));
    assert!(!shown.trim().is_empty());
    shown
}

/// Messages with a secret in payload and headers, past `outbox.enqueue`.
async fn messages(db: &Database, n: i64, destination: &str) -> Vec<i64> {
    let sql = format!(
        r#"INSERT INTO outbox.message (destination, message_type, payload, headers)
           SELECT '{destination}', 't', '{{"card":"{PAYLOAD}","n":' || i || '}}', '{{"tenant":"{HEADER}","n":1}}'
           FROM generate_series(1, {n}) AS i RETURNING id"#
    );
    let rows = db.client.query(&sql, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// What people are shown of rows, of destinations and of operators' deeds, and of the sessions of the server.
async fn kept(db: &Database, said: &mut Said) {
    for (what, sql) in [
        (
            "the rows",
            "SELECT concat_ws(' ', last_error_code, last_error, dead_reason) FROM outbox.message",
        ),
        ("the status", "SELECT message_status::text FROM outbox.message_status"),
        ("the destinations", "SELECT destination::text FROM outbox.destination"),
        ("the audit", "SELECT audit::text FROM outbox.audit"),
        (
            "the sessions",
            "SELECT concat_ws(' ', usename, application_name, query) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name LIKE 'outbox-%'",
        ),
    ] {
        let mut text = String::new();
        for row in db.client.query(sql, &[]).await.unwrap() {
            writeln!(text, "{}", row.get::<_, &str>(0)).unwrap();
        }
        said.add(what, text);
    }
}

#[tokio::test]
async fn no_help_text_and_no_version_shows_what_the_environment_holds() {
    let endpoint = Endpoint::start();
    let url = format!("postgres://app:{PASSWORD}@127.0.0.1:9/shop");
    let mut said = Said::default();
    let help = async |args: &[&str]| {
        let mut command = on("outbox", &url, &endpoint);
        command.args(args).env("OUTBOX_DATABASE_PASSWORD", PASSWORD);
        Process::start(command).ended().await
    };
    let all = help(&["--help"]).await;
    let verbs = all.stdout.split("\nCommands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let verbs = verbs.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let verbs: Vec<_> = verbs.filter(|verb| !verb.is_empty()).collect();
    assert!(verbs.contains(&"redrive") && verbs.len() >= 10, "{verbs:?}");
    for verb in verbs {
        for args in [[verb, "--help"], [verb, "-h"], [verb, "--no-such-option"]] {
            said.add(format!("outbox {args:?}"), help(&args).await.output);
        }
    }
    said.add("outbox --help", &all.output);
    said.add("outbox --version", help(&["--version"]).await.output);
    said.assert_clean();
}

//! The command line, as people and scripts use it: the real program, its answers and its exit codes.

use std::process::Stdio;

use outbox_tests::{Database, Ended, Process, program};
use serde_json::{Value, json};
use tokio::process::Command;
use url::Url;

mod archive;
mod bench;
mod doctor;
mod enqueue;
mod list;
mod manual;
mod operate;
mod relay;
mod show;
mod tail;

/// A password that must not turn up anywhere.
const PASSWORD: &str = "kEeP-tHiS-tO-yOuRsElF";

/// `outbox` with these arguments on that database.
pub(crate) fn command(database_url: &str, args: &[&str]) -> Command {
    let mut command = program("outbox");
    command.args(args).env("OUTBOX_DATABASE_URL", database_url);
    command
}

/// Runs it to its end.
pub(crate) async fn outbox(database_url: &str, args: &[&str]) -> Ended {
    Process::start(command(database_url, args)).ended().await
}

/// Its answer in JSON, and its exit code.
pub(crate) async fn answer(db: &Database, args: &[&str]) -> (Value, Option<i32>) {
    let ended = outbox(&db.url(), &[args, &["--output", "json"]].concat()).await;
    let answer = serde_json::from_str(&ended.stdout);
    (answer.unwrap_or_else(|_| panic!("{}", ended.output)), ended.code)
}

/// The one sentence of a failure: nothing else is written.
pub(crate) fn sentence(ended: &Ended) -> &str {
    assert_eq!(ended.stdout, "", "{}", ended.output);
    let said = ended.output.strip_prefix("outbox: ").and_then(|said| said.strip_suffix('\n'));
    said.filter(|said| !said.contains('\n')).unwrap_or_else(|| panic!("{}", ended.output))
}

#[tokio::test]
async fn a_database_that_cannot_be_reached_ends_every_verb_with_3_and_no_secret() {
    let db = Database::fresh().await;
    let mut wrong = Url::parse(&db.url()).unwrap();
    wrong.set_password(Some(PASSWORD)).unwrap();
    let mut closed = wrong.clone();
    closed.set_port(Some(1)).unwrap();
    for (url, named) in [(&wrong, "28P01"), (&closed, ":1/")] {
        for args in [
            &["migrate"][..],
            &["enqueue", "--file", "/dev/null"],
            &["purge"],
            &["status"],
            &["list"],
            &["show", "7"],
            &["tail"],
            &["redrive", "7", "--reason", "repaired"],
            &["bench", "--yes"],
        ] {
            let ended = outbox(url.as_str(), args).await;
            assert_eq!(ended.code, Some(3), "{}", ended.output);
            assert!(sentence(&ended).contains(named), "{}", ended.output);
            assert!(!ended.output.contains(PASSWORD), "{}", ended.output);
        }
    }
}

#[tokio::test]
async fn without_an_outbox_every_verb_says_how_to_make_one() {
    let db = Database::empty().await;
    for args in [
        &["enqueue", "--file", "/dev/null"][..],
        &["purge"],
        &["status"],
        &["list"],
        &["show", "7"],
        &["tail"],
        &["redrive", "7", "--reason", "repaired"],
        &["relay", "--until-drained"],
    ] {
        let mut command = command(&db.url(), args);
        command.env("OUTBOX_DESTINATIONS", r#"{"orders": "arn:aws:sqs:us-east-1:000000000000:o"}"#);
        let ended = Process::start(command).ended().await;
        assert_eq!(ended.code, Some(1), "{}", ended.output);
        assert!(sentence(&ended).contains("run `outbox migrate`"), "{}", ended.output);
    }
}

#[tokio::test]
async fn wrong_usage_and_bad_settings_end_with_2_before_anything_is_done() {
    let nowhere = "postgres://nobody@127.0.0.1:1/nothing";
    for args in [
        &["stats"][..],
        &[],
        &["enqueue"],
        &["status", "--output", "xml"],
        &["relay"],
        &["list", "--status", "lost"],
        &["list", "--limit", "1001"],
        &["list", "--since", "yesterday"],
        &["show"],
        &["show", "order-42"],
        &["tail", "--output", "json"],
        &["pause", "--reason", "r", "--operator", " "],
    ] {
        assert_eq!(outbox(nowhere, args).await.code, Some(2), "{args:?}");
    }
    let mut command = command(nowhere, &["status"]);
    command.env("OUTBOX_BATCH_SIZE", "0");
    let ended = Process::start(command).ended().await;
    assert_eq!(ended.code, Some(2));
    assert!(sentence(&ended).contains("OUTBOX_BATCH_SIZE"), "{}", ended.output);
}

#[tokio::test]
async fn migrate_says_what_is_missing_applies_it_and_is_then_up_to_date() {
    let db = Database::empty().await;
    let all = outbox_store::migrations(&outbox_store::Schema::default());
    let all = json!(all.iter().map(|migration| migration.name).collect::<Vec<_>>());
    let (missing, code) = answer(&db, &["migrate", "--check"]).await;
    assert_eq!((&missing["pending"], code), (&all, Some(1)));

    let (applied, code) = answer(&db, &["migrate"]).await;
    assert_eq!((&applied["applied"], code), (&all, Some(0)));
    for args in [&["migrate"][..], &["migrate", "--check"]] {
        let ended = outbox(&db.url(), args).await;
        assert_eq!((ended.stdout.as_str(), ended.code), ("up to date\n", Some(0)));
    }
}

#[tokio::test]
async fn the_printed_sql_makes_the_same_outbox_and_needs_no_database_to_be_printed() {
    let mut print = program("outbox");
    print.args(["migrate", "--print-sql"]).env("OUTBOX_SCHEMA", "Mail Box");
    let printed = Process::start(print).ended().await;
    assert_eq!(printed.code, Some(0), "{}", printed.output);

    let db = Database::empty().await;
    db.run(&printed.stdout).await;
    for (args, said) in [(&["migrate", "--check"][..], "up to date"), (&["status"], "nothing")] {
        let mut command = command(&db.url(), args);
        command.env("OUTBOX_SCHEMA", "Mail Box");
        let ended = Process::start(command).ended().await;
        assert_eq!(ended.code, Some(0), "{}", ended.output);
        assert!(ended.stdout.starts_with(said), "{}", ended.output);
    }
}

/// What a missing right is called, and who can give it: a producer is no operator, and the other way round.
#[tokio::test]
async fn a_role_without_the_right_is_told_which_one_has_it() {
    let db = Database::fresh().await;
    db.pending(1).await;
    for (role, args, needed) in [
        ("outbox_producer", &["list"][..], "outbox_admin"),
        ("outbox_producer", &["show", "1"], "outbox_admin"),
        ("outbox_relay", &["pause", "--reason", "r"], "outbox_admin"),
        ("outbox_admin", &["enqueue", "--file", "-"], "outbox_producer"),
    ] {
        let line = r#"{"destination":"orders","message_type":"t","payload":"p"}"#;
        let (code, said) = if args[0] == "enqueue" {
            enqueue::enqueue(&db.url_as(role).await, line, &[]).await
        } else {
            let ended = outbox(&db.url_as(role).await, args).await;
            (ended.code, ended.output)
        };
        assert_eq!(code, Some(1), "{said}");
        let hint = format!("GRANT {needed} TO");
        assert!(said.contains("42501") && said.contains(&hint), "{said}");
    }
}

/// As `outbox status | head -0` does.
#[tokio::test]
async fn an_answer_that_nobody_reads_is_no_failure() {
    let db = Database::fresh().await;
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = command(&db.url(), &["status"]);
    let output = command.stdout(writer).stderr(Stdio::piped()).output().await.unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

//! `outbox status`: right in every state, and never healthy while something has been due for too long.
//!
//! What of the facts is a problem is tested by tables beside the verdict; here the facts are real.

use outbox_store::{Backlog, COUNTED_ROWS};
use outbox_tests::{Database, Function, program};
use serde_json::{Value, json};

use crate::cli::{answer, outbox};

mod database;
mod pause;
mod purge;
mod runs;

/// The status, the codes of its problems, and whether the program's exit code agrees.
async fn status(db: &Database) -> (Value, Vec<String>) {
    let (status, code) = answer(db, &["status"]).await;
    let problems = codes(&status["problems"]);
    assert_eq!(status["healthy"], problems.is_empty(), "{status}");
    assert_eq!(code, Some(i32::from(!problems.is_empty())), "{status}");
    (status, problems)
}

fn codes(of: &Value) -> Vec<String> {
    let of = of.as_array().unwrap().iter();
    of.map(|problem| problem["code"].as_str().unwrap().to_owned()).collect()
}

/// The commands that it proposes.
fn next(status: &Value) -> String {
    let problems = status["problems"].as_array().unwrap().iter();
    problems.map(|problem| problem["next"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

/// A run of that function that ended so long ago, with that code.
async fn ran(db: &Database, function: &str, seconds_ago: u32, error_code: &str) {
    db.run(&format!(
        "SELECT outbox.record_run('{function}', 'test', 500, {error_code}, '{{\"dispatched\": 7}}');
         UPDATE outbox.run
         SET started_at = started_at - ago, ended_at = ended_at - ago
         FROM make_interval(secs => {seconds_ago}) AS ago
         WHERE id = (SELECT max(id) FROM outbox.run)"
    ))
    .await;
}

async fn age_messages(db: &Database, interval: &str) {
    db.run(&format!("UPDATE outbox.message SET created_at = now() - interval '{interval}'")).await;
}

#[tokio::test]
async fn an_empty_outbox_is_healthy_and_says_that_nothing_has_run_yet() {
    let db = Database::fresh().await;
    let (status, problems) = status(&db).await;
    assert!(problems.is_empty(), "{status}");
    assert_eq!(codes(&status["notes"]), ["relay_not_running"]);
    assert_eq!(status["last_runs"], json!({ "relay": null, "purge": null }));
    assert_eq!(status["database"]["schema_version"], outbox_store::SCHEMA_VERSION);
    assert_eq!(status["database"]["takes_writes"], true);

    ran(&db, "relay", 20, "NULL").await;
    let ended = outbox(&db.url(), &["status"]).await;
    assert!(ended.stdout.starts_with("nothing waits and nothing is dead\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("relay     20 s ago, took 0.5 s: dispatched 7"), "{ended:?}");
    assert!(ended.stdout.ends_with("\nhealthy\n"), "{}", ended.stdout);
    assert!(!ended.stdout.contains('\u{1b}'), "no colours but on a terminal: {}", ended.stdout);
}

#[tokio::test]
async fn scheduled_messages_are_no_problem_however_long_they_wait() {
    let db = Database::fresh().await;
    ran(&db, "relay", 20, "NULL").await;
    db.pending(3).await;
    age_messages(&db, "30 days").await;
    db.run("UPDATE outbox.message SET available_at = now() + interval '1 hour'").await;
    let (status, problems) = status(&db).await;
    assert!(problems.is_empty(), "{status}");
    assert_eq!((&status["scheduled"], &status["due"]), (&json!(3), &json!(0)));
}

#[tokio::test]
async fn a_message_that_is_due_for_too_long_is_a_problem_and_the_limit_can_be_given() {
    let db = Database::fresh().await;
    ran(&db, "relay", 20, "NULL").await;
    db.pending(1).await;
    assert!(status(&db).await.1.is_empty());
    age_messages(&db, "6 minutes").await;
    assert_eq!(status(&db).await.1, ["due_too_long"]);
    for (limit, code) in [("10m", 0), ("1s", 1), ("eternity", 2)] {
        let ended = outbox(&db.url(), &["status", "--oldest-due-limit", limit]).await;
        assert_eq!(ended.code, Some(code), "{}", ended.output);
    }
}

#[tokio::test]
async fn an_open_breaker_is_shown_with_its_age_its_code_and_its_next_probe() {
    let db = Database::fresh().await;
    ran(&db, "relay", 20, "NULL").await;
    db.run(
        "INSERT INTO outbox.destination (name, failed_requests, last_error_code, breaker_opened_at, probe_at, failed_probes)
         VALUES ('orders', 5, 'AccessDenied', now() - interval '90 seconds', now() + interval '40 seconds', 2)",
    )
    .await;
    let (status, problems) = status(&db).await;
    assert_eq!(problems, ["breaker_open"], "with no message for it, too");
    let open = &status["breakers"][0];
    assert_eq!(
        (&open["destination"], &open["error_code"]),
        (&json!("orders"), &json!("AccessDenied"))
    );
    assert!((90.0..120.0).contains(&open["seconds"].as_f64().unwrap()), "{open}");
    assert!((1.0..=40.0).contains(&open["probe_in_seconds"].as_f64().unwrap()), "{open}");
    assert!(next(&status).contains("outbox resume orders --reason"), "{status}");
    let said = status["problems"][0]["text"].as_str().unwrap();
    assert!(said.contains("for 1 min 3") && said.contains("AccessDenied"), "{said}");
}

#[tokio::test]
async fn a_held_group_and_the_dead_are_told_with_the_commands_that_end_it() {
    let db = Database::fresh().await;
    ran(&db, "relay", 20, "NULL").await;
    db.insert(3, "'orders'", "'customer 7'").await;
    db.run(
        "UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused', last_error_code = 'too_large', holds_group = true
         WHERE id = 1",
    )
    .await;
    let (status, problems) = status(&db).await;
    assert_eq!(problems, ["groups_held", "dead"]);
    assert_eq!((&status["held_groups"], &status["held"]), (&json!(1), &json!(2)));
    let expected = "outbox resume orders --group 'customer 7' --reason";
    assert!(next(&status).contains(expected), "{status}");
    assert!(next(&status).contains("outbox redrive --destination orders --reason"), "{status}");
    assert_eq!(status["dead_letters"][0]["code"], "too_large");
    let said = status["problems"][1]["text"].as_str().unwrap();
    assert_eq!(said, "1 message dead for orders: 1 too_large");
}

/// Both count the same; one of them stops at a bound.
#[tokio::test]
async fn the_status_counts_what_the_view_counts() {
    let db = Database::fresh().await;
    let destination = "(ARRAY['orders', 'events', 'fax'])[1 + i % 3]";
    db.insert(900, destination, "CASE WHEN i % 2 = 0 THEN 'g' || i % 20 END").await;
    db.run(
        "UPDATE outbox.message SET dispatched_at = now() WHERE id % 11 = 0;
         UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused', last_error_code = 'c' || id % 2,
                holds_group = message_group IS NOT NULL AND id < 50
         WHERE id % 13 = 0 AND dispatched_at IS NULL;
         UPDATE outbox.message SET available_at = now() + interval '1 hour' WHERE id % 5 = 0;
         UPDATE outbox.message SET first_failed_at = now() - interval '1 hour' WHERE id % 10 = 0;
         UPDATE outbox.message SET locked_until = now() + interval '1 hour' WHERE id % 7 = 0;
         INSERT INTO outbox.destination (name, paused_at, paused_by) VALUES ('fax', now(), 'test')",
    )
    .await;
    let store = db.store();
    let without_age = |mut of: Backlog| {
        assert!(of.oldest_due_seconds > 0.0, "{of:?}");
        of.oldest_due_seconds = 0.0;
        of
    };
    let view: Vec<_> = store.backlog().await.unwrap().into_iter().map(without_age).collect();
    let counted = store.destination_status(COUNTED_ROWS).await.unwrap();
    assert!(counted.iter().all(|of| !of.is_bounded));
    for of in &counted {
        let dead: i64 = of.dead_letters.iter().map(|code| code.messages).sum();
        assert_eq!((dead, of.dead_letters.len()), (of.backlog.dead, 2));
    }
    let counted: Vec<_> = counted.into_iter().map(|of| without_age(of.backlog)).collect();
    assert_eq!(counted, view);
    assert_eq!(counted.len(), 3);
    assert!(counted.iter().all(|of| of.retrying > 0 && of.scheduled > 0 && of.claimed > 0));
    assert!(counted.iter().any(|of| of.held > 0), "{counted:?}");
}

#[tokio::test]
async fn a_count_that_stops_short_says_so_and_the_age_is_right_all_the_same() {
    let db = Database::fresh().await;
    db.insert(1_500, "'orders'", "NULL").await;
    db.insert(1_000, "'events'", "NULL").await;
    db.run("UPDATE outbox.message SET created_at = now() - interval '1 hour' WHERE id = 1").await;
    // A share of 1000 rows is the least that each gets.
    let counted = db.store().destination_status(10).await.unwrap();
    let [events, orders] = &counted[..] else { panic!("{counted:?}") };
    assert_eq!((events.backlog.due, events.is_bounded), (1_000, false));
    assert_eq!((orders.backlog.due, orders.is_bounded), (1_000, true));
    assert!(orders.backlog.oldest_due_seconds > 3_599.0, "{orders:?}");
}

#[tokio::test]
async fn the_admin_function_answers_the_same_status_under_its_own_role() {
    let db = Database::fresh().await;
    ran(&db, "relay", 20, "NULL").await;
    db.pending(1).await;
    age_messages(&db, "6 minutes").await;
    let mut command = program("admin");
    command.env("OUTBOX_DATABASE_URL", db.url_as("outbox_admin").await);
    let admin = Function::start(command).await;
    let ask = async |command: Value| admin.invoke(&command, crate::function::MINUTE).await;
    let asked = ask(json!({ "command": "status" })).await.unwrap();
    assert_eq!(
        (codes(&asked["problems"]), &asked["due"]),
        (vec!["due_too_long".into()], &json!(1))
    );
    assert_eq!(asked["last_runs"]["relay"]["report"]["dispatched"], 7);
    let later = json!({ "command": "status", "oldest_due_limit": "10m" });
    assert_eq!(ask(later).await.unwrap()["healthy"], true);
    let wrong = json!({ "command": "status", "oldest_due_limit": "soon" });
    let error = ask(wrong).await.unwrap_err();
    assert!(error["errorMessage"].as_str().unwrap().contains("for example 30m"), "{error}");
}

//! Pauses: a problem once they hold what has been due for too long, and told where another one stands beside.

use outbox_tests::{Database, Process};
use serde_json::json;

use super::{age_messages, next, ran, status};
use crate::cli::{answer, command, outbox};

#[tokio::test]
async fn a_pause_is_a_problem_once_it_holds_what_has_been_due_for_too_long() {
    let db = Database::fresh().await;
    ran(&db, "relay", 20, "NULL").await;
    db.pending(2).await;
    answer(&db, &["pause", "orders", "--reason", "the consumer is being repaired"]).await;
    let (young, problems) = status(&db).await;
    assert!(problems.is_empty(), "{young}");
    assert_eq!(young["pauses"][0]["reason"], "the consumer is being repaired");

    age_messages(&db, "10 minutes").await;
    let (old, problems) = status(&db).await;
    assert_eq!(problems, ["paused"], "and no second sentence for the same");
    assert!(next(&old).contains("outbox resume orders --reason"), "{old}");
    let said = old["problems"][0]["text"].as_str().unwrap();
    assert!(said.contains("the consumer is being repaired") && said.contains("10 min"), "{said}");
}

#[tokio::test]
async fn the_pause_of_all_is_told_once_for_all_that_it_holds() {
    let db = Database::fresh().await;
    ran(&db, "relay", 20, "NULL").await;
    db.insert(4, "CASE WHEN i > 2 THEN 'orders' ELSE 'events' END", "NULL").await;
    age_messages(&db, "10 minutes").await;
    answer(&db, &["pause", "--reason", "maintenance"]).await;
    let (status, problems) = status(&db).await;
    assert_eq!(problems, ["paused"]);
    assert_eq!(status["pauses"][0]["destination"], "*");
    assert_eq!(next(&status), "outbox resume --reason \"...\"");
    let said = status["problems"][0]["text"].as_str().unwrap();
    assert!(said.contains("events, orders"), "{said}");
}

#[tokio::test]
async fn a_pause_of_a_destination_without_messages_is_shown_and_no_problem() {
    let db = Database::fresh().await;
    answer(&db, &["pause", "orders", "--reason", "not yet"]).await;
    let (status, problems) = status(&db).await;
    assert!(problems.is_empty(), "{status}");
    assert_eq!(status["destinations"], json!([]));
    assert_eq!(status["pauses"][0]["destination"], "orders");
    let ended = outbox(&db.url(), &["status"]).await;
    assert!(ended.stdout.contains("paused    orders, for"), "{}", ended.stdout);
    assert!(ended.stdout.contains("not yet"), "{}", ended.stdout);
}

#[tokio::test]
async fn a_pause_of_a_name_that_no_message_has_is_carried_out_and_questioned() {
    let db = Database::fresh().await;
    let ids = db.insert(2, "CASE WHEN i = 1 THEN 'sent' ELSE 'orders' END", "NULL").await;
    db.run(&format!("UPDATE outbox.message SET dispatched_at = now() WHERE id = {}", ids[0])).await;
    let (paused, code) = answer(&db, &["pause", "ordres", "--reason", "repair"]).await;
    assert_eq!((&paused["paused"], code), (&json!(true), Some(0)));
    let note = paused["note"].as_str().unwrap();
    assert!(note.contains("ordres") && note.contains("outbox resume ordres"), "{note}");
    for known in ["orders", "sent"] {
        let (paused, _) = answer(&db, &["pause", known, "--reason", "repair"]).await;
        assert_eq!(paused, json!({ "paused": true }), "{known}");
    }

    let mut command = command(&db.url(), &["pause", "fax", "--reason", "repair"]);
    command.env("OUTBOX_DESTINATIONS", r#"{"fax": "arn:aws:sqs:us-east-1:000000000000:fax"}"#);
    let ended = Process::start(command).ended().await;
    assert_eq!(ended.stdout, "paused destination fax\n", "the settings know it");
}

#[tokio::test]
async fn a_resume_says_which_pause_still_stands() {
    let db = Database::fresh().await;
    for name in [&["orders"][..], &["events"], &[]] {
        answer(&db, &[&["pause"], name, &["--reason", "repair"]].concat()).await;
    }
    let resume = async |name: &[&str]| {
        let (resumed, code) =
            answer(&db, &[&["resume"], name, &["--reason", "repaired"]].concat()).await;
        assert_eq!((&resumed["resumed"], code), (&json!(true), Some(0)));
        resumed["note"].as_str().map(str::to_owned)
    };
    let all = "still paused: all destinations, until: outbox resume --reason \"...\"";
    assert_eq!(resume(&["orders"]).await.as_deref(), Some(all));
    let events = "still paused: events, until: outbox resume events --reason \"...\"";
    assert_eq!(resume(&[]).await.as_deref(), Some(events));
    assert_eq!(resume(&["events"]).await, None);
}

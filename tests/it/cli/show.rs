//! `outbox show`, and the way from a dead letter to its redrive.

use outbox_tests::Database;
use serde_json::{Value, json};

use super::{answer, outbox};

/// A message that is dead of a missing route, with a secret in it.
async fn dead() -> Database {
    let db = Database::fresh().await;
    db.insert(1, "'orders'", "'customer-7'").await;
    db.run(
        "UPDATE outbox.message SET payload = E'{\"card\":\\n \"s3cret\"}', headers = '{\"tenant\": \"acme\"}', attempts = 3,
                first_failed_at = now(), dead_at = now(), dead_reason = 'defect', last_error_code = 'no_route',
                last_error = 'no destination is named \"orders\"', holds_group = true",
    )
    .await;
    db
}

#[tokio::test]
async fn a_dead_letters_cause_is_found_and_the_message_redriven_in_three_commands() {
    let db = dead().await;
    let said = async |args: &[&str]| {
        let ended = outbox(&db.url_as("outbox_admin").await, args).await;
        assert_eq!(ended.code, Some(0), "{}", ended.output);
        ended.stdout
    };
    let list = said(&["list", "--status", "dead"]).await;
    assert!(list.contains("no_route") && list.contains("outbox show ID"), "{list}");
    let shown = said(&["show", "1"]).await;
    for part in ["no destination is named", "OUTBOX_DESTINATIONS", "outbox redrive 1 --reason"] {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    said(&["redrive", "1", "--reason", "route added", "--operator", "ada"]).await;
    assert_eq!(db.status(1).await, "pending");

    let shown = said(&["show", "1"]).await;
    assert!(shown.contains("redrive by ada by ") && shown.contains(": route added"), "{shown}");
}

#[tokio::test]
async fn payload_and_header_values_are_shown_on_request_only() {
    let db = dead().await;
    for form in ["table", "json", "ndjson"] {
        let ended = outbox(&db.url(), &["show", "1", "--output", form]).await;
        assert!(ended.output.contains("tenant"), "{}", ended.output);
        assert!(
            !ended.output.contains("s3cret") && !ended.output.contains("acme"),
            "{}",
            ended.output
        );
    }
    let (shown, code) = answer(&db, &["show", "1", "--payload", "--headers"]).await;
    let message = &shown["messages"][0];
    assert_eq!((&message["payload"], code), (&json!("{\"card\":\n \"s3cret\"}"), Some(0)));
    assert_eq!(message["headers"], json!({ "tenant": "acme" }));
    let ended = outbox(&db.url(), &["show", "1", "--payload-only"]).await;
    assert_eq!((ended.stdout.as_str(), ended.code), ("{\"card\":\n \"s3cret\"}", Some(0)));
}

#[tokio::test]
async fn a_message_id_shows_the_message_at_each_of_its_destinations() {
    let db = Database::fresh().await;
    db.insert(2, "CASE i WHEN 1 THEN 'orders' ELSE 'events' END", "NULL").await;
    let id = "0192a4c8-1111-7abc-8def-000000000042";
    db.run(&format!("UPDATE outbox.message SET message_id = '{id}'")).await;
    let (shown, code) = answer(&db, &["show", id]).await;
    let destinations: Vec<&Value> = shown["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| &message["destination"])
        .collect();
    assert_eq!((destinations, code), (vec![&json!("orders"), &json!("events")], Some(0)));
    let ended = outbox(&db.url(), &["show", id, "--payload-only"]).await;
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(2)));
    assert!(ended.output.contains("1, 2"), "{}", ended.output);
}

#[tokio::test]
async fn what_a_message_waits_for_is_told() {
    let db = Database::fresh().await;
    db.insert(3, "'orders'", "'customer-7'").await;
    db.run(
        "INSERT INTO outbox.destination (name, paused_at, paused_by, pause_reason) VALUES ('*', now(), 'ada', 'repair');
         INSERT INTO outbox.destination (name, breaker_opened_at, probe_at, last_error_code)
         VALUES ('orders', now(), now(), 'AccessDenied');
         UPDATE outbox.message SET available_at = now() + interval '1 hour' WHERE id = 3",
    )
    .await;
    let (shown, _) = answer(&db, &["show", "3"]).await;
    let waits = shown["messages"][0]["waits_for"].as_array().unwrap().clone();
    for (wait, said) in waits.iter().zip([
        "a pause of all destinations",
        "AccessDenied",
        "the message 1 of its group",
        "its time, at 20",
    ]) {
        assert!(wait.as_str().unwrap().contains(said), "{waits:?}");
    }
    assert_eq!(waits.len(), 4);
    let (shown, _) = answer(&db, &["show", "1"]).await;
    let first = shown["messages"][0]["waits_for"].to_string();
    assert!(!first.contains("of its group"), "{first}");

    db.run("UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused', holds_group = true WHERE id = 1").await;
    let (shown, _) = answer(&db, &["show", "2"]).await;
    let waits = shown["messages"][0]["waits_for"].to_string();
    assert!(waits.contains("the message 1 of its group, which is dead"), "{waits}");
}

#[tokio::test]
async fn what_is_not_there_any_more_is_told_from_the_audit_or_where_else_it_may_be() {
    let db = dead().await;
    let message_id: String = db.value("SELECT message_id::text FROM outbox.message").await;
    outbox(&db.url(), &["discard", "1", "--reason", "order is void", "--yes"]).await;
    for which in ["1", &message_id] {
        let ended = outbox(&db.url(), &["show", which]).await;
        assert_eq!(ended.code, Some(1), "{}", ended.output);
        for said in ["it was discarded", "order is void"] {
            assert!(ended.stdout.contains(said), "{}", ended.output);
        }
    }
    let (shown, code) = answer(&db, &["show", "2"]).await;
    assert_eq!((&shown["messages"], code), (&json!([]), Some(1)));
    assert!(shown["advice"].as_str().unwrap().contains("archive"), "{shown}");
}

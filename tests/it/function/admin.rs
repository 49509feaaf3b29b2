//! The admin function.

use std::time::Duration;

use outbox_tests::{Database, Function, program};
use serde_json::{Value, json};

use super::MINUTE;
use super::purge::SLOW_STORAGE;

/// An admin function under the role that it is meant for.
async fn admin(db: &Database) -> Function {
    let mut command = program("admin");
    command.env("OUTBOX_DATABASE_URL", db.url_as("outbox_admin").await);
    Function::start(command).await
}

#[tokio::test]
async fn the_admin_function_tells_the_status_and_redrives_what_it_is_told_to() {
    let db = Database::fresh().await;
    let admin = admin(&db).await;
    let orders = db.pending(3).await;
    db.insert(2, "'events'", "NULL").await;
    db.run("UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused', attempts = 10 WHERE id <> 1")
        .await;
    assert_eq!(orders[0], 1);

    let status = admin.invoke(&json!({ "command": "status" }), MINUTE).await.unwrap();
    assert_eq!((&status["healthy"], &status["due"]), (&json!(false), &json!(1)));
    assert_eq!(status["dead"], 4);
    let destinations = status["destinations"].as_array().unwrap();
    let dead_of = |name: &str| {
        let of = destinations.iter().find(|of| of["destination"] == name);
        of.map(|of| of["dead"].clone())
    };
    assert_eq!((dead_of("orders"), dead_of("events")), (Some(json!(2)), Some(json!(2))));

    let by_id = json!({ "command": "redrive", "ids": [orders[1]], "reason": "queue repaired" });
    let redriven = admin.invoke(&by_id, MINUTE).await.unwrap();
    assert_eq!((&redriven["redriven"], &redriven["skipped"]), (&json!(1), &json!(0)));
    assert_eq!(db.status(orders[1]).await, "pending");
    let by_destination =
        json!({ "command": "redrive", "destination": "events", "all": true, "reason": "back" });
    assert_eq!(admin.invoke(&by_destination, MINUTE).await.unwrap()["redriven"], 2);
    assert_eq!(db.status(orders[2]).await, "dead");

    let written = "SELECT string_agg(format('%s %s', n_messages, reason), ', ' ORDER BY id)
                   FROM outbox.audit WHERE actor LIKE 'admin function, request %'";
    assert_eq!(db.value::<String>(written).await, "1 queue repaired, 2 back");
}

#[tokio::test]
async fn the_admin_function_looks_discards_and_lets_a_held_group_go_on() {
    let db = Database::fresh().await;
    let admin = admin(&db).await;
    db.insert(2, "'orders'", "'customer-7'").await;
    db.pending(2).await;
    db.run(
        "UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused', last_error_code = 'too_large',
                holds_group = message_group IS NOT NULL
         WHERE id <> 2",
    )
    .await;
    let mut discard = json!({ "command": "discard", "destination": "orders", "code": "too_large", "dry_run": true });
    let preview = admin.invoke(&discard, MINUTE).await.unwrap();
    assert_eq!((&preview["matched"], db.count("dead").await), (&json!(3), 3));

    let resume = json!({
        "command": "resume", "destination": "orders", "message_group": "customer-7", "reason": "order 42 is void"
    });
    assert_eq!(admin.invoke(&resume, MINUTE).await.unwrap(), json!({ "resumed": true }));
    assert_eq!(admin.invoke(&resume, MINUTE).await.unwrap(), json!({ "resumed": false }));

    discard["dry_run"] = json!(false);
    let error = admin.invoke(&discard, MINUTE).await.unwrap_err();
    assert!(error["errorMessage"].as_str().unwrap().contains("needs a reason"), "{error}");
    discard["reason"] = json!("void");
    assert_eq!(admin.invoke(&discard, MINUTE).await.unwrap()["discarded"], 3);
    assert_eq!(db.status(2).await, "pending");

    for (wrong, named) in [
        (json!({ "rate": 0 }), "1 to 10000"),
        (json!({ "rate": -1 }), "the rate -1"),
        (json!({ "dead_before": "2 fortnights" }), "1s to 3650days, for example 30m"),
    ] {
        let mut redrive = json!({ "command": "redrive", "all": true, "reason": "back" });
        redrive.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        let error = admin.invoke(&redrive, MINUTE).await.unwrap_err();
        assert!(error["errorMessage"].as_str().unwrap().contains(named), "{error}");
    }
}

#[tokio::test]
async fn the_admin_function_lists_and_shows_and_keeps_payloads_unless_asked() {
    let db = Database::fresh().await;
    let admin = admin(&db).await;
    let ids = db.pending(3).await;
    db.run("UPDATE outbox.message SET payload = 's3cret', headers = '{\"tenant\": \"acme\"}'")
        .await;
    db.run("UPDATE outbox.message SET dead_at = now(), dead_reason = 'defect', last_error_code = 'no_route' WHERE id = 2")
        .await;

    let list = json!({ "command": "list", "status": "dead", "limit": 10 });
    let page = admin.invoke(&list, MINUTE).await.unwrap();
    assert_eq!((&page["messages"][0]["id"], &page["next"]), (&json!(2), &Value::Null), "{page}");
    let list = json!({ "command": "list", "type": page["messages"][0]["message_type"], "limit": 2, "oldest_first": true });
    let page = admin.invoke(&list, MINUTE).await.unwrap();
    assert_eq!(page["next"], json!(ids[1]), "{page}");

    let mut show = json!({ "command": "show", "id": 2 });
    let shown = admin.invoke(&show, MINUTE).await.unwrap();
    assert!(
        shown["messages"][0]["last_error"]["meaning"]
            .as_str()
            .unwrap()
            .contains("OUTBOX_DESTINATIONS")
    );
    assert!(
        !shown.to_string().contains("s3cret") && !shown.to_string().contains("acme"),
        "{shown}"
    );
    show["payload"] = json!(true);
    show["headers"] = json!(true);
    let shown = admin.invoke(&show, MINUTE).await.unwrap();
    let message = &shown["messages"][0];
    assert_eq!(
        (&message["payload"], &message["headers"]["tenant"]),
        (&json!("s3cret"), &json!("acme"))
    );
    let gone = admin.invoke(&json!({ "command": "show", "id": 77 }), MINUTE).await.unwrap();
    assert_eq!(gone["messages"], json!([]), "{gone}");
    assert!(gone["advice"].as_str().unwrap().contains("OUTBOX_ARCHIVE"), "{gone}");

    let tail = admin.invoke(&json!({ "command": "tail" }), MINUTE).await.unwrap_err();
    assert!(
        tail["errorMessage"].as_str().unwrap().contains("for the command line; list"),
        "{tail}"
    );
    assert!(!admin.process.output().contains("s3cret"), "{}", admin.process.output());
}

#[tokio::test]
async fn the_admin_function_examines_its_database_and_login_as_the_command_line_does() {
    let db = Database::fresh().await;
    db.pending(2).await;
    let admin = admin(&db).await;
    let diagnosis = admin.invoke(&json!({ "command": "doctor" }), MINUTE).await.unwrap();
    assert_eq!(diagnosis["healthy"], true, "{diagnosis}");
    for subject in ["database", "outbox", "role", "plans", "indexes", "settings", "pooler"] {
        let found = diagnosis["findings"].as_array().unwrap();
        let found = found.iter().find(|finding| finding["subject"] == subject);
        assert_eq!(found.unwrap()["severity"], "ok", "{diagnosis}");
    }
    let doctor = json!({ "command": "doctor", "as": "relay" });
    let diagnosis = admin.invoke(&doctor, MINUTE).await.unwrap();
    assert_eq!(diagnosis["healthy"], false, "{diagnosis}");
    assert!(diagnosis.to_string().contains("GRANT outbox_relay TO"), "{diagnosis}");
    assert_eq!(db.count("pending").await, 2);

    let doctor = json!({ "command": "doctor", "as": "owner" });
    let refused = admin.invoke(&doctor, MINUTE).await.unwrap_err();
    assert!(refused["errorMessage"].as_str().unwrap().contains("`owner`"), "{refused}");
}

#[tokio::test]
async fn who_asks_the_admin_function_is_kept_in_the_audit() {
    let db = Database::fresh().await;
    let admin = admin(&db).await;
    let pause = json!({ "command": "pause", "destination": "orders", "reason": "repair", "operator": "ada" });
    assert_eq!(admin.invoke(&pause, MINUTE).await.unwrap()["paused"], true);
    let actor: String = db.value("SELECT actor FROM outbox.audit").await;
    assert!(actor.starts_with("ada by admin function"), "{actor}");
}

#[tokio::test]
async fn the_admin_function_refuses_what_is_no_command_and_shows_those_there_are() {
    let db = Database::fresh().await;
    let admin = admin(&db).await;
    for event in [
        json!({ "command": "drop" }),
        json!({ "command": "status", "verbose": true }),
        json!({ "command": "redrive", "id": [7] }),
        json!({}),
        Value::Null,
    ] {
        let error = admin.invoke(&event, MINUTE).await.unwrap_err();
        assert_eq!(error["errorType"], "usage", "{error}");
        let text = error["errorMessage"].as_str().unwrap();
        assert!(text.contains(r#"{"command": "status"}"#), "{text}");
        assert!(text.contains(r#"{"command": "redrive", "ids": [7], "reason""#), "{text}");
    }
    let without_reason = json!({ "command": "redrive", "ids": [7] });
    let error = admin.invoke(&without_reason, MINUTE).await.unwrap_err();
    assert!(error["errorMessage"].as_str().unwrap().contains("reason"), "{error}");
    assert!(admin.invoke(&json!({ "command": "status" }), MINUTE).await.is_ok());
}

/// Case L01: each batch takes 2.5 s, and of 5 s the margin of 3 s is no time to begin another.
#[tokio::test]
async fn the_admin_function_breaks_off_before_its_deadline_and_says_what_it_has_done() {
    let db = Database::fresh().await;
    let admin = admin(&db).await;
    admin.invoke(&json!({ "command": "status" }), MINUTE).await.unwrap();
    db.run(SLOW_STORAGE).await;
    for (verb, past, trigger) in
        [("redrive", "redriven", "UPDATE"), ("discard", "discarded", "DELETE")]
    {
        db.pending(5_001).await;
        db.run("UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused'").await;
        db.run(&format!(
            "CREATE TRIGGER slow BEFORE {trigger} ON outbox.message EXECUTE FUNCTION slow('2.5')"
        ))
        .await;
        let command = json!({ "command": verb, "all": true, "reason": "repaired" });
        let error = admin.invoke(&command, Duration::from_secs(5)).await.unwrap_err();
        assert_eq!(error["errorType"], "out_of_time", "{error}");
        let said = error["errorMessage"].as_str().unwrap();
        assert!(said.contains(&format!("messages {past} before that: 5000")), "{said}");
        let operation: String = db
            .value("SELECT selection->>'operation' FROM outbox.audit ORDER BY id DESC LIMIT 1")
            .await;
        assert!(said.contains(&format!("as operation {operation}")), "{said}");
        assert_eq!(db.count("dead").await, 1);

        db.run("DROP TRIGGER slow ON outbox.message").await;
        assert_eq!(admin.invoke(&command, MINUTE).await.unwrap()[past], 1);
        db.run("DELETE FROM outbox.message").await;
    }
}

//! `outbox status`, `redrive`, `discard`, `pause`, `resume` and `purge`

use outbox_tests::Database;
use serde_json::{Value, json};

use super::{answer, outbox, sentence};

/// Makes messages of these destinations dead, with that code.
async fn dead(db: &Database, destination: &str, code: &str) -> i64 {
    let id = db.insert(1, &format!("'{destination}'"), "NULL").await[0];
    db.run(&format!(
        "UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused', last_error_code = '{code}', attempts = 10
         WHERE id = {id}"
    ))
    .await;
    id
}

#[tokio::test]
async fn status_shows_each_destination_and_ends_with_1_when_somebody_has_to_look() {
    let db = Database::fresh().await;
    let (status, code) = answer(&db, &["status"]).await;
    assert_eq!(
        (&status["healthy"], &status["destinations"], code),
        (&json!(true), &json!([]), Some(0))
    );

    db.insert(3, "'orders'", "NULL").await;
    db.insert(2, "'events'", "NULL").await;
    let (status, code) = answer(&db, &["status"]).await;
    assert_eq!((&status["healthy"], &status["due"], code), (&json!(true), &json!(5), Some(0)));

    db.run(
        "UPDATE outbox.message SET created_at = now() - interval '2 hours 5 minutes' WHERE id = 1",
    )
    .await;
    let ended = outbox(&db.url(), &["status"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("due for 2 h 5 min"), "{}", ended.output);
    let widest = ended.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{}", ended.output);

    db.run("UPDATE outbox.message SET created_at = now()").await;
    dead(&db, "orders", "no_route").await;
    let (status, code) = answer(&db, &["status"]).await;
    assert_eq!((&status["healthy"], &status["dead"], code), (&json!(false), &json!(1), Some(1)));
}

#[tokio::test]
async fn status_tells_retries_from_schedules_and_marks_what_is_paused() {
    let db = Database::fresh().await;
    db.insert(4, "CASE i WHEN 1 THEN 'events' ELSE 'orders' END", "NULL").await;
    db.run(
        "UPDATE outbox.message SET available_at = now() + interval '1 hour' WHERE id > 2;
         UPDATE outbox.message SET first_failed_at = now() WHERE id = 4;
         INSERT INTO outbox.destination (name, paused_at, paused_by) VALUES ('orders', now(), 'me')",
    )
    .await;
    let (status, _) = answer(&db, &["status"]).await;
    let expected = json!({
        "destination": "orders", "due": 1, "retrying": 1, "scheduled": 1, "claimed": 0, "dead": 0,
        "oldest_due_seconds": status["destinations"][1]["oldest_due_seconds"], "paused": true,
        "breaker_open": false, "held_groups": 0, "held": 0,
    });
    assert_eq!(status["destinations"][1], expected);
    assert_eq!(status["destinations"][0]["paused"], false);
    assert_eq!((&status["retrying"], &status["scheduled"]), (&json!(1), &json!(1)));

    let ended = outbox(&db.url(), &["status"]).await;
    assert_eq!(ended.stdout.matches("(paused)").count(), 1, "{}", ended.output);
    let held = "\nheld by a pause: 2 messages for orders\n";
    assert!(ended.stdout.ends_with(held), "{}", ended.output);
    let widest = ended.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{}", ended.output);

    db.run("UPDATE outbox.destination SET name = '*'").await;
    let (status, _) = answer(&db, &["status"]).await;
    let paused = status["destinations"].as_array().unwrap().iter().map(|of| &of["paused"]);
    assert_eq!(paused.collect::<Vec<_>>(), [&json!(true), &json!(true)]);
}

#[tokio::test]
async fn as_ndjson_the_status_has_a_line_for_each_destination() {
    let db = Database::fresh().await;
    db.insert(2, "CASE i WHEN 1 THEN 'orders' ELSE 'events' END", "NULL").await;
    let ended = outbox(&db.url(), &["status", "--output", "ndjson"]).await;
    let lines = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    let names: Vec<Value> = lines.map(|line: Value| line["destination"].clone()).collect();
    assert_eq!(names, ["events", "orders"]);
}

#[tokio::test]
async fn a_redrive_by_id_or_filter_takes_what_matches_and_is_written_down() {
    let db = Database::fresh().await;
    let orders = [dead(&db, "orders", "no_route").await, dead(&db, "orders", "too_large").await];
    let event = dead(&db, "events", "no_route").await;
    let redrive = async |args: &[&str]| {
        let (answer, code) =
            answer(&db, &[&["redrive", "--reason", "repaired"], args].concat()).await;
        (answer["redriven"].as_i64().unwrap(), code)
    };
    assert_eq!(redrive(&[&orders[0].to_string()]).await, (1, Some(0)));
    assert_eq!(db.status(orders[0]).await, "pending");
    assert_eq!(redrive(&[&orders[0].to_string(), &orders[1].to_string()]).await, (1, Some(1)));
    assert_eq!(redrive(&["--destination", "orders", "--yes"]).await, (0, Some(1)));
    assert_eq!(redrive(&["--code", "too_large", "--yes"]).await, (0, Some(1)));
    assert_eq!(db.status(event).await, "dead");
    assert_eq!(redrive(&["--all", "--yes"]).await, (1, Some(0)));
    assert_eq!(redrive(&["--destination", "nowhere", "--yes"]).await, (0, Some(1)));
    assert_eq!(db.status(event).await, "pending");

    let written = "SELECT count(*) FROM outbox.audit
                   WHERE actor LIKE '%@%' AND reason = 'repaired' AND action = 'redrive'";
    assert_eq!(db.value::<i64>(written).await, 3, "one for each that did anything");
}

#[tokio::test]
async fn a_dry_run_shows_what_is_meant_and_changes_and_writes_nothing() {
    let db = Database::fresh().await;
    for code in ["no_route", "too_large", "no_route"] {
        dead(&db, "orders", code).await;
    }
    dead(&db, "events", "no_route").await;
    for verb in ["redrive", "discard"] {
        let (preview, code) =
            answer(&db, &[verb, "--code", "no_route", "--dead-after", "1h", "--dry-run"]).await;
        assert_eq!((&preview["matched"], code), (&json!(3), Some(0)));
        let counts = preview["dead_letters"].as_array().unwrap().iter();
        let counts: Vec<_> =
            counts.map(|of| (of["destination"].clone(), of["messages"].clone())).collect();
        assert_eq!(counts, [(json!("events"), json!(1)), (json!("orders"), json!(2))]);

        let ended = outbox(&db.url(), &[verb, "--all", "--dry-run"]).await;
        assert_eq!(ended.code, Some(0), "{}", ended.output);
        assert!(ended.stdout.contains("orders: too_large"), "{}", ended.output);
        assert!(ended.stdout.ends_with("would take 4 messages\n"), "{}", ended.output);
        let ended = outbox(&db.url(), &[verb, "--dead-before", "1h", "--dry-run"]).await;
        assert_eq!(ended.code, Some(1), "{}", ended.output);
        assert!(ended.stdout.contains("nothing dead matches"), "{}", ended.output);
    }
    assert_eq!(db.count("dead").await, 4);
    assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.audit").await, 0);
}

#[tokio::test]
async fn a_redrive_at_a_rate_spreads_messages_and_can_give_them_fresh_ids() {
    let db = Database::fresh().await;
    for _ in 0..3 {
        dead(&db, "orders", "no_route").await;
    }
    let ids = "SELECT string_agg(message_id::text, ' ' ORDER BY id) FROM outbox.message";
    let before: String = db.value(ids).await;
    let args = ["redrive", "--all", "--yes", "--reason", "repaired", "--rate", "2"];
    let (_, code) = answer(&db, &[&args[..], &["--new-dedup-id"]].concat()).await;
    assert_eq!(code, Some(0));
    assert_ne!(db.value::<String>(ids).await, before);
    let last = "SELECT (max(available_at) - min(available_at))::text FROM outbox.message";
    assert_eq!(db.value::<String>(last).await, "00:00:01");
}

#[tokio::test]
async fn a_discard_deletes_what_is_dead_and_wants_a_yes_even_for_ids() {
    let db = Database::fresh().await;
    let ids = [dead(&db, "orders", "no_route").await, dead(&db, "orders", "too_large").await];
    let pending = db.pending(1).await[0];
    let id = ids[0].to_string();
    let ended = outbox(&db.url(), &["discard", &id, "--reason", "void"]).await;
    assert_eq!(ended.code, Some(2));
    assert!(sentence(&ended).contains("--yes"), "{}", ended.output);
    assert_eq!(db.count("dead").await, 2);

    let (gone, code) = answer(&db, &["discard", &id, &id, "--reason", "void", "--yes"]).await;
    assert_eq!((&gone["discarded"], code), (&json!(1), Some(0)));
    let others = [&id, &pending.to_string()];
    let ended =
        outbox(&db.url(), &["discard", others[0], others[1], "--reason", "void", "--yes"]).await;
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stdout, "discarded 0 messages; ids without a dead message that matches: 2\n");
    let (gone, code) = answer(&db, &["discard", "--all", "--reason", "void", "--yes"]).await;
    assert_eq!((&gone["discarded"], code), (&json!(1), Some(0)));
    let left = "SELECT array_agg(id) FROM outbox.message";
    assert_eq!(db.value::<Vec<i64>>(left).await, [pending]);
}

/// The rows of one message are held by somebody else's transaction.
#[tokio::test]
async fn what_is_skipped_is_told_and_ends_with_1() {
    let db = Database::fresh().await;
    let ids = [dead(&db, "orders", "x").await, dead(&db, "orders", "x").await];
    let mut other = db.connect().await;
    let _held = Database::hold(&mut other, ids[0]).await;
    let ended = outbox(&db.url(), &["redrive", "--all", "--reason", "repaired", "--yes"]).await;
    assert_eq!(ended.code, Some(1));
    let said = "redrove 1 message; skipped 1 message that somebody else holds: try again\n";
    assert_eq!(ended.stdout, said);
}

#[tokio::test]
async fn a_redrive_that_breaks_off_says_how_far_it_came_and_how_to_go_on() {
    let db = Database::fresh().await;
    let ids = db.pending(5_010).await;
    db.run("UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused'").await;
    db.refuse(&format!("NEW.id = {}", ids[5_005]), "XX001").await;
    let ended = outbox(&db.url(), &["redrive", "--all", "--reason", "repaired", "--yes"]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    let said = sentence(&ended);
    assert!(said.contains("messages redriven before that: 5000, as operation"), "{said}");
    assert!(said.contains("XX001") && said.ends_with("the same command takes the rest"), "{said}");
}

#[tokio::test]
async fn a_redrive_that_selects_nothing_has_no_reason_or_cannot_ask_is_wrong_usage() {
    let db = Database::fresh().await;
    let id = dead(&db, "orders", "no_route").await;
    for (args, named) in [
        (&["--reason", "repaired"][..], "nothing is selected"),
        (&["7", "--reason", " "], "needs a reason"),
        (&["7", "--all", "--reason", "repaired"], "not both"),
        (&["0", "--reason", "repaired"], "from 1"),
        (&["--all", "--reason", "repaired"], "--yes"),
        (&["--destination", "orders", "--reason", "repaired"], "--yes"),
        (&["--all", "--yes", "--rate", "0", "--reason", "repaired"], "the rate 0 is not allowed"),
        (&["--all", "--yes", "--rate", "-5", "--reason", "repaired"], "1 to 10000 messages"),
        (&["--dead-before", "2h", "--dead-after", "1h", "--dry-run"], "than 2h and within 1h"),
    ] {
        let ended = outbox(&db.url(), &[&["redrive"], args].concat()).await;
        assert_eq!(ended.code, Some(2), "{}", ended.output);
        assert!(sentence(&ended).contains(named), "{}", ended.output);
    }
    for args in [&["7"][..], &["--dead-before", "eternity", "--dry-run"]] {
        assert_eq!(outbox(&db.url(), &[&["redrive"], args].concat()).await.code, Some(2));
    }
    assert_eq!(db.status(id).await, "dead");
}

#[tokio::test]
async fn purge_deletes_batch_after_batch_what_is_past_its_retention() {
    let db = Database::fresh().await;
    db.pending(25).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '8 days' WHERE id <= 23")
        .await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '6 days' WHERE id = 24")
        .await;
    let mut command =
        super::command(&db.url_as("outbox_admin").await, &["purge", "--output", "json"]);
    command.env("OUTBOX_PURGE_BATCH_SIZE", "10");
    let ended = outbox_tests::Process::start(command).ended().await;
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&report["purged"], &report["drained"]), (&json!(23), &json!(true)));
    assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.message").await, 2);
}

#[tokio::test]
async fn a_pause_takes_effect_at_the_next_claim_and_is_written_down() {
    let db = Database::fresh().await;
    let pending = db.pending(1).await;
    let claim = async || {
        let quotas = [crate::claim::quota("orders", 9)];
        crate::claim::ids(&crate::claim::claim(&db.store(), &quotas).await)
    };
    for name in [&["orders"][..], &[]] {
        let (paused, code) =
            answer(&db, &[&["pause"], name, &["--reason", "repair"]].concat()).await;
        assert_eq!((paused, code), (json!({"paused": true}), Some(0)));
        assert!(claim().await.is_empty(), "{name:?}");
        let (again, code) = answer(&db, &[&["pause"], name, &["--reason", "other"]].concat()).await;
        assert_eq!((again, code), (json!({"paused": false}), Some(1)));
        let (resumed, code) =
            answer(&db, &[&["resume"], name, &["--reason", "done"]].concat()).await;
        assert_eq!((resumed, code), (json!({"resumed": true}), Some(0)));
    }
    assert_eq!(claim().await, pending);
    let (resumed, code) = answer(&db, &["resume", "events", "--reason", "done"]).await;
    assert_eq!((resumed, code), (json!({"resumed": false}), Some(1)));

    let audit = "SELECT string_agg(format('%s %s %s', action, selection ->> 'destination', reason), ', ' ORDER BY id)
                 FROM outbox.audit";
    assert_eq!(
        db.value::<String>(audit).await,
        "pause orders repair, resume orders done, pause * repair, resume * done"
    );
}

/// A group that a dead message holds, and a destination whose requests fail.
#[tokio::test]
async fn status_shows_what_is_held_or_cut_off_and_resume_lets_it_go_on() {
    let db = Database::fresh().await;
    db.insert(3, "'orders'", "'customer-7'").await;
    db.pending(1).await;
    db.run(
        "UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused', holds_group = true WHERE id = 1;
         INSERT INTO outbox.destination (name, failed_requests, breaker_opened_at, probe_at)
         VALUES ('orders', 3, now(), now())",
    )
    .await;
    let (status, code) = answer(&db, &["status"]).await;
    let of = |status: &Value| {
        ["healthy", "held_groups", "held", "dead"].map(|name| status[name].clone())
    };
    assert_eq!((of(&status), code), ([json!(false), json!(1), json!(2), json!(1)], Some(1)));
    assert_eq!(status["destinations"][0]["breaker_open"], true);
    assert_eq!(status["dead_letters"][0]["messages"], 1);
    let ended = outbox(&db.url(), &["status"]).await;
    for said in [
        "orders (breaker)",
        "orders: no code",
        "held by a dead message: 1 group with 2 messages behind, for orders",
        "breaker open for orders",
    ] {
        assert!(ended.stdout.contains(said), "{}", ended.output);
    }
    let widest = ended.stdout.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{}", ended.output);

    let resume = async |args: &[&str]| {
        let (answer, code) =
            answer(&db, &[&["resume"], args, &["--reason", "order 42 is void"]].concat()).await;
        (answer["resumed"].as_bool(), code)
    };
    let held = ["orders", "--group", "customer-7"];
    assert_eq!(resume(&held).await, (Some(true), Some(0)));
    assert_eq!(resume(&held).await, (Some(false), Some(1)));
    assert_eq!(resume(&["orders"]).await, (Some(true), Some(0)));
    let (status, _) = answer(&db, &["status"]).await;
    assert_eq!(of(&status), [json!(false), json!(0), json!(0), json!(1)], "still dead");
    assert_eq!(status["destinations"][0]["breaker_open"], false);
    let ended = outbox(&db.url(), &["resume", "--group", "g", "--reason", "void"]).await;
    assert_eq!(ended.code, Some(2));
    assert!(sentence(&ended).contains("needs its destination"), "{}", ended.output);
}

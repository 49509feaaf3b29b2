//! `outbox tail`

use outbox_tests::{Database, Process, eventually};
use serde_json::Value;

use super::command;

fn tail(db: &Database, args: &[&str]) -> Process {
    Process::start(command(&db.url(), &[&["tail", "--output", "ndjson"], args].concat()))
}

/// What it has told so far: ids and events.
fn told(tail: &Process) -> Vec<(i64, String)> {
    let output = tail.output();
    let events = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.map(|e| (e["id"].as_i64().unwrap(), e["event"].as_str().unwrap().to_owned())).collect()
}

async fn tells(tail: &Process, expected: &[(i64, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(id, event)| (*id, (*event).to_owned())).collect();
    let all = || async { (told(tail).len() >= expected.len()).then(|| told(tail)) };
    assert_eq!(eventually("the events", all).await, expected);
}

/// It has looked once when its statement was seen at the server.
async fn is_following(db: &Database) {
    let asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                 AND query = 'COMMIT' AND application_name LIKE 'outbox%'";
    let has_asked = || async { (db.value::<i64>(asked).await > 0).then_some(()) };
    eventually("the tail's first look", has_asked).await;
}

#[tokio::test]
async fn a_tail_tells_what_happens_also_when_a_lower_id_is_committed_later() {
    let db = Database::fresh().await;
    db.pending(1).await;
    let tail = tail(&db, &[]);
    is_following(&db).await;
    // The sequence gives 2 to a transaction that is still open when 3 is committed. An event of the message that was there
    // shows that it is followed.
    let open = db.connect().await;
    let insert = "INSERT INTO outbox.message (destination, message_type, payload) VALUES ('orders', 't', 'p')";
    open.batch_execute(&format!("BEGIN; {insert}")).await.unwrap();
    db.run(insert).await;
    tells(&tail, &[(3, "enqueued")]).await;
    open.batch_execute("COMMIT").await.unwrap();
    tells(&tail, &[(3, "enqueued"), (2, "enqueued")]).await;

    db.run("UPDATE outbox.message SET dispatched_at = now() WHERE id = 3").await;
    tells(&tail, &[(3, "enqueued"), (2, "enqueued"), (3, "dispatched")]).await;
    db.run(
        "UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused', last_error_code = 'InvalidParameterValue'
         WHERE id = 1",
    )
    .await;
    let so_far = [(3, "enqueued"), (2, "enqueued"), (3, "dispatched"), (1, "dead")];
    tells(&tail, &so_far).await;
    db.run("UPDATE outbox.message SET dead_at = NULL, dead_reason = NULL WHERE id = 1").await;
    tells(&tail, &[&so_far[..], &[(1, "redriven")]].concat()).await;

    tail.interrupt();
    assert_eq!(tail.ended().await.code, Some(0));
}

#[tokio::test]
async fn a_tail_tells_only_what_is_asked_for() {
    let db = Database::fresh().await;
    let tail = tail(&db, &["--destination", "events", "--status", "dead"]);
    is_following(&db).await;
    db.insert(4, "CASE WHEN i > 2 THEN 'events' ELSE 'orders' END", "NULL").await;
    db.run("UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused' WHERE id IN (1, 4)")
        .await;
    tells(&tail, &[(4, "dead")]).await;
    tail.interrupt();
    assert_eq!(tail.ended().await.code, Some(0));
}

//! Every run leaves a row, and none fails or waits for it.

use std::time::{Duration, Instant};

use outbox_tests::endpoint::Endpoint;
use outbox_tests::{Database, Function, Process, eventually, program};
use serde_json::json;
use tokio_postgres::error::SqlState;

use super::{age_messages, ran, status};
use crate::function::{MINUTE, set_up};

/// The rows, oldest first, in one text.
async fn rows(db: &Database, columns: &str) -> Vec<String> {
    let sql = format!(
        "SELECT coalesce(array_agg(format('%s %s', function, {columns}) ORDER BY id), '{{}}') FROM outbox.run"
    );
    db.value(&sql).await
}

#[tokio::test]
async fn every_run_of_the_relay_leaves_a_row_an_empty_one_too() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = Function::start(set_up("relay", &db.url_as("outbox_relay").await, &endpoint)).await;
    db.pending(3).await;
    for _ in 0..2 {
        relay.invoke(&json!({}), MINUTE).await.unwrap();
    }
    let numbers = "concat_ws(' ', report ->> 'dispatched', report ->> 'drained', error_code)";
    assert_eq!(rows(&db, numbers).await, ["relay 3 true", "relay 0 true"]);
    let (status, problems) = status(&db).await;
    assert!(problems.is_empty(), "{status}");
    let last = &status["last_runs"]["relay"];
    assert_eq!(last["run_by"].as_str().unwrap().split('/').next(), Some("relay"));
    assert_eq!(last["report"]["dispatched"], 0);
    assert!(last["duration_seconds"].as_f64() > Some(0.0), "{last}");
    let is_now =
        "SELECT bool_and(ended_at <= clock_timestamp() AND ended_at > now() - interval '5 minutes'
                                  AND db_user LIKE 'login%') FROM outbox.run";
    assert!(db.value::<bool>(is_now).await);
}

#[tokio::test]
async fn a_failed_run_leaves_its_error_code_and_what_it_had_done() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = Function::start(set_up("relay", &db.url(), &endpoint)).await;
    db.pending(1).await;
    db.refuse("NEW.dispatched_at IS NOT NULL", "XX001").await;
    relay.invoke(&json!({}), MINUTE).await.unwrap_err();
    assert_eq!(rows(&db, "error_code || (report -> 'claimed')").await, ["relay XX0011"]);
    let (status, problems) = status(&db).await;
    assert_eq!(problems, ["relay_failed"], "{status}");
}

#[tokio::test]
async fn a_purge_leaves_a_row_whether_it_was_through_or_failed() {
    let db = Database::fresh().await;
    db.pending(1_000).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '30 days'").await;
    crate::purge::fail_deletes(&db, "= 3", "RAISE 'fault' USING ERRCODE = '23514'").await;
    let mut command = program("purge");
    command.env("OUTBOX_DATABASE_URL", db.url());
    Function::start(command).await.invoke(&json!({}), MINUTE).await.unwrap_err();
    assert_eq!(status(&db).await.1, ["purge_failed"]);

    db.run("DROP FUNCTION fail CASCADE").await;
    let mut command = program("purge");
    command.env("OUTBOX_DATABASE_URL", db.url_as("outbox_admin").await);
    Function::start(command).await.invoke(&json!({}), MINUTE).await.unwrap();
    let numbers = "concat_ws(' ', report ->> 'purged', error_code)";
    assert_eq!(rows(&db, numbers).await, ["purge 300 23514", "purge 700"]);
    let (status, problems) = status(&db).await;
    assert!(problems.is_empty(), "{status}");
    assert_eq!(status["last_runs"]["purge"]["report"]["purged"], 700);
}

/// The rights of a database that somebody has set up by hand, and a table that somebody has locked.
#[tokio::test]
async fn a_run_whose_row_can_not_be_written_is_a_good_run_and_waits_a_moment_only() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = Function::start(set_up("relay", &db.url_as("outbox_relay").await, &endpoint)).await;
    db.run("REVOKE EXECUTE ON FUNCTION outbox.record_run FROM outbox_relay").await;
    db.pending(1).await;
    assert_eq!(relay.invoke(&json!({}), MINUTE).await.unwrap()["dispatched"], 1);
    let logged = || async { relay.process.logged("run is not written down in outbox.run") };
    let logged = eventually("the log line", logged).await;
    assert_eq!((&logged["level"], &logged["error.type"]), (&json!("WARN"), &json!("42501")));

    db.run("GRANT EXECUTE ON FUNCTION outbox.record_run TO outbox_relay").await;
    let mut other = db.connect().await;
    let lock = other.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE outbox.run").await.unwrap();
    db.pending(1).await;
    let started = Instant::now();
    assert_eq!(relay.invoke(&json!({}), MINUTE).await.unwrap()["dispatched"], 1);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let logged = || async {
        let logged = relay.process.logged("run is not written down in outbox.run")?;
        (logged["error.type"] == "55P03").then_some(())
    };
    eventually("the log line of the lock", logged).await;
}

#[tokio::test]
async fn a_long_running_relay_that_is_stopped_leaves_a_row_too() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let mut command = set_up("outbox", &db.url_as("outbox_relay").await, &endpoint);
    command.arg("relay");
    let relay = Process::start(command);
    db.pending(1).await;
    eventually("a dispatched message", async || (db.count("dispatched").await == 1).then_some(()))
        .await;
    relay.terminate();
    assert_eq!(relay.ended().await.code, Some(0));
    assert_eq!(rows(&db, "report -> 'dispatched'").await, ["relay 1"]);
}

#[tokio::test]
async fn a_relay_that_has_not_run_for_ten_minutes_is_a_problem() {
    let db = Database::fresh().await;
    ran(&db, "relay", 590, "NULL").await;
    assert!(status(&db).await.1.is_empty());
    db.run("TRUNCATE outbox.run").await;
    ran(&db, "relay", 620, "NULL").await;
    let (status_now, problems) = status(&db).await;
    assert_eq!(problems, ["relay_not_running"], "with nothing to do, too");
    let said = status_now["problems"][0]["text"].as_str().unwrap();
    assert!(said.contains("no relay has run for 10 min 2"), "{said}");

    db.run("TRUNCATE outbox.run").await;
    db.pending(1).await;
    assert!(status(&db).await.1.is_empty(), "the timer may not have come yet");
    age_messages(&db, "11 minutes").await;
    assert_eq!(status(&db).await.1, ["relay_not_running", "due_too_long"]);
    db.run("UPDATE outbox.message SET available_at = now() + interval '1 day'").await;
    assert_eq!(status(&db).await.1, ["relay_not_running"], "though nothing is due");
}

#[tokio::test]
async fn old_runs_are_forgotten_a_few_at_a_time_and_the_latest_of_each_function_stays() {
    let db = Database::fresh().await;
    db.run(
        "INSERT INTO outbox.run (function, run_by, started_at, ended_at, report)
         SELECT CASE WHEN i = 0 THEN 'purge' ELSE 'relay' END, 'old', t, t, '{}'
         FROM generate_series(0, 150) AS i, LATERAL (SELECT now() - interval '8 days' - i * interval '1 minute') AS d (t)",
    )
    .await;
    for left in [50, 0, 0] {
        ran(&db, "relay", 0, "NULL").await;
        let old = "SELECT count(*) FROM outbox.run WHERE function = 'relay' AND run_by = 'old'";
        assert_eq!(db.value::<i64>(old).await, left);
    }
    let (status, _) = status(&db).await;
    assert_eq!(status["last_runs"]["purge"]["run_by"], "old");
    assert!(status["notes"].to_string().contains("no purge has run for 8 d 0 h"), "{status}");
}

#[tokio::test]
async fn nobody_writes_the_runs_but_through_their_function() {
    let db = Database::fresh().await;
    for (role, may) in [("outbox_relay", "record_run"), ("outbox_admin", "oldest_transaction")] {
        let (client, connection) =
            tokio_postgres::connect(&db.url_as(role).await, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let record = "SELECT outbox.record_run('relay', repeat('x', 300), -5, NULL, '{}')";
        assert!(client.query_one(record, &[]).await.unwrap().get::<_, bool>(0));
        let mut forbidden = vec![
            "INSERT INTO outbox.run (function, run_by, started_at, ended_at, report)
             VALUES ('relay', 'x', now(), now(), '{}')",
            "UPDATE outbox.run SET error_code = NULL",
            "DELETE FROM outbox.run",
        ];
        if may == "record_run" {
            forbidden.extend(["SELECT * FROM outbox.run", "SELECT outbox.oldest_transaction()"]);
        }
        for sql in forbidden {
            let error = client.batch_execute(sql).await.expect_err(sql);
            assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{sql}");
        }
    }
    let producer = db.url_as("outbox_producer").await;
    let (client, connection) =
        tokio_postgres::connect(&producer, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    for sql in [
        "SELECT outbox.record_run('relay', 'x', 0, NULL, '{}')",
        "SELECT outbox.oldest_transaction()",
    ] {
        let error = client.batch_execute(sql).await.expect_err(sql);
        assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{sql}");
    }
}

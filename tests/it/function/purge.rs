//! The purge function.

use std::time::Duration;

use outbox_tests::endpoint::{Answer, Endpoint, Gate};
use outbox_tests::{Bucket, Database, Function, Process, ScriptedS3, eventually, program};
use serde_json::{Value, json};

use super::{MINUTE, set_up};
use crate::purge::{left, one_to_purge_and_four_to_keep};

/// Case R15.
#[tokio::test]
async fn the_purge_function_deletes_dispatched_messages_past_retention_and_nothing_else() {
    let db = Database::fresh().await;
    let kept = one_to_purge_and_four_to_keep(&db).await;
    let mut command = program("purge");
    command.env("OUTBOX_DATABASE_URL", db.url_as("outbox_admin").await);
    let purge = Function::start(command).await;
    for (event, purged) in [(json!({}), 1), (Value::Null, 0), (json!("again"), 0)] {
        let report = purge.invoke(&event, MINUTE).await.unwrap();
        let duration_ms = &report["duration_ms"];
        let expected = json!({
            "purged": purged, "archived": 0, "objects": 0, "drained": true, "duration_ms": duration_ms
        });
        assert_eq!(report, expected);
    }
    assert_eq!(left(&db).await, kept);
}

/// Case R17: within the margin before its deadline it still does one batch, so that it gets on in any case.
#[tokio::test]
async fn the_purge_function_stops_by_its_deadline_and_the_next_invocation_goes_on() {
    let db = Database::fresh().await;
    let mut command = program("purge");
    command
        .env("OUTBOX_DATABASE_URL", db.url())
        .env("OUTBOX_PURGE_BATCH_SIZE", "4")
        .env("OUTBOX_DEADLINE_MARGIN_MS", "20000");
    let purge = Function::start(command).await;
    db.pending(10).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '30 days'").await;
    let hurried = purge.invoke(&json!({}), Duration::from_secs(15)).await.unwrap();
    assert_eq!((&hurried["purged"], &hurried["drained"]), (&json!(4), &json!(false)));
    let report = purge.invoke(&json!({}), MINUTE).await.unwrap();
    assert_eq!((&report["purged"], &report["drained"]), (&json!(6), &json!(true)));
}

/// Case L01.
#[tokio::test]
async fn a_purge_that_gets_no_answer_does_not_keep_a_function_past_its_deadline() {
    let db = Database::fresh().await;
    let mut command = outbox_tests::program("purge");
    command.env("OUTBOX_DATABASE_URL", db.url());
    let function = Function::start(command).await;
    let mut other = db.connect().await;
    let lock = other.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE outbox.message").await.unwrap();
    let answer = function.invoke(&json!({}), Duration::from_secs(5)).await;
    assert!(answer.is_err(), "{answer:?}");
}

/// As an operator's ALTER DATABASE would.
pub(super) const SLOW_STORAGE: &str = "
    CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(TG_ARGV[0]::float8); RETURN coalesce(NEW, OLD); END $$";

/// Old dispatched messages, and storage on which each delete of that `kind` takes so many seconds more.
async fn backlog_on_slow_storage(db: &Database, n: i64, kind: &str, seconds: &str) {
    db.pending(n).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '30 days'").await;
    db.run(SLOW_STORAGE).await;
    db.run(&format!(
        "CREATE TRIGGER slow BEFORE DELETE ON outbox.message FOR EACH {kind} EXECUTE FUNCTION slow('{seconds}')"
    ))
    .await;
}

/// Sessions of the database that wait for a lock of another.
async fn lock_waits(db: &Database) -> i64 {
    db.value(
        "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0",
    )
    .await
}

/// Messages that are enqueued and published one after the other while the purge runs; none of it waits for a lock.
async fn published_meanwhile(
    db: &Database,
    endpoint: &Endpoint,
    purge: impl Future<Output = Value>,
) -> (Value, usize) {
    tokio::pin!(purge);
    let mut n_published = 0;
    loop {
        let n_accepted = endpoint.accepted().len();
        db.pending(1).await;
        let published = eventually("a message that is published beside a purge", async || {
            assert_eq!(lock_waits(db).await, 0);
            (endpoint.accepted().len() > n_accepted).then_some(())
        });
        tokio::pin!(published);
        tokio::select! {
            report = &mut purge => {
                published.await;
                return (report, n_published);
            }
            () = &mut published => n_published += 1,
        }
    }
}

/// Case R17, with fewer rows and storage that makes up for it: 120 statements of at least 50 ms do not fit into the two
/// seconds that each run has.
#[tokio::test]
async fn a_large_backlog_is_purged_run_after_run_beside_a_relay_that_never_waits_for_a_lock() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    backlog_on_slow_storage(&db, 60_000, "STATEMENT", "0.05").await;
    let mut relay = set_up("outbox", &db.url(), &endpoint);
    relay.arg("relay").env("OUTBOX_POLL_MS", "20");
    let _relay = Process::start(relay);
    let mut command = program("purge");
    command.env("OUTBOX_DATABASE_URL", db.url()).env("OUTBOX_PURGE_BATCH_SIZE", "500");
    let purge = Function::start(command).await;

    let (mut purged, mut n_runs) = (0, 0);
    let old = "SELECT count(*) FROM outbox.message WHERE dispatched_at < now() - interval '7 days'";
    loop {
        let invocation = async { purge.invoke(&json!({}), Duration::from_secs(5)).await.unwrap() };
        let (report, n_published) = published_meanwhile(&db, &endpoint, invocation).await;
        n_runs += 1;
        purged += report["purged"].as_i64().unwrap();
        assert_eq!(db.value::<i64>(old).await, 60_000 - purged, "each run keeps what it has done");
        if report["drained"] == json!(true) {
            break;
        }
        assert!(n_published > 0, "nothing was published during run {n_runs}");
    }
    assert_eq!(purged, 60_000);
    assert!(n_runs >= 3, "{n_runs}");
}

/// Case R17: a statement of the full batch would take 8 s, and none would ever come to its end.
#[tokio::test]
async fn on_slow_storage_the_batches_are_small_enough_to_get_on_within_a_short_deadline() {
    let db = Database::fresh().await;
    backlog_on_slow_storage(&db, 2_000, "ROW", "0.004").await;
    let mut command = program("purge");
    command.env("OUTBOX_DATABASE_URL", db.url());
    let purge = Function::start(command).await;
    let mut purged = 0;
    for _ in 0..2 {
        let report = purge.invoke(&json!({}), Duration::from_secs(5)).await.unwrap();
        assert_eq!(report["drained"], json!(false));
        assert!(report["purged"].as_i64() >= Some(100), "{report}");
        purged += report["purged"].as_i64().unwrap();
    }
    assert_eq!(db.count("dispatched").await, 2_000 - purged);
}

#[tokio::test]
async fn a_purge_that_fails_answers_and_logs_what_it_had_done() {
    let db = Database::fresh().await;
    db.pending(1_000).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '30 days'").await;
    crate::purge::fail_deletes(&db, "= 3", "RAISE 'fault' USING ERRCODE = '23514'").await;
    let mut command = program("purge");
    command.env("OUTBOX_DATABASE_URL", db.url());
    let purge = Function::start(command).await;
    let error = purge.invoke(&json!({}), MINUTE).await.unwrap_err();
    assert_eq!(error["errorType"], "23514");
    let said = error["errorMessage"].as_str().unwrap();
    assert!(said.ends_with("; purged 300 messages before that"), "{said}");
    let log = purge.process.output();
    assert!(log.contains(r#""purged":300"#), "{log}");
}

/// Case R15, under the role that it is meant for.
#[tokio::test]
async fn the_purge_function_archives_what_it_deletes() {
    let db = Database::fresh().await;
    let bucket = Bucket::create().await;
    let kept = one_to_purge_and_four_to_keep(&db).await;
    let mut command = program("purge");
    command
        .env("OUTBOX_DATABASE_URL", db.url_as("outbox_admin").await)
        .env("OUTBOX_ARCHIVE", bucket.archive_url())
        .env("AWS_ENDPOINT_URL", outbox_tests::Queue::endpoint_url());
    let purge = Function::start(command).await;
    for (n, n_objects) in [(1, 1), (0, 0)] {
        let report = purge.invoke(&json!({}), MINUTE).await.unwrap();
        let duration_ms = &report["duration_ms"];
        let expected = json!({
            "purged": n, "archived": n, "objects": n_objects, "drained": true, "duration_ms": duration_ms
        });
        assert_eq!(report, expected);
    }
    assert_eq!(left(&db).await, kept);
    let logged = async || purge.process.logged("purge finished");
    let logged = eventually("the purge's log line", logged).await;
    assert_eq!(logged["archive"], bucket.archive_url());
    assert_eq!(bucket.objects().await.into_values().map(|lines| lines.len()).sum::<usize>(), 1);
}

/// A purge function that archives at the scripted S3.
async fn archiving(db: &Database, s3: &ScriptedS3) -> Function {
    let mut command = program("purge");
    command
        .env("OUTBOX_DATABASE_URL", db.url())
        .env("OUTBOX_ARCHIVE", "s3://archive/outbox")
        .env("AWS_ENDPOINT_URL_S3", s3.url());
    Function::start(command).await
}

#[tokio::test]
async fn a_function_killed_between_an_object_and_its_deletes_loses_nothing() {
    let db = Database::fresh().await;
    let s3 = ScriptedS3::start();
    let ids = crate::archive::old(&db, 10).await;
    s3.answer_next([Answer::Accept.behind(&Gate::closed())]);
    let killed = archiving(&db, &s3).await;
    let event = json!({});
    tokio::select! {
        answer = killed.invoke(&event, MINUTE) => panic!("answered though held: {answer:?}"),
        () = s3.calls_reached(1) => killed.process.kill().await,
    }
    assert_eq!(left(&db).await, ids);
    let report = archiving(&db, &s3).await.invoke(&event, MINUTE).await.unwrap();
    assert_eq!((&report["purged"], &report["objects"]), (&json!(10), &json!(1)));
    assert_eq!(s3.objects().into_values().map(|lines| lines.len()).collect::<Vec<_>>(), [10]);
}

#[tokio::test]
async fn a_function_whose_archive_refuses_or_hangs_fails_in_time_and_says_which_object() {
    let db = Database::fresh().await;
    let s3 = ScriptedS3::start();
    let ids = crate::archive::old(&db, 10).await;
    let purge = archiving(&db, &s3).await;
    let refusal = Answer::error(403, "AccessDenied", "no");
    for (answer, code) in [(refusal, "AccessDenied"), (Answer::Hang, "timeout")] {
        s3.answer_next([answer]);
        let error = purge.invoke(&json!({}), Duration::from_secs(6)).await.unwrap_err();
        let said = error["errorMessage"].as_str().unwrap();
        assert_eq!(error["errorType"], code, "{said}");
        assert!(said.contains("s3://archive/outbox/dispatched/2026/01/15/1-10-"), "{said}");
        assert!(said.ends_with("; nothing was purged"), "{said}");
        assert_eq!(left(&db).await, ids);
    }
    let report = purge.invoke(&json!({}), MINUTE).await.unwrap();
    assert_eq!((&report["purged"], &report["drained"]), (&json!(10), &json!(true)));
}

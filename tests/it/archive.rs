//! The archive: no message is deleted before an object that holds it was acknowledged, whatever happens between.
//!
//! The scripted S3 stores an object and holds its answer back, so that what happens between the two is an interleaving
//! and not a matter of time. What needs no fault is on the local stack's S3.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use outbox_admin::{Purge, PurgeError, PurgeReport, TimeLimits};
use outbox_archive::Archive;
use outbox_store::Store;
use outbox_tests::endpoint::{Answer, Gate};
use outbox_tests::{Bucket, Database, ScriptedS3};
use serde_json::{Value, json};

use crate::purge::{WEEK, left, one_to_purge_and_four_to_keep};

/// Messages that were dispatched a month ago, in the order of their ids.
pub(crate) async fn old(db: &Database, n: i64) -> Vec<i64> {
    let ids = db.pending(n).await;
    db.run(
        "UPDATE outbox.message
         SET dispatched_at = '2026-01-15T12:00:00Z'::timestamptz + id * interval '1 millisecond',
             broker_message_id = 'b' || id, attempts = 1
         WHERE dispatched_at IS NULL",
    )
    .await;
    ids
}

/// One run of the purge, in the test's own process.
async fn purge(store: &Store, archive: &Archive) -> Result<PurgeReport, PurgeError> {
    purge_within(store, archive, TimeLimits::default()).await
}

async fn purge_within(
    store: &Store,
    archive: &Archive,
    limits: TimeLimits,
) -> Result<PurgeReport, PurgeError> {
    let purge =
        Purge { store, retention: WEEK, batch_size: 2_000, archive: Some(archive), run_by: "test" };
    purge.run(limits, |_| ()).await
}

/// The counts of a report: purged, archived, objects.
fn counts(report: &PurgeReport) -> (u64, u64, u64) {
    (report.purged, report.archived, report.objects)
}

/// The payloads in the archive by id; copies of a row must be the same.
fn payloads(objects: &BTreeMap<String, Vec<String>>) -> BTreeMap<i64, String> {
    let mut payloads = BTreeMap::new();
    for line in objects.values().flatten() {
        let line: Value = serde_json::from_str(line).unwrap();
        let payload = line["payload"].as_str().unwrap().to_owned();
        let other = payloads.insert(line["id"].as_i64().unwrap(), payload.clone());
        assert!(other.is_none_or(|other| other == payload), "{line}");
    }
    payloads
}

fn ids(objects: &BTreeMap<String, Vec<String>>) -> Vec<i64> {
    payloads(objects).into_keys().collect()
}

/// Case R15.
#[tokio::test]
async fn what_is_archived_and_purged_is_dispatched_past_retention_and_nothing_else() {
    let db = Database::fresh().await;
    let bucket = Bucket::create().await;
    let kept = one_to_purge_and_four_to_keep(&db).await;
    let report = purge(&db.store(), &bucket.archive()).await.unwrap();
    assert_eq!((counts(&report), report.drained), ((1, 1, 1), true));
    assert_eq!(left(&db).await, kept);
    assert_eq!(ids(&bucket.objects().await).len(), 1);
}

#[tokio::test]
async fn a_line_has_every_column_and_the_payload_byte_for_byte() {
    let db = Database::fresh().await;
    let bucket = Bucket::create().await;
    let payload =
        "{\"a\": 1.10, \"b\":\"\\u0000\\n\"}\r\n\t\u{1}\u{7f}\u{2028} Grüße, \u{1f980} \"q\" \\ ";
    let sql = "INSERT INTO outbox.message (id, message_id, created_at, destination, message_group, message_type,
                   content_type, correlation_id, traceparent, tracestate, headers, payload, dispatched_at,
                   broker_message_id, attempts)
               VALUES (7, '0192a4c8-1111-7abc-8def-000000000042', '2026-01-15T23:59:59.123456+00', 'orders', 'g-1',
                   'order.placed.v1', 'text/plain', 'order-42', '00-aa-bb-01', 'a=1',
                   '{\"amount\": 12345678901234567890.10, \"tenant\": \"acme\"}', $1, '2026-01-16T00:00:01+00', 'b-1', 3)";
    db.client.execute(sql, &[&payload]).await.unwrap();
    // A session's own settings must not show in what is kept for years.
    db.run(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = ''Asia/Tokyo''', current_database()); END $$;
         DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET datestyle = ''German''', current_database()); END $$",
    )
    .await;
    purge(&db.store(), &bucket.archive()).await.unwrap();
    let objects = bucket.objects().await;
    let (key, lines) = objects.first_key_value().unwrap();
    assert!(key.starts_with("outbox/dispatched/2026/01/16/7-7-"), "{key}");
    assert!(lines[0].contains("12345678901234567890.10"), "{}", lines[0]);
    let mut line: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(line["headers"].take()["tenant"], "acme");
    let expected = json!({
        "id": 7, "message_id": "0192a4c8-1111-7abc-8def-000000000042", "destination": "orders",
        "message_group": "g-1", "message_type": "order.placed.v1", "content_type": "text/plain",
        "correlation_id": "order-42", "traceparent": "00-aa-bb-01", "tracestate": "a=1", "headers": null,
        "payload": payload, "created_at": "2026-01-15T23:59:59.123456Z", "dispatched_at": "2026-01-16T00:00:01Z",
        "broker_message_id": "b-1", "attempts": 3,
    });
    assert_eq!(line, expected);
}

#[tokio::test]
async fn a_backlog_becomes_objects_of_ten_thousand_messages_each_of_one_day() {
    let db = Database::fresh().await;
    let s3 = ScriptedS3::start();
    old(&db, 12_345).await;
    db.run("UPDATE outbox.message SET dispatched_at = '2026-01-14T23:59:59.999Z' WHERE id <= 45")
        .await;
    let report = purge(&db.store(), &s3.archive()).await.unwrap();
    assert_eq!((counts(&report), report.drained), ((12_345, 12_345, 3), true));
    let objects = s3.objects();
    let sizes: Vec<_> = objects.iter().map(|(key, lines)| (&key[27..37], lines.len())).collect();
    assert_eq!(sizes, [("2026/01/14", 45), ("2026/01/15", 2_300), ("2026/01/15", 10_000)]);
    assert_eq!(ids(&objects), (1..=12_345).collect::<Vec<_>>());
    assert_eq!(db.statuses().await, BTreeMap::new());
}

#[tokio::test]
async fn what_is_read_for_an_object_is_bounded_in_number_and_bytes_and_never_empty() {
    let db = Database::fresh().await;
    old(&db, 9).await;
    db.run("UPDATE outbox.message SET payload = repeat('x', 1000000) WHERE id IN (2, 3, 9)").await;
    let store = db.store();
    let read = async |max_messages, max_bytes| {
        let messages = store.purgeable(WEEK, max_messages, max_bytes).await.unwrap();
        messages.iter().map(|message| message.id).collect::<Vec<_>>()
    };
    assert_eq!(read(5, 16 << 20).await, [1, 2, 3, 4, 5]);
    assert_eq!(read(9, 1_000_100).await, [1, 2]);
    db.run("DELETE FROM outbox.message WHERE id = 1").await;
    assert_eq!(read(9, 1_000).await, [2], "one that is too large comes alone");
    db.run("DELETE FROM outbox.message").await;
    assert_eq!(read(9, 1_000).await, [0; 0]);
}

#[tokio::test]
async fn nothing_to_purge_makes_no_object_and_no_call() {
    let db = Database::fresh().await;
    let s3 = ScriptedS3::start();
    db.pending(3).await;
    let report = purge(&db.store(), &s3.archive()).await.unwrap();
    assert_eq!((counts(&report), report.drained, s3.calls()), ((0, 0, 0), true, 0));
}

/// Nothing is deleted, the error names the object and says why, and once S3 is back the next run does it.
async fn fails_then_succeeds(answers: &[Answer], code: &str, is_stored: bool) {
    let db = Database::fresh().await;
    let s3 = ScriptedS3::start();
    let ids = old(&db, 3).await;
    db.run("UPDATE outbox.message SET payload = 's3cret'").await;
    s3.answer_next(answers.iter().cloned());
    let soon = Some(Instant::now() + Duration::from_secs(5));
    let limits = TimeLimits { start_until: soon, end_by: soon };
    let PurgeError { report, failure } =
        purge_within(&db.store(), &s3.archive(), limits).await.unwrap_err();
    assert_eq!((counts(&report), report.drained), ((0, 0, 0), false));
    let said = failure.to_string();
    assert!(said.contains("s3://archive/outbox/dispatched/2026/01/15/1-3-"), "{said}");
    assert!(said.contains(code) && !said.contains("s3cret"), "{said}");
    assert_eq!(left(&db).await, ids);
    assert_eq!(s3.objects().len(), usize::from(is_stored), "{code}");

    let report = purge(&db.store(), &s3.archive()).await.unwrap();
    assert_eq!((counts(&report), report.drained), ((3, 3, 1), true));
    let objects = s3.objects();
    assert_eq!((objects.len(), payloads(&objects).len()), (1, 3), "the same object again");
}

#[tokio::test]
async fn an_s3_that_refuses_an_object_keeps_its_messages() {
    let denied = Answer::error(403, "AccessDenied", "not authorized to perform: s3:PutObject");
    fails_then_succeeds(&[denied], "AccessDenied", false).await;
    let no_bucket = Answer::error(404, "NoSuchBucket", "The specified bucket does not exist");
    fails_then_succeeds(&[no_bucket], "NoSuchBucket", false).await;
}

#[tokio::test]
async fn an_s3_that_is_overloaded_or_answers_nonsense_keeps_its_messages() {
    let slow_down = || Answer::error(503, "SlowDown", "Please reduce your request rate.");
    fails_then_succeeds(&[slow_down(), slow_down(), slow_down()], "SlowDown", false).await;
    let page = || Answer::raw(502, "<html>Bad gateway</html>");
    fails_then_succeeds(&[page(), page(), page()], "unreadable_answer", false).await;
}

#[tokio::test]
async fn an_s3_that_gives_no_answer_keeps_its_messages_whether_it_stored_them_or_not() {
    fails_then_succeeds(&[Answer::Hang], "timeout", false).await;
    fails_then_succeeds(&[Answer::Accept.behind(&Gate::closed())], "timeout", true).await;
    fails_then_succeeds(&[Answer::Drop, Answer::Drop, Answer::Drop], "request_failed", true).await;
}

#[tokio::test]
async fn an_s3_that_is_down_keeps_its_messages() {
    let db = Database::fresh().await;
    let ids = old(&db, 3).await;
    let archive = {
        let s3 = ScriptedS3::start();
        s3.archive()
    };
    let said = purge(&db.store(), &archive).await.unwrap_err().to_string();
    assert!(said.contains("s3://archive/outbox/") && said.contains("request_failed"), "{said}");
    assert_eq!(left(&db).await, ids);
}

#[tokio::test]
async fn a_short_failure_of_s3_is_no_failure_of_the_run() {
    let db = Database::fresh().await;
    let s3 = ScriptedS3::start();
    old(&db, 3).await;
    s3.answer_next([Answer::error(503, "SlowDown", ""), Answer::Drop]);
    let report = purge(&db.store(), &s3.archive()).await.unwrap();
    assert_eq!((counts(&report), s3.calls()), ((3, 3, 1), 3));
}

/// Runs a purge, and `meanwhile` when its object is stored and not acknowledged yet.
async fn purge_around(
    db: &Database,
    s3: &ScriptedS3,
    meanwhile: impl AsyncFnOnce(),
) -> PurgeReport {
    let gate = Gate::closed();
    s3.answer_next([Answer::Accept.behind(&gate)]);
    let (store, archive) = (db.store(), s3.archive());
    let calls = s3.calls() + 1;
    let interrupt = async {
        s3.calls_reached(calls).await;
        meanwhile().await;
        gate.open();
    };
    let (report, ()) = tokio::join!(purge(&store, &archive), interrupt);
    report.unwrap()
}

#[tokio::test]
async fn no_transaction_and_no_lock_is_held_while_an_object_is_written() {
    let db = Database::fresh().await;
    let s3 = ScriptedS3::start();
    old(&db, 3).await;
    let report = purge_around(&db, &s3, async || {
        let open = "SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
                      AND backend_type = 'client backend'";
        assert_eq!(db.value::<i64>(open).await, 0);
        let locks = "SELECT count(*) FROM pg_locks
                     WHERE relation = 'outbox.message'::regclass AND pid <> pg_backend_pid()
                       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                       AND mode <> 'ShareUpdateExclusiveLock'";
        assert_eq!(db.value::<i64>(locks).await, 0);
        assert_eq!(db.count("dispatched").await, 3, "nothing is deleted before it is archived");
    });
    assert_eq!(counts(&report.await), (3, 3, 1));
}

#[tokio::test]
async fn a_row_that_changes_while_it_is_archived_stays_and_is_archived_as_it_is_then() {
    let db = Database::fresh().await;
    let s3 = ScriptedS3::start();
    old(&db, 5).await;
    let report = purge_around(&db, &s3, async || {
        db.run(
            "UPDATE outbox.message SET payload = 'other' WHERE id = 2;
             UPDATE outbox.message SET dispatched_at = NULL WHERE id = 3;
             UPDATE outbox.message SET dispatched_at = now() WHERE id = 4",
        )
        .await;
    });
    let report = report.await;
    assert_eq!((report.purged, report.archived, report.drained), (3, 6, true));
    assert_eq!(left(&db).await, [3, 4]);
    let objects = s3.objects();
    let of_2 = objects.values().flatten().filter(|line| line.starts_with("{\"id\":2,"));
    let of_2: Vec<_> = of_2.map(|line| line.contains(r#""payload":"other""#)).collect();
    assert!(of_2.len() == 2 && of_2.contains(&true), "{objects:?}");
}

#[tokio::test]
async fn a_row_that_somebody_holds_stays_and_does_not_keep_the_purge_busy() {
    let db = Database::fresh().await;
    let s3 = ScriptedS3::start();
    let ids = old(&db, 4).await;
    let mut other = db.connect().await;
    let transaction = other.transaction().await.unwrap();
    let hold = "SELECT FROM outbox.message WHERE id = 2 FOR UPDATE";
    transaction.batch_execute(hold).await.unwrap();
    let report = purge(&db.store(), &s3.archive()).await.unwrap();
    assert_eq!((counts(&report), report.drained), ((3, 5, 2), false));
    assert_eq!(left(&db).await, [ids[1]]);
    transaction.rollback().await.unwrap();
    assert_eq!(purge(&db.store(), &s3.archive()).await.unwrap().purged, 1);
    assert_eq!(s3.objects().len(), 2, "the second time it was the same object");
}

#[tokio::test]
async fn two_purges_that_read_the_same_messages_write_the_same_object_and_delete_them_once() {
    let db = Database::fresh().await;
    let s3 = ScriptedS3::start();
    let ids_of_all = old(&db, 250).await;
    let slower = purge_around(&db, &s3, async || {
        let report = purge(&db.store(), &s3.archive()).await.unwrap();
        assert_eq!((counts(&report), report.drained), ((250, 250, 1), true));
    });
    assert_eq!(counts(&slower.await), (0, 250, 1));
    assert_eq!(s3.objects().len(), 1);
    assert_eq!(ids(&s3.objects()), ids_of_all);
    assert_eq!(db.statuses().await, BTreeMap::new());
}

#[tokio::test]
async fn purges_at_once_delete_each_message_once_and_none_that_is_not_in_the_archive() {
    let db = Database::fresh().await;
    let s3 = ScriptedS3::start();
    let ids_of_all = old(&db, 11_000).await;
    let (one, other) = (db.store(), db.store());
    let archive = s3.archive();
    let (one, other) = tokio::join!(purge(&one, &archive), purge(&other, &archive));
    let purged = one.unwrap().purged + other.unwrap().purged;
    let rest = purge(&db.store(), &archive).await.unwrap();
    assert_eq!((purged + rest.purged, rest.drained), (11_000, true));
    assert_eq!(ids(&s3.objects()), ids_of_all);
}

/// The second run reads more than the first: rows are in two objects, and the same in both.
#[tokio::test]
async fn a_run_that_died_before_it_deleted_leaves_copies_and_loses_nothing() {
    let db = Database::fresh().await;
    let s3 = ScriptedS3::start();
    old(&db, 3).await;
    s3.answer_next([Answer::Accept.behind(&Gate::closed())]);
    let (store, archive) = (db.store(), s3.archive());
    tokio::select! {
        ended = purge(&store, &archive) => panic!("ended though held: {ended:?}"),
        () = s3.calls_reached(1) => (),
    }
    assert_eq!(db.count("dispatched").await, 3);
    old(&db, 2).await;
    let report = purge(&store, &archive).await.unwrap();
    assert_eq!(counts(&report), (5, 5, 1));
    let objects = s3.objects();
    assert_eq!((objects.len(), objects.values().flatten().count()), (2, 8));
    assert_eq!(ids(&objects), [1, 2, 3, 4, 5]);
}

/// Between the parts of an object's messages the database fails for a moment: no second object is made.
#[tokio::test]
async fn a_failure_between_the_deletes_of_an_object_is_made_good_without_another_object() {
    let db = Database::fresh().await;
    let s3 = ScriptedS3::start();
    old(&db, 1_000).await;
    crate::purge::fail_deletes(&db, "IN (2, 3)", "RAISE 'fault' USING ERRCODE = '40P01'").await;
    let report = purge(&db.store(), &s3.archive()).await.unwrap();
    assert_eq!((counts(&report), report.drained), ((1_000, 1_000, 1), true));
}

/// Messages of four days, and so of four objects, and a purge that has so many seconds.
async fn purge_of_four_days(
    db: &Database,
    s3: &ScriptedS3,
    seconds: f64,
) -> Result<PurgeReport, PurgeError> {
    old(db, 4).await;
    db.run("UPDATE outbox.message SET dispatched_at = dispatched_at + id * interval '1 day'").await;
    // Connected beforehand: that takes its time, too.
    let store = db.store();
    store.due().await.unwrap();
    let end = Some(Instant::now() + Duration::from_secs_f64(seconds));
    purge_within(&store, &s3.archive(), TimeLimits { start_until: end, end_by: end }).await
}

/// The time ends while the second object is written: the first is done with, and the next purge goes on.
#[tokio::test]
async fn a_purge_whose_time_ends_while_it_archives_has_not_failed() {
    let (db, s3) = (Database::fresh().await, ScriptedS3::start());
    s3.answer_next([Answer::Accept, Answer::Hang]);
    let report = purge_of_four_days(&db, &s3, 3.0).await.unwrap();
    assert_eq!((counts(&report), report.drained), ((1, 1, 1), false));
    let rest = purge(&db.store(), &s3.archive()).await.unwrap();
    assert_eq!((counts(&rest), rest.drained), ((3, 3, 3), true));
}

/// One that got nothing done in all its time would get nothing done in the next run either.
#[tokio::test]
async fn a_purge_whose_time_ends_with_its_first_object_has_failed() {
    let (db, s3) = (Database::fresh().await, ScriptedS3::start());
    s3.answer_next([Answer::Hang]);
    let error = purge_of_four_days(&db, &s3, 1.0).await.unwrap_err();
    assert_eq!(counts(&error.report), (0, 0, 0));
    assert!(error.to_string().contains("timeout"), "{error}");
}

/// An object takes 2 s of the 3.5 s: there is no time for another.
#[tokio::test]
async fn no_object_is_begun_for_which_the_time_does_not_suffice_by_the_one_before() {
    let (db, s3) = (Database::fresh().await, ScriptedS3::start());
    s3.answer_next([Answer::After(Duration::from_secs(2), Box::new(Answer::Accept))]);
    let report = purge_of_four_days(&db, &s3, 3.5).await.unwrap();
    assert_eq!((counts(&report), report.drained), ((1, 1, 1), false));
    assert_eq!(s3.calls(), 1);
}

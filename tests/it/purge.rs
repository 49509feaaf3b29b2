//! Purge: dispatched messages past their retention, and nothing else.

use std::time::{Duration, Instant};

use outbox::{Mark, NewMessage};
use outbox_admin::{Purge, PurgeError, PurgeFailure, PurgeReport, TimeLimits};
use outbox_store::{Marks, Store};
use outbox_tests::Database;

use crate::claim::{claim, claim_of, quota};
use crate::statement;

pub(crate) const WEEK: Duration = Duration::from_hours(168);

/// Five old messages: pending, claimed, dead, and dispatched a little longer and a little shorter ago than a purge
/// keeps them. Returns the ids of those that it must keep.
pub(crate) async fn one_to_purge_and_four_to_keep(db: &Database) -> [i64; 4] {
    let ids = db.pending(5).await;
    db.run("UPDATE outbox.message SET created_at = now() - interval '100 days'").await;
    for (id, set) in [
        (ids[1], "locked_until = now() + interval '1 minute', claim_token = gen_random_uuid()"),
        (ids[2], "dead_at = now() - interval '100 days', dead_reason = 'refused'"),
        (ids[3], "dispatched_at = now() - interval '8 days'"),
        (ids[4], "dispatched_at = now() - interval '1 hour'"),
    ] {
        db.run(&format!("UPDATE outbox.message SET {set} WHERE id = {id}")).await;
    }
    [ids[0], ids[1], ids[2], ids[4]]
}

/// The ids of the messages that are there.
pub(crate) async fn left(db: &Database) -> Vec<i64> {
    db.value("SELECT array_agg(id ORDER BY id) FROM outbox.message").await
}

/// Case R15.
#[tokio::test]
async fn purge_deletes_dispatched_messages_past_retention_and_nothing_else() {
    let db = Database::fresh().await;
    let kept = one_to_purge_and_four_to_keep(&db).await;
    let store = db.store();
    assert_eq!(store.purge(WEEK, 100).await.unwrap(), 1);
    assert_eq!(store.purge(WEEK, 100).await.unwrap(), 0);
    assert_eq!(left(&db).await, kept);
}

#[tokio::test]
async fn a_batch_is_bounded_and_the_oldest_go_first() {
    let db = Database::fresh().await;
    let ids = db.pending(10).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '30 days' - id * interval '1 second'").await;
    assert_eq!(db.store().purge(WEEK, 4).await.unwrap(), 4);
    assert_eq!(left(&db).await, ids[..6], "the highest ids were dispatched first");
}

#[tokio::test]
async fn purge_passes_over_a_row_that_someone_holds() {
    let db = Database::fresh().await;
    let ids = db.pending(2).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '30 days'").await;
    let mut other = db.connect().await;
    let _held = Database::hold(&mut other, ids[0]).await;
    assert_eq!(db.store().purge(WEEK, 100).await.unwrap(), 1);
}

/// Each delete asks the sequence `deletes` for its number, which no rollback takes back; those numbers fail so.
pub(crate) async fn fail_deletes(db: &Database, numbers: &str, so: &str) {
    db.run(&format!(
        "CREATE SEQUENCE deletes;
         CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN IF nextval('deletes') {numbers} THEN {so}; END IF; RETURN NULL; END $$;
         CREATE TRIGGER fail BEFORE DELETE ON outbox.message EXECUTE FUNCTION fail()"
    ))
    .await;
}

/// Messages that were dispatched a month ago.
async fn old(db: &Database, n: i64) {
    db.pending(n).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '30 days'").await;
}

/// One run without an archive, in the test's own process.
async fn run(store: &Store, limits: TimeLimits) -> Result<PurgeReport, PurgeError> {
    let purge = Purge { store, retention: WEEK, batch_size: 2_000, archive: None, run_by: "test" };
    purge.run(limits, |_| ()).await
}

/// Case R17: a claim and a mark pass by a purge that has deleted and not committed; they would fail after two seconds
/// if they waited for it, as would a purge that waited for them.
#[tokio::test]
async fn a_purge_a_claim_and_a_mark_do_not_wait_for_one_another() {
    let db = Database::fresh().await;
    let store = db.store();
    let message = || NewMessage::new("orders", "order.placed.v1", "{}").in_group("g");
    db.enqueue([message()]).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '30 days'").await;
    db.enqueue([message(), message()]).await;

    let purging = db.connect().await;
    statement::prepare(&purging, "purge").await;
    purging.batch_execute("BEGIN").await.unwrap();
    let retention_and_size = format!("{}, 10", WEEK.as_millis());
    assert_eq!(statement::execute(&purging, "purge", &retention_and_size).await.len(), 1);
    let claimed = claim_of(&store, &[quota("orders", 9)]).await;
    assert_eq!(claimed.messages.len(), 2);
    let mut marks = Marks::default();
    let [first, second] = [claimed.messages[0].id, claimed.messages[1].id];
    marks.push(first, Mark::Dispatched { broker_message_id: "b".into() });
    marks.push(second, Mark::Released);
    assert_eq!(store.mark(claimed.token, &marks).await.unwrap().dispatched, 1);
    purging.batch_execute("COMMIT").await.unwrap();

    old(&db, 1).await;
    let pending = db.enqueue([message(), message()]).await;
    let marking = db.connect().await;
    marking.batch_execute("BEGIN").await.unwrap();
    let dispatched =
        format!("UPDATE outbox.message SET dispatched_at = now() WHERE id = {}", pending[0]);
    marking.batch_execute(&dispatched).await.unwrap();
    let leased = format!(
        "UPDATE outbox.message SET locked_until = now() + interval '1 minute' WHERE id = {}",
        pending[1]
    );
    marking.batch_execute(&leased).await.unwrap();
    let report = run(&store, TimeLimits::default()).await.unwrap();
    assert_eq!((report.purged, report.drained), (3, true));
    marking.batch_execute("COMMIT").await.unwrap();
    assert_eq!(left(&db).await, pending);
}

/// Case R17: each failure rolls back its own batch, and the run goes on: a deadlock, a lock that is not had, a fail-over
/// to a server that is still read-only, a shutdown, a connection that is cut.
#[tokio::test]
async fn a_failure_that_passes_is_tried_again_and_what_was_deleted_before_stays_deleted() {
    for so in [
        "RAISE 'fault' USING ERRCODE = '40P01'",
        "RAISE 'fault' USING ERRCODE = '55P03'",
        "RAISE 'fault' USING ERRCODE = '25006'",
        "RAISE 'fault' USING ERRCODE = '57P01'",
        "PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(5)",
    ] {
        let db = Database::fresh().await;
        old(&db, 1_000).await;
        fail_deletes(&db, "IN (3, 4)", so).await;
        let report = run(&db.store(), TimeLimits::default()).await.unwrap();
        assert_eq!((report.purged, report.drained), (1_000, true), "{so}");
    }
}

#[tokio::test]
async fn a_failure_that_lasts_ends_the_run_in_time_with_what_it_had_done() {
    for (state, is_lasting) in [("40P01", true), ("23514", false)] {
        let db = Database::fresh().await;
        old(&db, 1_000).await;
        fail_deletes(&db, ">= 3", &format!("RAISE 'fault' USING ERRCODE = '{state}'")).await;
        let started = Instant::now();
        let until = Some(started + Duration::from_secs(2));
        let limits = TimeLimits { start_until: until, end_by: None };
        let PurgeError { report, failure } = run(&db.store(), limits).await.unwrap_err();
        assert!(
            matches!(&failure, PurgeFailure::Store(error) if error.code() == state),
            "{failure}"
        );
        assert_eq!((report.purged, report.drained), (300, false), "100 and then 200");
        assert_eq!(db.count("dispatched").await, 700);
        let n_tries: i64 = db.value("SELECT last_value - 2 FROM deletes").await;
        assert!(if is_lasting { n_tries > 1 } else { n_tries == 1 }, "{n_tries}");
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_statement_that_outlasts_the_time_is_given_up_and_the_next_purge_goes_on() {
    let db = Database::fresh().await;
    old(&db, 1_000).await;
    fail_deletes(&db, "= 3", "PERFORM pg_sleep(10)").await;
    let soon = Some(Instant::now() + Duration::from_secs(2));
    let limits = TimeLimits { start_until: soon, end_by: soon };
    let report = run(&db.store(), limits).await.unwrap();
    assert_eq!((report.purged, report.drained), (300, false));
}

#[tokio::test]
async fn what_was_done_so_far_is_told_after_each_batch() {
    let db = Database::fresh().await;
    old(&db, 750).await;
    let told = std::cell::RefCell::new(Vec::new());
    let store = db.store();
    let purge =
        Purge { store: &store, retention: WEEK, batch_size: 300, archive: None, run_by: "test" };
    let tell = |report: &PurgeReport| told.borrow_mut().push(report.purged);
    assert_eq!(purge.run(TimeLimits::default(), tell).await.unwrap().purged, 750);
    assert_eq!(told.take(), [100, 300, 600]);
    assert!(claim(&store, &[quota("orders", 9)]).await.is_empty());
}

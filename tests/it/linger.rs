//! A drained run that lingers: what comes meanwhile is sent, what does not costs little, and it ends in time.

use std::time::{Duration, Instant};

use outbox::RunPolicy;
use outbox_publish::AwsPublisher;
use outbox_relay::{Relay, RunReport};
use outbox_tests::endpoint::{Answer, Endpoint, Gate};
use outbox_tests::{Database, destinations, eventually, queue_at, relay};
use tokio_util::sync::CancellationToken;

const LINGER: Duration = Duration::from_secs(4);

fn lingering(db: &Database, endpoint: &Endpoint) -> Relay<AwsPublisher> {
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders.fifo"))]);
    let policy = RunPolicy { linger: LINGER, ..RunPolicy::default() };
    relay(db, &endpoint.sdk_config(), to, policy)
}

/// Each message is enqueued when the one before is through: none waits for the end of the run.
#[tokio::test]
async fn what_is_committed_while_a_run_lingers_is_sent_by_it() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = lingering(&db, &endpoint);
    let started = Instant::now();
    let meanwhile = async {
        for (n, group) in [(1, "NULL"), (2, "'g'"), (3, "'g'"), (4, "NULL")] {
            db.insert(1, "'orders'", group).await;
            let sent = async || (db.count("dispatched").await == n).then_some(());
            eventually("the message to be sent", sent).await;
        }
        started.elapsed()
    };
    let stop = CancellationToken::new();
    let (report, sent_after) = tokio::join!(relay.run(None, &stop), meanwhile);
    let report = report.unwrap();
    assert_eq!((report.dispatched, report.drained), (4, true));
    assert!(sent_after < LINGER, "{sent_after:?}");
    let took = Duration::from_millis(report.duration_ms);
    assert!(took + Duration::from_millis(200) >= LINGER, "it left after {took:?}");
}

/// A run, and how many transactions the server counts meanwhile.
async fn counted(db: &Database, relay: Relay<AwsPublisher>) -> (RunReport, i64) {
    let count = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";
    // A session tells its count when it reports, or ends. The test's own asks a few times, too.
    let before: i64 = db.value(count).await;
    let report = relay.run(None, &CancellationToken::new()).await.unwrap();
    drop(relay);
    let ended = "SELECT count(*) FROM pg_stat_activity
                 WHERE datname = current_database() AND backend_type = 'client backend'";
    eventually("the relay's sessions to end", async || {
        (db.value::<i64>(ended).await == 1).then_some(())
    })
    .await;
    (report, db.value::<i64>(count).await - before)
}

/// A few looks, a few claims and a mark for each: nothing goes from destination to destination.
#[tokio::test]
async fn two_hundred_destinations_cost_no_more_transactions_than_a_few() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.insert(1_000, "'d' || i % 200", "NULL").await;
    let to = destinations((0..200).map(|i| queue_at(&format!("d{i}"), &endpoint.queue_url("q"))));
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    let (report, n_transactions) = counted(&db, relay).await;
    assert_eq!((report.dispatched, report.drained), (1_000, true));
    assert!(n_transactions < 40, "{n_transactions} transactions");
}

/// Idle polls, counted by the server: each is a transaction. Twenty messages wait in vain meanwhile.
#[tokio::test]
async fn a_run_that_lingers_in_vain_polls_at_its_pace_and_makes_no_request() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.insert(20, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i END").await;
    db.run("UPDATE outbox.message SET available_at = now() + interval '1 hour'").await;
    let (report, n_transactions) = counted(&db, lingering(&db, &endpoint)).await;
    assert_eq!((report.claimed, report.drained, endpoint.calls()), (0, true, 0));
    // A poll each 200 ms, after some that are quicker; with groups it may ask twice and a third time.
    let most = 3 * i64::try_from(LINGER.as_millis() / 200 + 4).unwrap();
    assert!((10..=most).contains(&n_transactions), "{n_transactions} transactions, at most {most}");
}

/// As a fail-over does, in the middle of it.
#[tokio::test]
async fn a_database_that_ends_all_sessions_does_not_end_a_run_that_lingers() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = lingering(&db, &endpoint);
    db.pending(1).await;
    let meanwhile = async {
        for n in [1, 2, 3] {
            let sent = async || (db.count("dispatched").await == n).then_some(());
            eventually("the message to be sent", sent).await;
            db.run(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
            )
            .await;
            if n < 3 {
                db.pending(1).await;
            }
        }
    };
    let stop = CancellationToken::new();
    let (report, ()) = tokio::join!(relay.run(None, &stop), meanwhile);
    let report = report.unwrap();
    assert_eq!((report.dispatched, report.drained), (3, true));
    assert_eq!(endpoint.calls(), 3);
}

/// A person or a job holds a row whose mark is due: the run polls on beside it.
#[tokio::test]
async fn a_row_that_somebody_holds_keeps_no_later_message_waiting() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    let relay = lingering(&db, &endpoint);
    db.pending(1).await;
    endpoint.answer_next([Answer::Accept.behind(&gate)]);
    let mut other = db.connect().await;
    let meanwhile = async {
        endpoint.calls_reached(1).await;
        let held = other.transaction().await.unwrap();
        held.query("SELECT FROM outbox.message FOR UPDATE", &[]).await.unwrap();
        gate.open();
        db.lock_waits(1).await;
        db.pending(1).await;
        let sent = async || (db.count("dispatched").await == 1).then_some(());
        eventually("the later message to be sent", sent).await;
        held.rollback().await.unwrap();
    };
    let stop = CancellationToken::new();
    let (report, ()) = tokio::join!(relay.run(None, &stop), meanwhile);
    assert_eq!(report.unwrap().dispatched, 2);
}

//! What a run claimed and did not send: it is handed back at once, with its attempt, and goes out in its turn.

use std::time::Duration;

use outbox::{Backoff, NewMessage, RunPolicy};
use outbox_relay::{Error, RunReport};
use outbox_tests::endpoint::{Answer, Endpoint};
use outbox_tests::{Database, destinations, queue_at, relay};
use tokio_util::sync::CancellationToken;

/// A run to the queue `orders` of the endpoint.
async fn run(db: &Database, endpoint: &Endpoint, policy: RunPolicy) -> Result<RunReport, Error> {
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    relay(db, &endpoint.sdk_config(), to, policy).run(None, &CancellationToken::new()).await
}

/// How many messages are as if nobody had ever claimed them.
async fn untouched(db: &Database) -> i64 {
    let untouched = "SELECT count(*) FROM outbox.message
                     WHERE attempts = 0 AND locked_until IS NULL AND available_at IS NULL";
    db.value(untouched).await
}

/// The second of a group can never be sent. Those behind it are not sent beside its mark: they are claimed again when
/// it is dead, and go out in order.
#[tokio::test]
async fn the_followers_of_a_defect_go_out_in_order_after_it_is_dead() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let bodies = ["first", "", "third", "fourth"];
    let messages = bodies.map(|body| NewMessage::new("orders", "t", body).in_group("g"));
    let ids = db.enqueue(messages).await;
    let report = run(&db, &endpoint, RunPolicy::default()).await.unwrap();

    assert_eq!((report.claimed, report.dispatched), (6, 3), "the followers were claimed twice");
    assert_eq!((report.dead, report.released, report.drained), (1, 2, true));
    assert_eq!(endpoint.bodies(), ["first", "third", "fourth"]);
    assert_eq!(db.status(ids[1]).await, "dead");
    let attempts = "SELECT array_agg(attempts ORDER BY id) FROM outbox.message";
    assert_eq!(db.value::<Vec<i32>>(attempts).await, [1; 4]);
}

/// Batches are claimed while others are sent. When a mark fails for good the run ends, and what it has not sent does not
/// wait for its lease.
#[tokio::test]
async fn a_claim_made_ahead_is_handed_back_when_the_mark_before_it_fails() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(400).await;
    db.refuse("NEW.dispatched_at IS NOT NULL", "42501").await;
    let policy = RunPolicy { batch_size: 20, concurrency: 1, ..RunPolicy::default() };
    let error = run(&db, &endpoint, policy.clone()).await.unwrap_err();

    assert!(matches!(error, Error::Mark { .. }), "{error}");
    let n_sent = i64::try_from(endpoint.accepted().len()).unwrap();
    assert!(n_sent < 400, "{n_sent}");
    assert_eq!((db.count("claimed").await, untouched(&db).await), (n_sent, 400 - n_sent));
    db.refuse_nothing().await;
    let n_left = run(&db, &endpoint, policy).await.unwrap().dispatched;
    assert_eq!(i64::try_from(n_left).unwrap(), 400 - n_sent);
}

/// The lease ends while a request is in flight: nobody knows what became of its messages, so they are neither dispatched
/// nor blamed; those not yet sent are handed back. The last part of a lease is for the mark, and a busy machine may need
/// more of it than a short one has.
#[tokio::test]
async fn a_request_that_outlasts_the_lease_is_given_up_and_its_messages_are_not_blamed() {
    for seconds in [1, 4, 16] {
        if is_cut_by_a_lease_of(Duration::from_secs(seconds)).await {
            return;
        }
    }
    panic!("not even the end of a long lease was enough for a mark");
}

async fn is_cut_by_a_lease_of(lease: Duration) -> bool {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(20).await;
    endpoint.answer_next([Answer::Hang]);
    let hour = Duration::from_hours(1);
    let backoff = Backoff { base: hour, max: hour };
    let policy = RunPolicy { concurrency: 1, lease, backoff, ..RunPolicy::default() };
    let report = match run(&db, &endpoint, policy.clone()).await {
        Ok(report) => report,
        Err(Error::Mark { source: outbox_store::Error::Timeout(_), .. }) => return false,
        Err(error) => panic!("{error}"),
    };
    assert_eq!((report.retried, report.dispatched, report.dead), (10, 10, 0));
    assert!(report.released >= 10, "{report:?}");
    let waiting =
        "SELECT DISTINCT format('%s|%s|%s|%s', last_error_code, attempts, locked_until IS NULL,
                                          available_at > now())
                   FROM outbox.message WHERE dispatched_at IS NULL";
    assert_eq!(db.value::<String>(waiting).await, "timeout|0|t|t");

    db.everything_is_due().await;
    let report = run(&db, &endpoint, RunPolicy::default()).await.unwrap();
    assert_eq!((report.dispatched, db.count("dispatched").await), (10, 20));
    true
}

/// Three refused requests in a row, and the destination rests: what was claimed for it is handed back, and a run that
/// ends before it is through says so.
#[tokio::test]
async fn a_run_that_leaves_a_resting_destination_has_not_drained() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(50).await;
    let refusals = [(); 3].map(|()| Answer::error(403, "AccessDenied", "not yet"));
    endpoint.answer_next(refusals);
    let policy = RunPolicy { concurrency: 1, ..RunPolicy::default() };
    let report = run(&db, &endpoint, policy.clone()).await.unwrap();

    assert_eq!((report.retried, report.released, report.dispatched), (30, 20, 0));
    assert!(!report.drained);
    assert_eq!((endpoint.calls(), untouched(&db).await), (3, 20));
    db.everything_is_due().await;
    let report = run(&db, &endpoint, policy.clone()).await.unwrap();
    assert_eq!((report.claimed, report.drained), (0, false), "the breaker is open for all relays");

    db.run("UPDATE outbox.destination SET probe_at = now()").await;
    let report = run(&db, &endpoint, policy).await.unwrap();
    assert_eq!((report.dispatched, report.drained), (50, true), "a probe closes it");
    assert_eq!(endpoint.requests()[3].entries.len(), 1, "it is a single message");
}

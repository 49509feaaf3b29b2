//! A run of the relay, against an endpoint that is told how to answer.

use outbox::{NewMessage, RunPolicy};
use outbox_publish::AwsPublisher;
use outbox_relay::Relay;
use outbox_tests::endpoint::{Answer, Endpoint, Gate};
use outbox_tests::{Database, destinations, queue_at, relay};
use tokio_util::sync::CancellationToken;

/// A relay for the destination `orders` on a standard queue of the endpoint.
fn relay_to(db: &Database, endpoint: &Endpoint) -> Relay<AwsPublisher> {
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    relay(db, &endpoint.sdk_config(), to, RunPolicy::default())
}

#[tokio::test]
async fn a_run_publishes_everything_that_is_due_and_reports_it() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(1_234).await;
    let report = relay_to(&db, &endpoint).run(None, &CancellationToken::new()).await.unwrap();

    assert_eq!((report.claimed, report.dispatched), (1_234, 1_234));
    assert!(report.drained);
    assert_eq!(report.oldest_due_seconds, Some(0.0));
    assert_eq!(db.count("dispatched").await, 1_234);
    assert_eq!(endpoint.accepted().len(), 1_234);
    let noted = "SELECT count(*) FROM outbox.message WHERE broker_message_id IS NOT NULL";
    assert_eq!(db.value::<i64>(noted).await, 1_234);
}

/// Case R31.
#[tokio::test]
async fn with_nothing_to_do_no_request_is_made() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(1).await;
    db.run("UPDATE outbox.message SET available_at = now() + interval '1 hour'").await;
    let report = relay_to(&db, &endpoint).run(None, &CancellationToken::new()).await.unwrap();
    assert!(report.drained);
    assert_eq!((report.claimed, report.oldest_due_seconds), (0, Some(0.0)));
    assert_eq!(endpoint.calls(), 0);
}

/// Case B02.
#[tokio::test]
async fn of_seven_successes_and_three_failures_only_the_three_are_retried() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let ids = db.pending(10).await;
    endpoint.answer_next([Answer::fail(["1", "4", "9"], "InternalError")]);
    let report = relay_to(&db, &endpoint).run(None, &CancellationToken::new()).await.unwrap();

    assert_eq!((report.dispatched, report.retried), (7, 3));
    for (place, id) in ids.iter().enumerate() {
        let expected = if [1, 4, 9].contains(&place) { "pending" } else { "dispatched" };
        assert_eq!(db.status(*id).await, expected, "entry {place}");
    }
    db.everything_is_due().await;
    let report = relay_to(&db, &endpoint).run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!(report.dispatched, 3);
    assert_eq!(endpoint.accepted().len(), 10);
}

/// Case B01.
#[tokio::test]
async fn a_success_that_lists_nothing_marks_nothing_dispatched() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(5).await;
    endpoint.answer_next([Answer::raw(200, "{}")]);
    let report = relay_to(&db, &endpoint).run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!((report.dispatched, report.retried), (0, 5));
    assert_eq!(db.count("pending").await, 5);
}

/// Case R24.
#[tokio::test]
async fn a_message_without_a_route_is_dead_at_once_and_its_neighbours_are_not() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.insert(10, "CASE WHEN i = 4 THEN 'nowhere' ELSE 'orders' END", "NULL").await;
    let report = relay_to(&db, &endpoint).run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!((report.dispatched, report.dead), (9, 1));
    let dead = "SELECT format('%s|%s|%s', dead_reason, last_error_code, last_error) FROM outbox.dead_letter";
    assert_eq!(
        db.value::<String>(dead).await,
        "defect|no_route|destination \"nowhere\" is not in OUTBOX_DESTINATIONS"
    );
}

/// Cases A08, A10 and A11: what can't be sent is dead alone, with the place and the number.
#[tokio::test]
async fn a_message_that_can_never_be_sent_is_dead_alone() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let bodies = ["fine", "", "bad \u{1} character", "also fine"];
    db.insert_raw(bodies.map(|body| NewMessage::new("orders", "t", body))).await;
    let report = relay_to(&db, &endpoint).run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!((report.dispatched, report.dead), (2, 2));
    assert_eq!(endpoint.bodies(), ["fine", "also fine"]);
    let why = "SELECT string_agg(last_error, '; ' ORDER BY id) FROM outbox.dead_letter";
    assert_eq!(
        db.value::<String>(why).await,
        "the payload is empty; the payload has the character U+0001 at byte 4, which SQS and SNS do not carry"
    );
}

/// Case P03, through the whole engine.
#[tokio::test]
async fn a_message_that_commits_late_with_a_lower_id_is_still_published() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = relay_to(&db, &endpoint);
    let mut late = db.connect().await;
    let transaction = late.transaction().await.unwrap();
    outbox_store::enqueue(&transaction, &NewMessage::new("orders", "t", "late")).await.unwrap();
    db.pending(20).await;
    assert_eq!(relay.run(None, &CancellationToken::new()).await.unwrap().dispatched, 20);
    transaction.commit().await.unwrap();
    assert_eq!(relay.run(None, &CancellationToken::new()).await.unwrap().dispatched, 1);
    assert_eq!(endpoint.bodies().last().unwrap(), "late");
}

/// Case P07: while the endpoint thinks, no transaction is open and no row is locked.
#[tokio::test]
async fn no_transaction_is_open_while_a_request_is_in_flight() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    db.pending(1).await;
    endpoint.answer_next([Answer::Accept.behind(&gate)]);
    let (relay, stop) = (relay_to(&db, &endpoint), CancellationToken::new());
    let look = async {
        endpoint.calls_reached(1).await;
        let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                    AND state LIKE 'idle in transaction%'";
        assert_eq!(db.value::<i64>(open).await, 0);
        let locked = "SELECT count(*) FROM (SELECT FROM outbox.message FOR UPDATE NOWAIT) AS free";
        assert_eq!(db.value::<i64>(locked).await, 1);
        gate.open();
    };
    let (report, ()) = tokio::join!(relay.run(None, &stop), look);
    assert_eq!(report.unwrap().dispatched, 1);
}

/// Cases R03 and P12: the connections die just before the mark; it is made on new ones, and nothing goes out twice.
#[tokio::test]
async fn a_mark_survives_the_loss_of_its_connection() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    db.pending(3).await;
    endpoint.answer_next([Answer::Accept.behind(&gate)]);
    let (relay, stop) = (relay_to(&db, &endpoint), CancellationToken::new());
    let cut = async {
        endpoint.calls_reached(1).await;
        db.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
        gate.open();
    };
    let (report, ()) = tokio::join!(relay.run(None, &stop), cut);
    assert_eq!(report.unwrap().dispatched, 3);
    assert_eq!(endpoint.calls(), 1);
}

/// Somebody holds a row while its claim is marked: the others are marked all the same, and it when it is free.
#[tokio::test]
async fn a_locked_row_keeps_its_own_mark_waiting_and_no_other() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    let ids = db.pending(5).await;
    endpoint.answer_next([Answer::Accept.behind(&gate)]);
    let (relay, stop) = (relay_to(&db, &endpoint), CancellationToken::new());
    let mut other = db.connect().await;
    let lock = async {
        endpoint.calls_reached(1).await;
        let held = Database::hold(&mut other, ids[2]).await;
        gate.open();
        let marked = async || (db.count("dispatched").await == 4).then_some(());
        outbox_tests::eventually("the marks of the four others", marked).await;
        held.rollback().await.unwrap();
    };
    let (report, ()) = tokio::join!(relay.run(None, &stop), lock);
    assert_eq!(report.unwrap().dispatched, 5);
    assert_eq!(endpoint.calls(), 1);
}

#[tokio::test]
async fn a_stopped_run_marks_what_is_in_flight_and_releases_the_rest() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    db.pending(100).await;
    let held = gate.clone();
    endpoint.answer_always(move |_| Answer::Accept.behind(&held));
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    let policy = RunPolicy { concurrency: 2, ..RunPolicy::default() };
    let relay = relay(&db, &endpoint.sdk_config(), to, policy);
    let stop = CancellationToken::new();
    let interrupt = async {
        endpoint.calls_reached(2).await;
        stop.cancel();
        gate.open();
    };
    let (report, ()) = tokio::join!(relay.run(None, &stop), interrupt);
    let report = report.unwrap();
    assert_eq!((report.dispatched, report.released, report.drained), (20, 80, false));
    let untouched =
        "SELECT count(*) FROM outbox.message WHERE attempts = 0 AND locked_until IS NULL";
    assert_eq!(db.value::<i64>(untouched).await, 80);
}

/// Case R07 in small: a destination that is down costs a bounded number of calls and kills nothing.
#[tokio::test]
async fn a_destination_that_is_down_costs_few_calls_and_kills_nothing() {
    let db = Database::fresh().await;
    let up = Endpoint::start();
    db.insert(2_000, "'dead'", "NULL").await;
    db.insert(10, "'orders'", "NULL").await;
    up.answer_always(|request| {
        if request.target.ends_with("/dead") {
            Answer::error(503, "ServiceUnavailable", "down")
        } else {
            Answer::Accept
        }
    });
    let to = destinations([
        queue_at("dead", &up.queue_url("dead")),
        queue_at("orders", &up.queue_url("orders")),
    ]);
    let report = relay(&db, &up.sdk_config(), to, RunPolicy::default())
        .run(None, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!((report.dispatched, report.dead), (10, 0));
    assert!(up.calls() < 100, "{} calls", up.calls());
    let attempts = "SELECT max(attempts) FROM outbox.message WHERE destination = 'dead'";
    assert_eq!(db.value::<i32>(attempts).await, 0, "the message is not at fault");
}

/// A message that ends its relay each time is claimed again and again, is sent alone, and is dead past the cap.
#[tokio::test]
async fn a_message_that_never_reaches_an_outcome_is_dead_at_the_cap() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(2).await;
    db.run(
        "UPDATE outbox.message SET attempts = 10, lost_claims = 9, last_error_code = 'no_outcome' WHERE id = 1",
    )
    .await;
    let report = relay_to(&db, &endpoint).run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!((report.dispatched, report.dead), (1, 1));
    let dead = "SELECT format('%s|%s', dead_reason, last_error_code) FROM outbox.dead_letter";
    assert_eq!(db.value::<String>(dead).await, "attempts_exhausted|no_outcome");
}

/// Twenty messages are claimed together twelve times, and their relay is lost each time. None is dead of it: each is sent
/// alone, and goes out.
#[tokio::test]
async fn messages_whose_claims_were_lost_are_sent_alone_and_never_die_of_their_neighbours() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.insert(20, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' END").await;
    for _ in 0..12 {
        let quotas = [crate::claim::quota("orders", 100)];
        let claim = crate::claim::claim_of(&db.store(), &quotas).await;
        assert_eq!(claim.messages.len(), 20);
        db.expire_leases().await;
    }
    db.pending(3).await;
    let report = relay_to(&db, &endpoint).run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!((report.dispatched, report.dead), (23, 0));
    let sizes: Vec<usize> =
        endpoint.requests().iter().map(|request| request.entries.len()).collect();
    assert_eq!(sizes[0], 3, "what has no history goes first");
    assert!(sizes[1..].iter().all(|&size| size == 1), "{sizes:?}");
}

/// The one that does end its relay is found: alone in its last claim, and dead at the cap. The others go out.
#[tokio::test]
async fn a_message_that_ends_its_relays_is_told_from_its_neighbours() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let ids = db.pending(5).await;
    let deadly = |request: &outbox_tests::endpoint::Request| {
        request.entries.iter().any(|entry| entry.body == r#"{"n": 2}"#)
    };
    endpoint
        .answer_always(move |request| if deadly(request) { Answer::Hang } else { Answer::Accept });
    let policy = RunPolicy { max_attempts: 5, ..RunPolicy::default() };
    for _ in 0..12 {
        let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
        let relay = relay(&db, &endpoint.sdk_config(), to, policy.clone());
        let stop = CancellationToken::new();
        let calls = endpoint.requests().iter().filter(|request| deadly(request)).count();
        // The relay is gone, future and all, as soon as the deadly message is on the wire.
        let killed = async {
            loop {
                if endpoint.requests().iter().filter(|request| deadly(request)).count() > calls {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            report = relay.run(None, &stop) => { report.unwrap(); break }
            () = killed => db.expire_leases().await,
        }
    }
    assert_eq!(db.count("dispatched").await, 4);
    assert_eq!(db.status(ids[1]).await, "dead");
}

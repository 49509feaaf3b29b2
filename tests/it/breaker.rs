//! The circuit breaker that all relays share: when it opens, who probes, and what closes it.
//!
//! Requests are refused with a code that the SDK does not try again: one call is one request.

use outbox::RunPolicy;
use outbox_publish::AwsPublisher;
use outbox_relay::{Relay, RunReport};
use outbox_tests::endpoint::{Answer, Endpoint, Gate};
use outbox_tests::{Database, Process, destinations, eventually, queue_at, relay};
use tokio_util::sync::CancellationToken;

use crate::function::set_up;

fn down() -> Answer {
    Answer::error(403, "AccessDenied", "not authorised")
}

/// A relay for `orders` and `events` that sends one request at a time.
fn one_by_one(db: &Database, endpoint: &Endpoint) -> Relay<AwsPublisher> {
    let to = destinations(["orders", "events"].map(|name| {
        // The FIFO queue takes a group.
        queue_at(name, &endpoint.queue_url(&format!("{name}.fifo")))
    }));
    let policy = RunPolicy { concurrency: 1, ..RunPolicy::default() };
    relay(db, &endpoint.sdk_config(), to, policy)
}

async fn run(relay: &Relay<AwsPublisher>) -> RunReport {
    relay.run(None, &CancellationToken::new()).await.unwrap()
}

/// State of the breaker of `orders`: whether it is open, failed requests and failed probes.
async fn state(db: &Database) -> (bool, i32, i32) {
    let sql = "SELECT breaker_opened_at IS NOT NULL, failed_requests, failed_probes
               FROM outbox.destination WHERE name = 'orders'";
    let rows = db.client.query(sql, &[]).await.unwrap();
    rows.first().map_or((false, 0, 0), |row| (row.get(0), row.get(1), row.get(2)))
}

/// Seconds until the next probe.
async fn seconds_to_probe(db: &Database) -> f64 {
    let sql = "SELECT extract(epoch FROM probe_at - now())::float8 FROM outbox.destination
               WHERE name = 'orders'";
    db.value(sql).await
}

/// Opens the breaker of `orders`, with the probe due.
async fn open(db: &Database) {
    db.run(
        "INSERT INTO outbox.destination (name, failed_requests, breaker_opened_at, probe_at)
         VALUES ('orders', 3, now() - interval '1 minute', now() - interval '1 second')",
    )
    .await;
}

#[tokio::test]
async fn a_breaker_that_one_relay_opened_keeps_others_away_and_those_that_start_later() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    endpoint.answer_always(|_| down());
    db.pending(100).await;
    run(&one_by_one(&db, &endpoint)).await;
    assert_eq!((endpoint.calls(), state(&db).await), (3, (true, 3, 0)));
    db.everything_is_due().await;
    let report = run(&one_by_one(&db, &endpoint)).await;
    assert_eq!((endpoint.calls(), report.claimed, report.drained), (3, 0, false));
}

#[tokio::test]
async fn of_two_relays_at_once_one_probes_and_with_one_message() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    endpoint.answer_always(|_| down());
    db.insert(100, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i % 10 END").await;
    open(&db).await;
    let [a, b] = [(); 2].map(|()| one_by_one(&db, &endpoint));
    for (n_probes, wait) in [(1, 10.0), (2, 20.0), (3, 40.0), (4, 60.0), (5, 60.0)] {
        tokio::join!(run(&a), run(&b));
        assert_eq!(
            (endpoint.received().len(), state(&db).await.2),
            (n_probes, i32::try_from(n_probes).unwrap())
        );
        let seconds = seconds_to_probe(&db).await;
        assert!((wait - 5.0..=wait).contains(&seconds), "{seconds} after {n_probes}");
        db.time_passes(60).await;
    }
    endpoint.answer_always(|_| Answer::Accept);
    tokio::join!(run(&a), run(&b));
    run(&a).await;
    assert_eq!((db.count("dispatched").await, state(&db).await), (100, (false, 0, 0)));
}

/// Somebody holds the probe's row, so that it is another claim that tells the database what has failed.
#[tokio::test]
async fn a_failed_probe_beside_busy_traffic_makes_the_next_wait_longer() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    let held = gate.clone();
    endpoint.answer_always(move |request| {
        if request.target.ends_with("/orders.fifo") { down().behind(&held) } else { Answer::Accept }
    });
    db.pending(1).await;
    open(&db).await;
    let to = destinations(
        ["orders", "events"]
            .map(|name| queue_at(name, &endpoint.queue_url(&format!("{name}.fifo")))),
    );
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    let mut other = db.connect().await;
    let meanwhile = async {
        endpoint.calls_reached(1).await;
        let held = other.transaction().await.unwrap();
        held.query("SELECT FROM outbox.message FOR UPDATE", &[]).await.unwrap();
        gate.open();
        db.lock_waits(1).await;
        db.insert(10, "'events'", "NULL").await;
        let told = async || (state(&db).await.1 == 4).then_some(());
        eventually("the failed probe to be told", told).await;
        held.rollback().await.unwrap();
    };
    tokio::join!(run(&relay), meanwhile);
    assert_eq!(state(&db).await, (true, 4, 1));
    assert!((5.0..=10.0).contains(&seconds_to_probe(&db).await));
}

/// The relay that probes is killed: another one probes after a minute, with a message that is free.
#[tokio::test]
async fn a_probe_whose_relay_was_killed_is_made_by_another_after_a_minute() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    endpoint.answer_next([Answer::Hang]);
    db.pending(20).await;
    open(&db).await;
    let mut command = set_up("outbox", &db.url(), &endpoint);
    command.arg("relay");
    let process = Process::start(command);
    endpoint.calls_reached(1).await;
    process.kill().await;

    let other = one_by_one(&db, &endpoint);
    assert_eq!((run(&other).await.claimed, endpoint.calls()), (0, 1));
    assert!((50.0..=60.0).contains(&seconds_to_probe(&db).await));
    db.time_passes(60).await;
    assert_eq!(run(&other).await.dispatched, 19, "one is still leased");
    assert_eq!(state(&db).await, (false, 0, 0));
}

#[tokio::test]
async fn resume_closes_the_breaker() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(30).await;
    open(&db).await;
    db.run("UPDATE outbox.destination SET probe_at = now() + interval '1 minute'").await;
    let relay = one_by_one(&db, &endpoint);
    assert_eq!(run(&relay).await.claimed, 0);
    assert!(db.store().resume("orders", "test", "repaired").await.unwrap());
    assert_eq!((run(&relay).await.dispatched, state(&db).await), (30, (false, 0, 0)));
}

#[tokio::test]
async fn a_pause_keeps_the_probe_away() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(30).await;
    open(&db).await;
    let relay = one_by_one(&db, &endpoint);
    for paused in ["orders", "*"] {
        db.store().pause(paused, "test", "maintenance").await.unwrap();
        run(&relay).await;
        assert_eq!(endpoint.calls(), 0, "{paused} is paused");
        assert!(seconds_to_probe(&db).await < 0.0, "it is due as before");
        let resume = format!(
            "UPDATE outbox.destination SET paused_at = NULL, paused_by = NULL WHERE name = '{paused}'"
        );
        db.run(&resume).await;
    }
    assert_eq!(run(&relay).await.dispatched, 30);
}

/// Two failed requests are known from before; then one is accepted and the next fails.
#[tokio::test]
async fn an_accepted_request_ends_the_row_of_failed_ones_of_all_relays() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    endpoint.answer_next([down(), down(), Answer::Accept, down(), down()]);
    db.pending(20).await;
    let relay = one_by_one(&db, &endpoint);
    run(&relay).await;
    assert_eq!(state(&db).await, (false, 2, 0));
    db.pending(30).await;
    run(&relay).await;
    assert_eq!((endpoint.calls(), state(&db).await), (5, (false, 2, 0)));
}

#[tokio::test]
async fn a_failing_entry_among_good_ones_opens_no_breaker() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    endpoint.answer_always(|request| {
        Answer::fail(request.ids().into_iter().skip(1), "RequestThrottled")
    });
    db.pending(100).await;
    let relay = one_by_one(&db, &endpoint);
    run(&relay).await;
    assert_eq!((endpoint.calls(), db.count("dispatched").await), (10, 10));
    assert_eq!(state(&db).await, (false, 0, 0));
}

/// All that is left for the destination are messages whose last claims were lost. They are a probe like any other.
#[tokio::test]
async fn a_destination_with_nothing_but_suspects_is_probed() {
    for group in ["NULL", "'g' || i"] {
        let db = Database::fresh().await;
        let endpoint = Endpoint::start();
        db.insert(3, "'orders'", group).await;
        db.run("UPDATE outbox.message SET lost_claims = 2, attempts = 2").await;
        open(&db).await;
        let relay = one_by_one(&db, &endpoint);
        run(&relay).await;
        run(&relay).await;
        assert_eq!((db.count("dispatched").await, state(&db).await), (3, (false, 0, 0)), "{group}");
    }
}

/// Another relay holds all messages, those of before the breaker opened: there is nothing to probe with, and the right to
/// probe is not used up.
#[tokio::test]
async fn a_probe_without_a_message_is_none() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.pending(3).await;
    crate::claim::claim(&db.store(), &[crate::claim::quota("orders", 9)]).await;
    open(&db).await;
    let relay = one_by_one(&db, &endpoint);
    run(&relay).await;
    db.pending(1).await;
    run(&relay).await;
    assert_eq!((endpoint.calls(), state(&db).await), (1, (false, 0, 0)));
}

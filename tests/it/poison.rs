//! Messages that fail on their own each time, and as many as a claim takes.

use outbox::RunPolicy;
use outbox_tests::endpoint::{Answer, Endpoint};
use outbox_tests::{Database, destinations, queue_at, relay};
use tokio_util::sync::CancellationToken;

/// Case R06: the poison is older than all good messages, and there are as many as a claim takes. It is dead in the end, for
/// good traffic tells it from a destination that is down.
#[tokio::test]
async fn as_much_poison_as_a_claim_takes_holds_nothing_back_and_is_dead_in_the_end() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    endpoint.answer_always(|request| {
        let is_poison = |entry: &&outbox_tests::endpoint::Received| entry.body.contains("bad");
        let poison = request.entries.iter().filter(is_poison).map(|entry| entry.id.as_str());
        Answer::fail(poison, "InternalError")
    });
    let policy = RunPolicy { batch_size: 50, ..RunPolicy::default() };
    db.insert(50, "'orders'", "NULL").await;
    db.run("UPDATE outbox.message SET payload = 'bad'").await;
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    let relay = relay(&db, &endpoint.sdk_config(), to, policy);
    let mut n_runs = 0;
    while db.count("dead").await < 50 {
        n_runs += 1;
        db.insert(20, "'orders'", "NULL").await;
        relay.run(None, &CancellationToken::new()).await.unwrap();
        assert_eq!(db.count("dispatched").await, 20 * n_runs, "after run {n_runs}");
        db.time_passes(300).await;
        let dead = db.count("dead").await;
        assert!(n_runs < 60, "{dead} of 50 are dead after {n_runs} runs");
    }
    assert_eq!(
        db.statuses().await.into_iter().collect::<Vec<_>>(),
        [("dead".to_owned(), 50), ("dispatched".to_owned(), 20 * n_runs)]
    );
}

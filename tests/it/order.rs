//! Order within a message group: a claim takes a group's first unfinished messages without a gap, or none.

use std::time::Duration;

use outbox::{Mark, RunPolicy};
use outbox_store::Marks;
use outbox_tests::endpoint::{Answer, Endpoint};
use outbox_tests::{Database, destinations, queue_at, relay};
use tokio_util::sync::CancellationToken;

use crate::claim::{claim, claim_of, ids, quota};

mod interleavings;
mod many;
mod reference;

const RETRY: Mark = Mark::Retry {
    delay: Duration::from_mins(1),
    gives_attempt_back: false,
    code: String::new(),
    detail: String::new(),
};

#[tokio::test]
async fn a_group_waits_behind_its_leased_head() {
    let db = Database::fresh().await;
    let store = db.store();
    let group = db.insert(4, "'orders'", "'g'").await;

    assert_eq!(ids(&claim(&store, &[quota("orders", 2)]).await), group[..2]);
    assert!(claim(&store, &[quota("orders", 9)]).await.is_empty());
}

#[tokio::test]
async fn a_group_waits_behind_its_retrying_head_and_no_other_does() {
    let db = Database::fresh().await;
    let store = db.store();
    let group = db.insert(3, "'orders'", "'g'").await;
    let first = claim_of(&store, &[quota("orders", 1)]).await;
    let mut marks = Marks::default();
    marks.push(group[0], RETRY);
    store.mark(first.token, &marks).await.unwrap();
    let other_group = db.insert(1, "'orders'", "'h'").await;
    let ungrouped = db.insert(1, "'orders'", "NULL").await;
    let other_destination = db.insert(1, "'events'", "'g'").await;

    let claimed = ids(&claim(&store, &[quota("orders", 9), quota("events", 9)]).await);
    assert_eq!(claimed, [other_group[0], ungrouped[0], other_destination[0]]);

    db.everything_is_due().await;
    let retried = ids(&claim(&store, &[quota("orders", 9)]).await);
    assert_eq!(retried, group, "the head's time has come, and so has that of all behind it");
}

/// A long blocked group stands at the head of the queue; what is behind it is found all the same.
#[tokio::test]
async fn a_long_blocked_group_does_not_fill_the_quota() {
    let db = Database::fresh().await;
    let store = db.store();
    db.insert(500, "'orders'", "'g'").await;
    claim(&store, &[quota("orders", 1)]).await;
    let behind = db.pending(3).await;
    assert_eq!(ids(&claim(&store, &[quota("orders", 10)]).await), behind);
}

/// Two sessions, one interleaving: B's claim starts while A's is not committed, so B's snapshot still shows the group as
/// free. B passes over the rows that A has locked, and must not take those behind them.
#[tokio::test]
async fn a_claim_beside_an_uncommitted_one_takes_nothing_of_its_groups() {
    let db = Database::fresh().await;
    let store = db.store();
    let group = db.insert(4, "'orders'", "'g'").await;
    let free = db.insert(1, "'orders'", "'h'").await;
    let mut other = db.connect().await;
    let a = other.transaction().await.unwrap();
    a.query("SELECT FROM outbox.message WHERE id = ANY ($1) FOR UPDATE", &[&&group[..2]])
        .await
        .unwrap();

    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), free);
    a.rollback().await.unwrap();
    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), group);
}

#[tokio::test]
async fn a_message_scheduled_within_a_group_holds_back_what_is_behind_it() {
    let db = Database::fresh().await;
    let store = db.store();
    let group = db.insert(3, "'orders'", "'g'").await;
    let later = format!(
        "UPDATE outbox.message SET available_at = now() + interval '1 day' WHERE id = {}",
        group[1]
    );
    db.run(&later).await;
    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), group[..1]);
}

/// Case R25: the first of a group fails twice; the others of the group wait, other groups do not.
#[tokio::test]
async fn a_failed_message_holds_back_its_own_group_only() {
    let db = Database::fresh().await;
    db.insert(3, "'orders'", "'g'").await;
    db.insert(3, "'orders'", "'h' || i").await;
    let endpoint = Endpoint::start();
    let fails = std::sync::atomic::AtomicU32::new(2);
    endpoint.answer_always(move |request| {
        let first = request
            .entries
            .iter()
            .find(|e| e.body == r#"{"n": 1}"# && e.group_id.as_deref() == Some("g"));
        match first {
            Some(entry) if fails.load(std::sync::atomic::Ordering::SeqCst) > 0 => {
                fails.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                Answer::fail([entry.id.as_str()], "InternalError")
            }
            _ => Answer::Accept,
        }
    });
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders.fifo"))]);
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    let stop = CancellationToken::new();

    relay.run(None, &stop).await.unwrap();
    assert_eq!(db.count("dispatched").await, 3, "the other groups are through");
    db.everything_is_due().await;
    relay.run(None, &stop).await.unwrap();
    db.everything_is_due().await;
    relay.run(None, &stop).await.unwrap();

    assert_eq!(db.count("dispatched").await, 6);
    let of_group: Vec<_> = endpoint
        .accepted()
        .into_iter()
        .filter(|e| e.group_id.as_deref() == Some("g"))
        .map(|e| e.body)
        .collect();
    assert_eq!(of_group, [r#"{"n": 1}"#, r#"{"n": 2}"#, r#"{"n": 3}"#]);
}

/// The head of a group is due later than the messages behind it, though all are due by now. They must not fill the quota
/// and then be left for want of their head, claim after claim.
#[tokio::test]
async fn messages_that_were_due_before_their_head_do_not_stall_their_destination() {
    let db = Database::fresh().await;
    let store = db.store();
    let group = db.insert(4, "'orders'", "'g'").await;
    db.run("UPDATE outbox.message SET available_at = now() - interval '1 hour'").await;
    let head = format!("UPDATE outbox.message SET available_at = now() WHERE id = {}", group[0]);
    db.run(&head).await;
    assert_eq!(ids(&claim(&store, &[quota("orders", 1)]).await), group[..1]);
}

/// Whatever the states and times within groups: if a group's head is free and due, a claim takes something.
#[tokio::test]
async fn a_claim_is_never_empty_while_a_groups_head_is_free_and_due() {
    let db = Database::fresh().await;
    let store = db.store();
    for seed in 0..40 {
        db.run("DELETE FROM outbox.message").await;
        db.insert(12, "'orders'", "'g' || i % 3").await;
        let arrange = format!(
            "SELECT setseed({seed}::float8 / 40);
             UPDATE outbox.message SET available_at = CASE floor(random() * 3)
                 WHEN 0 THEN NULL
                 WHEN 1 THEN now() - random() * interval '1 hour'
                 ELSE now() + random() * interval '1 hour' END;
             UPDATE outbox.message SET dispatched_at = now() WHERE random() < 0.3"
        );
        db.run(&arrange).await;
        let due_heads = "SELECT count(*) FROM (
                SELECT DISTINCT ON (message_group) available_at FROM outbox.message
                WHERE dispatched_at IS NULL ORDER BY message_group, id
            ) AS head WHERE available_at IS NULL OR available_at <= now()";
        let n_heads: i64 = db.value(due_heads).await;
        for limit in [1, 2, 12] {
            let n_claimed = claim(&store, &[quota("orders", limit)]).await.len();
            assert_eq!(n_claimed > 0, n_heads > 0, "seed {seed}, limit {limit}, {n_heads} heads");
            db.run("UPDATE outbox.message SET locked_until = NULL").await;
        }
    }
}

//! The store and its connections: a transaction is written whole or not at all, and a future that is dropped leaves no
//! connection behind that can't be used.

use std::time::Duration;

use outbox::{DeadReason, Mark};
use outbox_store::Marks;
use outbox_tests::{Database, eventually};

use crate::claim::{claim, claim_of, claim_ungrouped, ids, quota};

/// Everything that the rows say.
async fn rows(db: &Database) -> Vec<String> {
    db.value("SELECT array_agg(m::text ORDER BY id) FROM outbox.message AS m").await
}

/// The statements of a mark are sent at once; here one between the others fails.
#[tokio::test]
async fn a_mark_of_which_one_statement_fails_writes_nothing() {
    let db = Database::fresh().await;
    let store = db.store_on_one_connection();
    db.pending(4).await;
    let claimed = claim_of(&store, &[quota("orders", 4)]).await;
    let (code, detail) = ("code".to_owned(), "detail".to_owned());
    let all = [
        Mark::Dispatched { broker_message_id: "broker-1".to_owned() },
        Mark::Retry {
            delay: Duration::from_mins(1),
            gives_attempt_back: false,
            code: code.clone(),
            detail: detail.clone(),
        },
        Mark::Dead { reason: DeadReason::Refused, code, detail, holds_group: false },
        Mark::Released,
    ];
    let mut marks = Marks::default();
    marks.extend(ids(&claimed.messages).into_iter().zip(all));

    let before = rows(&db).await;
    db.refuse("NEW.dead_at IS NOT NULL", "42501").await;
    let error = store.mark(claimed.token, &marks).await.unwrap_err();
    assert_eq!(error.code(), "42501", "the first error, not what it led to");
    assert_eq!(rows(&db).await, before);

    db.refuse_nothing().await;
    let tally = store.mark(claimed.token, &marks).await.unwrap();
    assert_eq!((tally.dispatched, tally.retried, tally.dead, tally.released), (1, 1, 1, 1));
}

/// The claim waits for a lock when its future is dropped. The server carries it out all the same: its messages wait for
/// their lease. The next claim does not wait behind it: it comes on a new connection.
#[tokio::test]
async fn a_claim_that_is_dropped_leaves_a_lease_and_a_store_that_works() {
    let db = Database::fresh().await;
    let store = db.store_on_one_connection();
    db.pending(5).await;
    let mut other = db.connect().await;
    let lock = other.transaction().await.unwrap();
    lock.batch_execute("LOCK TABLE outbox.message").await.unwrap();
    let quotas = [quota("orders", 3)];
    tokio::select! {
        claimed = claim_ungrouped(&store, &quotas) => panic!("claimed behind a lock: {claimed:?}"),
        () = db.lock_waits(1) => {}
    }
    lock.rollback().await.unwrap();
    drop(other);

    let n_claimed = claim(&store, &[quota("orders", 9)]).await.len();
    assert!(n_claimed >= 2, "the dropped claim may hold three, and no more");
    let one_session = "SELECT count(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let left = async || (db.value::<i64>(one_session).await == 1).then_some(());
    eventually("the end of the session that nobody waits for", left).await;
    assert_eq!(db.count("claimed").await, 5, "each by one of them");
    let attempts = "SELECT sum(attempts) FROM outbox.message";
    assert_eq!(db.value::<i64>(attempts).await, 5);
}

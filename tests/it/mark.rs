//! Mark: only for the claim that holds the row.

use std::time::Duration;

use outbox::{DeadReason, Mark};
use outbox_store::{Claim, Marks, Store, Tally};
use outbox_tests::Database;

use crate::claim::{claim_of, quota};

fn dispatched() -> Mark {
    Mark::Dispatched { broker_message_id: "broker-1".to_owned() }
}

fn retry(delay: Duration, gives_attempt_back: bool) -> Mark {
    Mark::Retry {
        delay,
        gives_attempt_back,
        code: "InternalError".into(),
        detail: "try again".into(),
    }
}

fn dead() -> Mark {
    let (code, detail) = ("too_large".to_owned(), "9 bytes are over the limit".to_owned());
    Mark::Dead { reason: DeadReason::Defect, code, detail, holds_group: false }
}

async fn claim(store: &Store) -> Claim {
    claim_of(store, &[quota("orders", 100)]).await
}

fn marks(of: impl IntoIterator<Item = (i64, Mark)>) -> Marks {
    let mut marks = Marks::default();
    marks.extend(of);
    marks
}

#[tokio::test]
async fn each_message_is_marked_by_its_own_outcome() {
    let db = Database::fresh().await;
    let store = db.store();
    let ids = db.pending(4).await;
    let claim = claim(&store).await;
    // Given in another order than the ids, as answers arrive.
    let marks = marks([
        (ids[3], Mark::Released),
        (ids[1], retry(Duration::from_mins(1), false)),
        (ids[0], dispatched()),
        (ids[2], dead()),
    ]);
    let tally = store.mark(claim.token, &marks).await.unwrap();
    assert_eq!(tally, Tally { dispatched: 1, retried: 1, dead: 1, released: 1, fenced: 0 });

    let shown = "SELECT string_agg(format('%s|%s|%s|%s|%s', status, attempts, dead_reason, last_error_code,
                 available_at > now() + interval '50 seconds'), ' ' ORDER BY id) FROM outbox.message_status";
    assert_eq!(
        db.value::<String>(shown).await,
        "dispatched|1||| pending|1||InternalError|t dead|1|defect|too_large| pending|0|||"
    );
}

/// Case R01: A stalls past its lease, B has the rows, A's success arrives late.
#[tokio::test]
async fn a_claim_that_lost_its_lease_can_change_no_row() {
    let db = Database::fresh().await;
    let store = db.store();
    let ids = db.pending(4).await;
    let a = claim(&store).await;
    db.expire_leases().await;
    let b = claim(&store).await;
    assert_eq!(b.messages.len(), 4);

    for late in [dispatched(), retry(Duration::ZERO, true), dead(), Mark::Released] {
        let late = marks(ids.iter().map(|&id| (id, late.clone())));
        let tally = store.mark(a.token, &late).await.unwrap();
        assert_eq!(tally, Tally { fenced: 4, ..Tally::default() });
    }
    assert_eq!(db.count("claimed").await, 4);

    let tally =
        store.mark(b.token, &marks([(ids[0], retry(Duration::ZERO, false))])).await.unwrap();
    assert_eq!(tally.retried, 1);
    let tally = store.mark(a.token, &marks([(ids[0], dispatched())])).await.unwrap();
    assert_eq!(tally.fenced, 1, "also after B has let go of it");
}

#[tokio::test]
async fn a_mark_is_valid_after_the_lease_as_long_as_nobody_else_claimed() {
    let db = Database::fresh().await;
    let store = db.store();
    let ids = db.pending(1).await;
    let claim = claim(&store).await;
    db.expire_leases().await;
    let tally = store.mark(claim.token, &marks([(ids[0], dispatched())])).await.unwrap();
    assert_eq!(tally.dispatched, 1);
}

/// The answer to a mark was lost and it is made again: nothing is counted as fenced, and no attempt is given back twice.
#[tokio::test]
async fn a_repeated_mark_counts_the_same_and_changes_nothing() {
    let db = Database::fresh().await;
    let store = db.store();
    let ids = db.pending(4).await;
    let claim = claim(&store).await;
    let all = [dispatched(), retry(Duration::from_mins(1), true), dead(), Mark::Released];
    let marks = marks(ids.iter().copied().zip(all));

    let first = store.mark(claim.token, &marks).await.unwrap();
    let everything = "SELECT md5(string_agg(m::text, ',' ORDER BY id)) FROM outbox.message AS m";
    let before: String = db.value(everything).await;
    let second = store.mark(claim.token, &marks).await.unwrap();
    assert_eq!(first, second);
    assert_eq!(second.fenced, 0);
    assert_eq!(db.value::<String>(everything).await, before);
}

/// Case P28: no wait is too long to be written, though it may be written shorter.
#[tokio::test]
async fn the_longest_wait_is_written_and_lies_years_ahead() {
    let db = Database::fresh().await;
    let store = db.store();
    let ids = db.pending(2).await;
    let claim = claim(&store).await;
    let (year, ever) = (Duration::from_hours(24 * 365), Duration::MAX);
    let waits = marks([(ids[0], retry(year, false)), (ids[1], retry(ever, false))]);
    assert_eq!(store.mark(claim.token, &waits).await.unwrap().retried, 2);
    let days =
        "SELECT array_agg(extract(epoch FROM available_at - now())::bigint / 86400 ORDER BY id)
                FROM outbox.message";
    let days: Vec<i64> = db.value(days).await;
    assert!((364..=365).contains(&days[0]) && days[1] > 9 * 365, "{days:?} days");
}

#[tokio::test]
async fn a_released_message_is_claimable_at_once_with_its_attempt_given_back() {
    let db = Database::fresh().await;
    let store = db.store();
    let ids = db.pending(1).await;
    let first = claim(&store).await;
    store.mark(first.token, &marks([(ids[0], Mark::Released)])).await.unwrap();
    let second = claim(&store).await;
    assert_eq!(second.messages[0].attempts, 1);
}

/// Case P14: marks that overlap lock rows in one order, whatever order they were given in. A third session holds the row
/// in the middle: the first mark has locked those before it, and waits. If the second one began at its own end, each
/// would then hold what the other needs.
#[tokio::test]
async fn marks_lock_rows_in_order_of_their_ids() {
    let db = Database::fresh().await;
    let store = db.store();
    let ids = db.pending(5).await;
    let claim = claim(&store).await;
    let forward = marks(ids.iter().map(|&id| (id, dispatched())));
    let backward = marks(ids.iter().rev().map(|&id| (id, dispatched())));
    // Connected beforehand: nobody waits for a lock for longer than two seconds.
    let (one, other) = tokio::join!(store.due(), store.due());
    one.and(other).unwrap();
    let mut third = db.connect().await;
    let held = Database::hold(&mut third, ids[2]).await;

    let second = async {
        db.lock_waits(1).await;
        store.mark(claim.token, &backward).await
    };
    let release = async {
        db.lock_waits(2).await;
        held.rollback().await.unwrap();
    };
    let (first, second, ()) = tokio::join!(store.mark(claim.token, &forward), second, release);
    assert_eq!((first.unwrap().dispatched, second.unwrap().dispatched), (5, 5));
}

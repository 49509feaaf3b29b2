//! Purge: dispatched messages past their retention, and nothing else.

use std::time::Duration;

use outbox_tests::Database;

const WEEK: Duration = Duration::from_hours(168);

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
    let transaction = other.transaction().await.unwrap();
    transaction
        .query("SELECT FROM outbox.message WHERE id = $1 FOR UPDATE", &[&ids[0]])
        .await
        .unwrap();
    assert_eq!(db.store().purge(WEEK, 100).await.unwrap(), 1);
}

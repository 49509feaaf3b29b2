//! Discard: dead messages are deleted, nothing else is, and it is written down.

use outbox_store::{Discard, Selection};
use outbox_tests::Database;

use crate::claim::{claim, quota};
use crate::redrive::{dead, of, with_ids};

fn discard(selection: Selection) -> Discard {
    Discard { selection, actor: "ops@example.com".into(), reason: "the orders are void".into() }
}

/// One message of each state; the whole outbox is selected.
#[tokio::test]
async fn a_discard_deletes_dead_messages_and_none_in_any_other_state() {
    let db = Database::fresh().await;
    let store = db.store();
    let dispatched = db.pending(1).await[0];
    db.run("UPDATE outbox.message SET dispatched_at = now()").await;
    let claimed = db.pending(1).await[0];
    claim(&store, &[quota("orders", 9)]).await;
    let scheduled = db.pending(1).await[0];
    db.run(&format!(
        "UPDATE outbox.message SET available_at = now() + interval '1 day' WHERE id = {scheduled}"
    ))
    .await;
    let pending = db.pending(1).await[0];
    let of_dead = dead(&db, 2, "orders", "x").await;

    let others = [dispatched, claimed, scheduled, pending];
    let by_ids = store.discard(&discard(with_ids(&others))).await.unwrap();
    assert_eq!((by_ids.n_messages, by_ids.n_skipped), (0, Some(0)));
    assert_eq!(store.discard(&discard(Selection::default())).await.unwrap().n_messages, 2);
    let left = "SELECT array_agg(id ORDER BY id) FROM outbox.message";
    assert_eq!(db.value::<Vec<i64>>(left).await, others);
    assert!(of_dead.iter().all(|id| !others.contains(id)));
}

#[tokio::test]
async fn a_discard_takes_what_matches_every_part_of_its_selection() {
    let db = Database::fresh().await;
    let store = db.store();
    let orders = dead(&db, 2, "orders", "too_large").await;
    dead(&db, 1, "orders", "no_route").await;
    dead(&db, 1, "events", "too_large").await;
    let selected = Selection { code: Some("too_large".into()), ..of("orders") };
    assert_eq!(store.discard(&discard(selected)).await.unwrap().n_messages, 2);
    assert_eq!(db.count("dead").await, 2);
    let gone = store.discard(&discard(with_ids(&orders))).await.unwrap();
    assert_eq!(gone.n_messages, 0);
}

/// Nothing else tells any more which messages there were.
#[tokio::test]
async fn a_discard_is_written_down_with_who_and_why_and_the_message_ids_that_are_gone() {
    let db = Database::fresh().await;
    let as_admin = db.store_as(&db.url_as("outbox_admin").await);
    dead(&db, 5_002, "orders", "x").await;
    let ids = "SELECT jsonb_object_agg(id, message_id) FROM outbox.message";
    let ids: serde_json::Value = db.value(ids).await;
    let done = as_admin.discard(&discard(of("orders"))).await.unwrap();
    assert_eq!((done.n_messages, done.n_skipped), (5_002, Some(0)));
    let audit = "SELECT string_agg(format('%s|%s|%s|%s', actor, action, n_messages, reason), E'\\n' ORDER BY id)
                 FROM outbox.audit";
    assert_eq!(
        db.value::<String>(audit).await,
        "ops@example.com|discard|5000|the orders are void\nops@example.com|discard|2|the orders are void"
    );
    let written = "SELECT jsonb_object_agg(key, value) FROM outbox.audit, jsonb_each(details)";
    assert_eq!(db.value::<serde_json::Value>(written).await, ids);
}

#[tokio::test]
async fn a_dead_message_whose_row_somebody_else_holds_is_not_discarded() {
    let db = Database::fresh().await;
    let ids = dead(&db, 2, "orders", "x").await;
    let mut other = db.connect().await;
    let lock = Database::hold(&mut other, ids[0]).await;
    let done = db.store().discard(&discard(of("orders"))).await.unwrap();
    assert_eq!((done.n_messages, done.n_skipped), (1, Some(1)));
    lock.rollback().await.unwrap();
    assert_eq!(db.status(ids[0]).await, "dead");
}

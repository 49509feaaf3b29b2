//! Redrive: back to pending, everything reset that must be, and written down.

use outbox_store::{Redrive, Selection};
use outbox_tests::Database;

use crate::claim::{claim, ids, quota};

fn redrive(selection: Selection) -> Redrive {
    Redrive { selection, actor: "ops@example.com".into(), reason: "the queue is back".into() }
}

async fn dead(db: &Database, n: i64, destination: &str, code: &str) -> Vec<i64> {
    let ids = db.insert(n, &format!("'{destination}'"), "NULL").await;
    let sql = format!(
        "UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused', attempts = 10, last_error_code = '{code}',
                locked_until = now() + interval '1 minute', first_failed_at = now(), claim_token = gen_random_uuid()
         WHERE id = ANY ('{{{}}}')",
        ids.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
    );
    db.run(&sql).await;
    ids
}

/// Case R12.
#[tokio::test]
async fn a_redriven_message_starts_anew_and_keeps_its_identity() {
    let db = Database::fresh().await;
    let store = db.store();
    let of = dead(&db, 1, "orders", "x").await;
    let identity =
        "SELECT format('%s %s %s', message_id, payload, message_group) FROM outbox.message";
    let before: String = db.value(identity).await;

    let selection = Selection { ids: Some(of.clone()), ..Selection::default() };
    assert_eq!(store.redrive(&redrive(selection.clone())).await.unwrap(), 1);
    assert_eq!(store.redrive(&redrive(selection)).await.unwrap(), 0, "it is dead no more");

    let claimed = claim(&store, &[quota("orders", 9)]).await;
    assert_eq!(ids(&claimed), of);
    assert_eq!(claimed[0].attempts, 1);
    assert_eq!(db.value::<String>(identity).await, before);
}

#[tokio::test]
async fn a_redrive_takes_what_matches_every_part_of_its_selection_and_only_dead_messages() {
    let db = Database::fresh().await;
    let store = db.store();
    let orders = dead(&db, 2, "orders", "too_large").await;
    dead(&db, 1, "orders", "no_route").await;
    dead(&db, 1, "events", "too_large").await;
    let pending = db.pending(1).await;
    let selected = Selection {
        destination: Some("orders".into()),
        code: Some("too_large".into()),
        ids: Some(vec![orders[0], orders[1], pending[0]]),
    };
    assert_eq!(store.redrive(&redrive(selected)).await.unwrap(), 2);
    assert_eq!(
        store.redrive(&redrive(Selection::default())).await.unwrap(),
        2,
        "everything else that is dead"
    );
}

#[tokio::test]
async fn a_redrive_is_written_down_with_who_and_why() {
    let db = Database::fresh().await;
    dead(&db, 3, "orders", "x").await;
    let selection = Selection { destination: Some("orders".into()), ..Selection::default() };
    db.store().redrive(&redrive(selection)).await.unwrap();
    let audit = "SELECT format('%s|%s|%s|%s|%s', actor, action, selection, n_messages, reason) FROM outbox.audit";
    assert_eq!(
        db.value::<String>(audit).await,
        r#"ops@example.com|redrive|{"destination": "orders"}|3|the queue is back"#
    );
}

/// Case R11: everything that a person needs is in one view.
#[tokio::test]
async fn a_dead_letter_carries_its_context() {
    let db = Database::fresh().await;
    let of = dead(&db, 1, "orders", "too_large").await;
    let shown =
        "SELECT format('%s|%s|%s|%s|%s|%s', id, destination, attempts, last_error_code, payload,
                               dead_at IS NOT NULL) FROM outbox.dead_letter";
    assert_eq!(
        db.value::<String>(shown).await,
        format!(r#"{}|orders|10|too_large|{{"n": 1}}|t"#, of[0])
    );
}

#[tokio::test]
async fn the_backlog_counts_each_message_once() {
    let db = Database::fresh().await;
    let store = db.store();
    assert!(store.backlog().await.unwrap().is_empty());
    dead(&db, 2, "orders", "x").await;
    db.pending(6).await;
    claim(&store, &[quota("orders", 1)]).await;
    let ids = db.pending(3).await;
    db.run(&format!(
        "UPDATE outbox.message SET available_at = now() + interval '1 day' WHERE id = {}",
        ids[0]
    ))
    .await;
    db.run(&format!(
        "UPDATE outbox.message SET created_at = now() - interval '2 days', available_at = now() - interval '1 day' WHERE id = {}",
        ids[1]
    ))
    .await;
    let backlog = store.backlog().await.unwrap();
    let [orders] = &backlog[..] else { panic!("{backlog:?}") };
    assert_eq!((orders.due, orders.scheduled, orders.claimed, orders.dead), (7, 1, 1, 2));
    assert!(orders.oldest_due_seconds >= 86_400.0);
}

//! Roles: each can do its work, and nothing else.

use std::time::Duration;

use outbox::{Mark, NewMessage};
use outbox_store::{FailedRequests, Marks, Terms, Wanted};
use outbox_tests::Database;
use tokio_postgres::{Client, NoTls};

async fn connect_as(db: &Database, role: &str) -> Client {
    let (client, connection) =
        tokio_postgres::connect(&db.url_as(role).await, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

pub(crate) async fn refused(client: &Client, sql: &str) {
    let error = client.batch_execute(sql).await.expect_err(sql);
    assert_eq!(
        error.code(),
        Some(&tokio_postgres::error::SqlState::INSUFFICIENT_PRIVILEGE),
        "{sql}"
    );
}

#[tokio::test]
async fn a_producer_enqueues_and_receives_and_reads_no_payload() {
    let db = Database::fresh().await;
    let client = connect_as(&db, "outbox_producer").await;
    let message =
        NewMessage::new("orders", "order.placed.v1", "{}").with_message_id(uuid::Uuid::new_v4());
    let first = outbox_store::enqueue(&client, &message).await.unwrap();
    assert_eq!(outbox_store::enqueue(&client, &message).await.unwrap(), first);
    assert!(outbox_store::receive(&client, "billing", uuid::Uuid::new_v4()).await.unwrap());
    let insert = "INSERT INTO outbox.message (destination, message_type, payload) VALUES ('d', 't', 'p') RETURNING id";
    client.query_one(insert, &[]).await.unwrap();

    for sql in [
        "SELECT payload FROM outbox.message",
        "UPDATE outbox.message SET attempts = 0",
        "DELETE FROM outbox.message",
        "INSERT INTO outbox.message (destination, message_type, payload, dispatched_at) VALUES ('d', 't', 'p', now())",
        "SELECT * FROM outbox.dead_letter",
        "SELECT * FROM outbox.audit",
        "SELECT * FROM outbox.inbox",
    ] {
        refused(&client, sql).await;
    }
}

#[tokio::test]
async fn a_relay_claims_and_marks_and_changes_nothing_that_is_sent() {
    let db = Database::fresh().await;
    db.pending(2).await;
    let store = db.store_as(&db.url_as("outbox_relay").await);
    store.check_version().await.unwrap();
    assert_eq!(store.due().await.unwrap().len(), 1);
    assert_eq!(store.backlog().await.unwrap().len(), 1, "as `outbox relay --until-drained` asks");
    let quotas = [crate::claim::quota("orders", 9)];
    let claim = crate::claim::claim_of(&store, &quotas).await;
    let mut marks = Marks::default();
    marks.push(claim.messages[0].id, Mark::Dispatched { broker_message_id: "b".into() });
    marks.push(claim.messages[1].id, Mark::Released);
    assert_eq!(store.mark(claim.token, &marks).await.unwrap().fenced, 0);

    let failed = FailedRequests {
        destination: "orders".into(),
        n_requests: 3,
        code: "c".into(),
        probe: None,
    };
    assert_eq!(store.requests_failed(&[failed]).await.unwrap(), ["orders"]);
    db.run("UPDATE outbox.destination SET probe_at = now()").await;
    let wanted =
        Wanted { probes: vec!["orders".into()], ungrouped: quotas.to_vec(), ..Wanted::default() };
    let terms = Terms { lease: Duration::from_mins(1), claimed_by: "test" };
    assert_eq!(store.claim(&wanted, 0..=1, terms).await.unwrap().messages.len(), 1);
    assert_eq!(store.recovered(&["orders".to_owned()]).await.unwrap(), ["orders"]);

    let client = connect_as(&db, "outbox_relay").await;
    for sql in [
        "INSERT INTO outbox.message (destination, message_type, payload) VALUES ('d', 't', 'p')",
        "SELECT outbox.enqueue('d', 't', 'p')",
        "UPDATE outbox.message SET payload = 'other'",
        "UPDATE outbox.message SET destination = 'other'",
        "DELETE FROM outbox.message",
        "INSERT INTO outbox.destination (name, paused_at, paused_by) VALUES ('d', now(), 'relay')",
        "INSERT INTO outbox.audit (actor, action, n_messages, reason) VALUES ('a', 'redrive', 1, 'r')",
    ] {
        refused(&client, sql).await;
    }
}

#[tokio::test]
async fn an_admin_purges_and_redrives_and_changes_nothing_that_is_sent() {
    let db = Database::fresh().await;
    db.pending(2).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '30 days' WHERE id = 1")
        .await;
    db.run("UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused' WHERE id = 2").await;
    let store = db.store_as(&db.url_as("outbox_admin").await);
    store.check_version().await.unwrap();
    assert_eq!(store.purge(std::time::Duration::from_hours(168), 10).await.unwrap(), 1);
    assert_eq!(store.backlog().await.unwrap().len(), 1);
    let redrive = outbox_store::Redrive {
        selection: outbox_store::Selection::default(),
        actor: "test".into(),
        reason: "test".into(),
        ..outbox_store::Redrive::default()
    };
    assert_eq!(store.redrive(&redrive).await.unwrap().n_messages, 1);

    let filter = outbox_store::Filter { limit: 9, ..outbox_store::Filter::default() };
    assert_eq!(store.list(&filter).await.unwrap().messages.len(), 1);
    let wanted = outbox_store::WantedContent { payload: true, headers: true };
    assert!(store.show(Some(2), None, wanted).await.unwrap()[0].payload.is_some());
    assert_eq!(store.tail(0, &[], 9).await.unwrap().len(), 1);

    let client = connect_as(&db, "outbox_admin").await;
    for sql in [
        "SELECT outbox.enqueue('d', 't', 'p')",
        "UPDATE outbox.message SET payload = 'other'",
        "UPDATE outbox.message SET dispatched_at = now()",
        "UPDATE outbox.audit SET reason = 'other'",
        "DELETE FROM outbox.audit",
    ] {
        refused(&client, sql).await;
    }
}

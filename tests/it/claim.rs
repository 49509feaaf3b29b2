//! Claim: who may lease what, and never more than asked.

use std::collections::HashSet;
use std::time::Duration;

use outbox::Message;
use outbox_store::{Claim, Error, GroupQuota, GroupsFrom, Quota, Store, Terms, Wanted};
use outbox_tests::Database;

use crate::statement;

const TERMS: Terms<'_> = Terms { lease: Duration::from_mins(1), claimed_by: "test" };

pub(crate) fn quota(destination: &str, n_messages: u32) -> Quota {
    Quota { destination: destination.to_owned(), n_messages }
}

/// Claims as a relay does: what has no group, and the groups that are free; of each at most the destination's quota.
pub(crate) async fn try_claim_of(store: &Store, quotas: &[Quota]) -> Result<Claim, Error> {
    let from = quotas
        .iter()
        .map(|quota| GroupsFrom { destination: quota.destination.clone(), group: String::new() });
    let visited = store.groups(&from.collect::<Vec<_>>(), 1_000).await?;
    let free = visited.into_iter().filter(|group| group.lost_claims.is_some());
    let n_messages = |destination: &str| {
        quotas.iter().find(|quota| quota.destination == destination).unwrap().n_messages
    };
    let groups = free.map(|group| GroupQuota {
        n_messages: n_messages(&group.destination),
        destination: group.destination,
        message_group: group.message_group,
    });
    let wanted =
        Wanted { ungrouped: quotas.to_vec(), groups: groups.collect(), ..Wanted::default() };
    store.claim(&wanted, 0..=i32::MAX, TERMS).await
}

/// A claim of messages without a group, in a single statement.
pub(crate) async fn claim_ungrouped(store: &Store, quotas: &[Quota]) -> Result<Claim, Error> {
    let wanted = Wanted { ungrouped: quotas.to_vec(), ..Wanted::default() };
    store.claim(&wanted, 0..=i32::MAX, TERMS).await
}

/// A claim of `n` messages without a group and one each of `n` groups.
pub(crate) async fn claim_of_both(store: &Store, n: u32) -> Vec<Message> {
    let from = GroupsFrom { destination: "orders".to_owned(), group: String::new() };
    let visited = store.groups(&[from], 10_000).await.unwrap();
    let free = visited.into_iter().filter(|group| group.lost_claims.is_some());
    let groups = free.take(n as usize).map(|group| GroupQuota {
        destination: group.destination,
        message_group: group.message_group,
        n_messages: 1,
    });
    let groups = groups.collect();
    let wanted = Wanted { ungrouped: vec![quota("orders", n)], groups, ..Wanted::default() };
    store.claim(&wanted, 0..=i32::MAX, TERMS).await.unwrap().messages
}

pub(crate) async fn claim_of(store: &Store, quotas: &[Quota]) -> Claim {
    try_claim_of(store, quotas).await.unwrap()
}

pub(crate) async fn claim(store: &Store, quotas: &[Quota]) -> Vec<Message> {
    claim_of(store, quotas).await.messages
}

pub(crate) fn ids(messages: &[Message]) -> Vec<i64> {
    messages.iter().map(|message| message.id).collect()
}

#[tokio::test]
async fn a_claim_leases_the_oldest_messages_and_no_other_relay_gets_them() {
    let db = Database::fresh().await;
    let store = db.store();
    let pending = db.pending(5).await;

    let first = claim(&store, &[quota("orders", 3)]).await;
    assert_eq!(ids(&first), pending[..3]);
    assert_eq!(first[0].attempts, 1, "attempts rise at the claim");
    assert_eq!(db.count("claimed").await, 3);

    let second = claim(&store, &[quota("orders", 3)]).await;
    assert_eq!(ids(&second), pending[3..]);
    assert!(claim(&store, &[quota("orders", 3)]).await.is_empty());
}

#[tokio::test]
async fn an_expired_lease_is_claimable_again() {
    let db = Database::fresh().await;
    let store = db.store();
    let pending = db.pending(2).await;
    let first = claim_of(&store, &[quota("orders", 9)]).await;
    db.expire_leases().await;

    let second = claim_of(&store, &[quota("orders", 9)]).await;
    assert_eq!(ids(&second.messages), pending);
    assert_eq!(second.messages[0].attempts, 2);
    assert_ne!(first.token, second.token, "every claim has a fresh token");
}

/// Case P01: planner settings that once made a LIMIT in a subquery mean nothing. The store guards its claims from most
/// plans; the bare statement is run here, in sessions that leave the planner little choice.
#[tokio::test]
async fn a_claim_never_leases_more_than_asked_under_any_plan() {
    let db = Database::fresh().await;
    db.insert(200, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i % 20 END").await;
    db.run("UPDATE outbox.message SET available_at = now() WHERE id % 5 = 0").await;
    db.run("ANALYZE outbox.message").await;
    let of_groups = "gen_random_uuid(), 'test', 60000, 0, 1, \
                     ARRAY['orders', 'orders'], ARRAY['g10', 'g2'], ARRAY[3, 2]";
    let ungrouped = "gen_random_uuid(), 'test', 60000, 0, 1, ARRAY['orders'], ARRAY[5]";
    let (mut plans, mut n_leased) = (HashSet::new(), 0);
    for disabled in [
        &[][..],
        &["seqscan"],
        &["indexscan", "indexonlyscan", "bitmapscan"],
        &["hashjoin", "mergejoin"],
        &["nestloop", "mergejoin"],
        &["nestloop", "hashjoin"],
        &["indexscan", "indexonlyscan", "bitmapscan", "hashjoin", "mergejoin", "material"],
        &["hashjoin", "mergejoin", "hashagg", "sort", "material", "memoize"],
    ] {
        for cached in ["force_custom_plan", "force_generic_plan"] {
            let session = db.connect().await;
            let mode = format!("SET jit = off; SET plan_cache_mode = {cached}");
            session.batch_execute(&mode).await.unwrap();
            for setting in disabled {
                session.batch_execute(&format!("SET enable_{setting} = off")).await.unwrap();
            }
            for (name, arguments) in [("claim", ungrouped), ("claim_groups", of_groups)] {
                statement::prepare(&session, name).await;
                plans.insert(statement::explain(&session, "COSTS OFF", name, arguments).await);
                let n = statement::execute(&session, name, arguments).await.len();
                assert!((1..=5).contains(&n), "{name}: {n} messages with {disabled:?} off");
                n_leased += n;
                db.run(
                    "UPDATE outbox.message SET locked_until = NULL WHERE message_group IS NOT NULL",
                )
                .await;
            }
        }
    }
    assert!(plans.len() >= 3, "the settings led to {} plans only", plans.len());
    let attempts: i64 = db.value("SELECT sum(attempts) FROM outbox.message").await;
    assert_eq!(attempts, i64::try_from(n_leased).unwrap(), "none but returned");
}

/// Case P02: RETURNING has no order.
#[tokio::test]
async fn claimed_messages_come_in_order_of_their_ids_wherever_they_lie() {
    let db = Database::fresh().await;
    let pending = db.pending(8).await;
    for id in [pending[2], pending[0], pending[4]] {
        db.run(&format!(
            "UPDATE outbox.message SET last_error = repeat('x', 3000) WHERE id = {id}"
        ))
        .await;
    }
    assert_eq!(ids(&claim(&db.store(), &[quota("orders", 8)]).await), pending);
}

/// Case P03.
#[tokio::test]
async fn a_lower_id_that_commits_later_is_still_claimed() {
    let db = Database::fresh().await;
    let store = db.store();
    let mut late = db.connect().await;
    let transaction = late.transaction().await.unwrap();
    let message = outbox::NewMessage::new("orders", "order.placed.v1", "late");
    let lower = outbox_store::enqueue(&transaction, &message).await.unwrap();
    let higher = db.pending(1).await;
    assert!(lower < higher[0]);

    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), higher);
    transaction.commit().await.unwrap();
    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), [lower]);
}

#[tokio::test]
async fn each_destination_gives_at_most_its_quota() {
    let db = Database::fresh().await;
    let store = db.store();
    db.insert(100, "'busy'", "NULL").await;
    db.insert(3, "'quiet'", "NULL").await;

    let claimed =
        claim(&store, &[quota("busy", 10), quota("quiet", 10), quota("unknown", 10)]).await;
    let of = |name: &str| claimed.iter().filter(|m| m.destination == name).count();
    assert_eq!((of("busy"), of("quiet")), (10, 3));
}

#[tokio::test]
async fn a_paused_destination_gives_nothing() {
    let db = Database::fresh().await;
    let store = db.store();
    let pending = db.pending(1).await;
    let both = [quota("orders", 9), quota("events", 9)];
    for paused in ["orders", "*"] {
        db.run("DELETE FROM outbox.destination").await;
        let sql = format!(
            "INSERT INTO outbox.destination (name, paused_at, paused_by) VALUES ('{paused}', now(), 'test')"
        );
        db.run(&sql).await;
        assert!(claim(&store, &both).await.is_empty(), "{paused}");
    }
    db.run("UPDATE outbox.destination SET paused_at = NULL, paused_by = NULL").await;
    assert_eq!(ids(&claim(&store, &both).await), pending);
}

/// Cases R19 and R06: what waits is passed over, and a NULL never strands a row.
#[tokio::test]
async fn a_message_is_claimed_from_its_time_on() {
    let db = Database::fresh().await;
    let store = db.store();
    let ids_of = db.pending(3).await;
    let set = |id: i64, at: &str| {
        format!("UPDATE outbox.message SET available_at = {at} WHERE id = {id}")
    };
    db.run(&set(ids_of[0], "now() + interval '1 hour'")).await;
    db.run(&set(ids_of[1], "now() - interval '1 hour'")).await;

    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), ids_of[1..]);
    db.everything_is_due().await;
    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), ids_of[..1]);
}

#[tokio::test]
async fn fresh_and_retrying_messages_take_turns() {
    let db = Database::fresh().await;
    let retrying = db.pending(10).await;
    db.run("UPDATE outbox.message SET available_at = now()").await;
    let fresh = db.pending(10).await;

    let claimed = ids(&claim(&db.store(), &[quota("orders", 4)]).await);
    assert_eq!(claimed, [retrying[0], retrying[1], fresh[0], fresh[1]]);
}

/// Case P36: schema-qualified, whatever the search path, and a schema whose name needs quotes.
#[tokio::test]
async fn the_configured_schema_is_used_whatever_the_search_path() {
    let db = Database::empty().await;
    let schema = outbox_store::Schema::new("My-\"Schema").unwrap();
    outbox_store::migrate(&mut db.connect().await, &schema).await.unwrap();
    outbox_store::migrate(&mut db.connect().await, &outbox_store::Schema::default()).await.unwrap();
    let name: String = db.value("SELECT current_database()::text").await;
    db.run(&format!("ALTER DATABASE {name} SET search_path = ''")).await;

    let producer = outbox_store::Producer::new(&schema);
    let message = outbox::NewMessage::new("orders", "order.placed.v1", "{}");
    let id = producer.enqueue(&db.connect().await, &message).await.unwrap();
    assert!(
        claim(&db.store(), &[quota("orders", 9)]).await.is_empty(),
        "the other schema is untouched"
    );
    let store = db.store_in(schema);
    store.check_version().await.unwrap();
    assert_eq!(store.due().await.unwrap().len(), 1);
    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), [id]);
}

/// Case P26.
#[tokio::test]
async fn ids_beyond_32_bits_are_claimed() {
    let db = Database::fresh().await;
    db.run("ALTER TABLE outbox.message ALTER COLUMN id RESTART WITH 9223372036854775800").await;
    let pending = db.pending(3).await;
    assert_eq!(ids(&claim(&db.store(), &[quota("orders", 9)]).await), pending);
}

#[tokio::test]
async fn due_lists_each_destination_with_the_age_of_its_oldest_due_message() {
    let db = Database::fresh().await;
    let store = db.store();
    assert!(store.due().await.unwrap().is_empty());
    db.insert(5, "'b'", "NULL").await;
    db.insert(5, "'a'", "NULL").await;
    db.insert(5, "'later'", "NULL").await;
    db.run("UPDATE outbox.message SET created_at = now() - interval '90 seconds' WHERE destination = 'a'").await;
    db.run("UPDATE outbox.message SET available_at = now() + interval '1 hour' WHERE destination = 'later'").await;

    let due = store.due().await.unwrap();
    let names: Vec<_> = due.iter().map(|d| d.destination.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    // A time of its own that lies before its creation, and even one before all time, makes it no older.
    db.insert(1, "'long ago'", "NULL").await;
    db.run("UPDATE outbox.message SET available_at = '-infinity' WHERE destination = 'long ago'")
        .await;
    let oldest = &store.due().await.unwrap()[2];
    assert!(oldest.destination == "long ago" && oldest.oldest_due_seconds < 30.0, "{oldest:?}");
    assert_eq!(store.backlog().await.unwrap().len(), 4);

    assert!((90.0..120.0).contains(&due[0].oldest_due_seconds), "{due:?}");
    assert!((0.0..30.0).contains(&due[1].oldest_due_seconds), "{due:?}");
}

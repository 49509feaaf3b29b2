//! Many groups, groups of any name, and many relays for one group.

use std::collections::HashMap;

use outbox::{NewMessage, RunPolicy};
use outbox_store::GroupsFrom;
use outbox_tests::endpoint::{Endpoint, Received};
use outbox_tests::{Database, destinations, queue_at, relay};
use tokio_util::sync::CancellationToken;

/// Names in order, with all that a name may have. On a standard queue the group is not sent, so that none is refused.
fn names() -> Vec<String> {
    let mut names = vec![
        String::new(),
        "\u{1}".to_owned(),
        " ".to_owned(),
        "'; DROP TABLE message; --".to_owned(),
        "\"g\"".to_owned(),
        "NULL".to_owned(),
        "\\".to_owned(),
        "a".to_owned(),
        "a\u{1}".to_owned(),
        "a\u{1}\u{1}".to_owned(),
        "ab".to_owned(),
        "x".repeat(1023) + "a",
        "x".repeat(1024),
        "{g,h}".to_owned(),
        "\u{7f}".to_owned(),
        "żółć".to_owned(),
        "注文".to_owned(),
        "\u{10ffff}".to_owned(),
    ];
    names.sort_unstable();
    names
}

async fn insert_three_of_each(db: &Database) {
    let message = |(n, name): (usize, &String)| NewMessage {
        message_group: Some(name.clone()),
        ..NewMessage::new("orders", "order.placed.v1", n.to_string())
    };
    let names = names();
    for _ in 0..3 {
        db.insert_raw(names.iter().enumerate().map(message)).await;
    }
}

#[tokio::test]
async fn a_group_of_any_name_is_found_and_its_messages_keep_their_order() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    insert_three_of_each(&db).await;
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    let report = relay.run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!(report.dispatched, 3 * names().len() as u64);

    let sql = "SELECT message_id::text, message_group FROM outbox.message ORDER BY id";
    let rows = db.client.query(sql, &[]).await.unwrap();
    let mut in_order: HashMap<String, Vec<String>> = HashMap::new();
    for row in rows {
        in_order.entry(row.get(1)).or_default().push(row.get(0));
    }
    let accepted = endpoint.accepted();
    for (group, expected) in in_order {
        let is_of_group = |id: &&str| expected.iter().any(|of_group| of_group == id);
        let sent: Vec<&str> =
            accepted.iter().map(Received::message_id).filter(is_of_group).collect();
        assert_eq!(sent, expected, "group {group:?}");
    }
}

/// A way through the groups that goes on as the engine does, behind the last one found.
#[tokio::test]
async fn a_way_through_the_groups_in_steps_of_any_size_visits_each_once() {
    let db = Database::fresh().await;
    let store = db.store();
    insert_three_of_each(&db).await;
    for step in [1, 2, 7] {
        let mut visited = Vec::new();
        let mut group = String::new();
        loop {
            let from = GroupsFrom { destination: "orders".to_owned(), group };
            let mut found: Vec<String> = store
                .groups(&[from], step)
                .await
                .unwrap()
                .into_iter()
                .map(|group| group.message_group)
                .collect();
            found.sort_unstable();
            visited.extend_from_slice(&found);
            let Some(last) = found.last() else { break };
            group = format!("{last}\u{1}");
        }
        assert_eq!(visited, names(), "in steps of {step}");
    }
}

/// More groups than are looked at together, all of which wait for a retry.
#[tokio::test]
async fn a_free_group_behind_5000_that_wait_is_served_in_the_same_run() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.insert(10_000, "'orders'", "'g' || i % 5000").await;
    db.run("UPDATE outbox.message SET available_at = now() + interval '1 hour' WHERE id <= 5000")
        .await;
    db.insert(2, "'orders'", "'last'").await;
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders.fifo"))]);
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    for _ in 0..2 {
        let report = relay.run(None, &CancellationToken::new()).await.unwrap();
        assert_eq!(report.dispatched, 2);
        db.insert(2, "'orders'", "'last'").await;
    }
}

/// Each claim takes one message of each of the groups; between two claims all of them are leased, which is not the end.
#[tokio::test]
async fn a_run_goes_on_until_all_its_groups_are_drained() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.insert(8_000, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i % 500 END").await;
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders.fifo"))]);
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    let report = relay.run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!((report.dispatched, report.drained), (8_000, true));
}

#[tokio::test]
async fn three_relays_on_one_hot_group_send_it_in_order_and_nothing_twice() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.insert(300, "'orders'", "'hot'").await;
    let to = || destinations([queue_at("orders", &endpoint.queue_url("orders.fifo"))]);
    let policy = RunPolicy { batch_size: 20, ..RunPolicy::default() };
    let [a, b, c] = [(); 3].map(|()| relay(&db, &endpoint.sdk_config(), to(), policy.clone()));
    let stop = CancellationToken::new();
    // One may leave while another holds the group; somebody goes on until nothing is left.
    while db.count("dispatched").await < 300 {
        let (a, b, c) = tokio::join!(a.run(None, &stop), b.run(None, &stop), c.run(None, &stop));
        let dispatched = [a, b, c].map(|report| report.unwrap().dispatched);
        assert!(dispatched.iter().sum::<u64>() > 0, "{dispatched:?}");
    }
    let in_order: Vec<_> = (1..=300).map(|n| format!("{{\"n\": {n}}}")).collect();
    assert_eq!(endpoint.bodies(), in_order);
}

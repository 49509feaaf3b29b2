//! Enqueue and receive: in the caller's transaction, once.

use outbox::NewMessage;
use outbox_tests::Database;
use uuid::Uuid;

mod refusals;

fn order(payload: &str) -> NewMessage {
    NewMessage::new("orders", "order.placed.v1", payload)
}

/// Hands-on tests A and B.
#[tokio::test]
async fn a_message_is_there_with_its_business_row_or_not_at_all() {
    let db = Database::fresh().await;
    db.run("CREATE TABLE orders (id int PRIMARY KEY)").await;
    let mut client = db.connect().await;
    for commits in [true, false] {
        let transaction = client.transaction().await.unwrap();
        transaction
            .execute("INSERT INTO orders VALUES ($1)", &[&i32::from(commits)])
            .await
            .unwrap();
        outbox_store::enqueue(&transaction, &order("{}")).await.unwrap();
        if commits {
            transaction.commit().await.unwrap();
        } else {
            let failed = transaction.execute("INSERT INTO orders VALUES (1)", &[]).await;
            assert!(failed.is_err(), "the business change fails before the commit");
        }
    }
    assert_eq!(db.value::<i64>("SELECT count(*) FROM orders").await, 1);
    assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.message").await, 1);
}

#[tokio::test]
async fn enqueue_repeated_with_one_message_id_returns_the_first_id_and_inserts_nothing() {
    let db = Database::fresh().await;
    let message = order("first").with_message_id(Uuid::new_v4());
    let first = db.enqueue([message.clone()]).await;
    let again = db.enqueue([NewMessage { payload: "second".into(), ..message.clone() }]).await;
    assert_eq!(first, again);
    assert_eq!(
        db.value::<String>("SELECT string_agg(payload, ',') FROM outbox.message").await,
        "first"
    );

    let elsewhere = db.enqueue([NewMessage { destination: "events".into(), ..message }]).await;
    assert_ne!(first, elsewhere, "another destination has a row and a state of its own");
}

#[tokio::test]
async fn the_sql_function_takes_named_arguments_and_fills_in_the_rest() {
    let db = Database::fresh().await;
    let id: i64 = db
        .value(
            "SELECT outbox.enqueue(destination => 'orders', message_type => 'order.placed.v1',
                                   payload => '{\"id\":42}', message_group => 'customer-7',
                                   headers => '{\"tenant\":\"acme\"}', correlation_id => 'c-1')",
        )
        .await;
    let row = "SELECT format('%s|%s|%s|%s|%s|%s', id, message_group, headers, correlation_id, content_type, available_at)
               FROM outbox.message";
    let expected = format!(r#"{id}|customer-7|{{"tenant": "acme"}}|c-1|application/json|"#);
    assert_eq!(db.value::<String>(row).await, expected);
}

#[tokio::test]
async fn the_sql_function_rolled_back_leaves_no_row_and_called_twice_one() {
    let db = Database::fresh().await;
    let call = "SELECT outbox.enqueue('orders', 'order.placed.v1', '{}',
                message_id => '6f1c9f0e-0b1f-4c55-9d59-0f6d1a2b3c4d')";
    db.run(&format!("BEGIN; {call}; ROLLBACK")).await;
    assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.message").await, 0);
    let first: i64 = db.value(call).await;
    let second: i64 = db.value(call).await;
    assert_eq!(first, second);
    assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.message").await, 1);
}

#[tokio::test]
async fn a_concurrent_enqueue_of_one_message_id_waits_and_takes_the_place_of_one_that_rolled_back()
{
    let db = Database::fresh().await;
    let message = order("{}").with_message_id(Uuid::new_v4());
    for first_commits in [true, false] {
        db.run("DELETE FROM outbox.message").await;
        let (mut one, two) = (db.connect().await, db.connect().await);
        let transaction = one.transaction().await.unwrap();
        let first = outbox_store::enqueue(&transaction, &message).await.unwrap();
        let second = outbox_store::enqueue(&two, &message);
        let finish = async {
            if first_commits { transaction.commit().await } else { transaction.rollback().await }
        };
        let (second, finished) = tokio::join!(second, finish);
        finished.unwrap();
        assert_eq!(second.unwrap() == first, first_commits);
        assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.message").await, 1);
    }
}

#[tokio::test]
async fn a_plain_insert_works_and_every_other_column_has_a_default() {
    let db = Database::fresh().await;
    db.run("INSERT INTO outbox.message (destination, message_type, payload) VALUES ('orders', 'order.placed.v1', '{}')")
        .await;
    assert_eq!(db.count("pending").await, 1);
}

#[tokio::test]
async fn what_no_index_or_relay_could_take_is_refused_by_a_constraint_with_a_name() {
    let db = Database::fresh().await;
    for (values, constraint) in [
        ("'', 't', 'p', NULL, '{}'", "message_destination_length"),
        ("repeat('d', 129), 't', 'p', NULL, '{}'", "message_destination_length"),
        ("'d', '', 'p', NULL, '{}'", "message_type_length"),
        ("'d', 't', 'p', repeat('g', 1025), '{}'", "message_group_length"),
        ("'d', 't', 'p', NULL, '[]'", "message_headers_object"),
    ] {
        let sql = format!(
            "INSERT INTO outbox.message (destination, message_type, payload, message_group, headers) VALUES ({values})"
        );
        let error = db.client.batch_execute(&sql).await.unwrap_err();
        assert_eq!(error.as_db_error().unwrap().constraint(), Some(constraint));
    }
}

/// Case P29: what is stored is what comes back, byte for byte.
#[tokio::test]
async fn a_payload_is_kept_byte_for_byte() {
    let db = Database::fresh().await;
    let payload = "{\"b\": 1.10, \"a\":1E+2,\t\"a\" : \"é\\u0000\u{1F980}\"}\r\n ";
    db.enqueue([order(payload)]).await;
    let claimed = crate::claim::claim(&db.store(), &[crate::claim::quota("orders", 1)]).await;
    assert_eq!(claimed[0].payload, payload);
}

#[tokio::test]
async fn a_consumer_takes_a_message_once_and_another_consumer_too() {
    let db = Database::fresh().await;
    let id = Uuid::new_v4();
    let receive = |consumer: &'static str| outbox_store::receive(&db.client, consumer, id);
    assert!(receive("billing").await.unwrap());
    assert!(!receive("billing").await.unwrap());
    assert!(receive("shipping").await.unwrap());
}

#[tokio::test]
async fn a_receive_that_rolled_back_was_none() {
    let db = Database::fresh().await;
    let id = Uuid::new_v4();
    let mut client = db.connect().await;
    let transaction = client.transaction().await.unwrap();
    assert!(outbox_store::receive(&transaction, "billing", id).await.unwrap());
    transaction.rollback().await.unwrap();
    assert!(outbox_store::receive(&db.client, "billing", id).await.unwrap());
}

/// Case A23: a number of the headers is an attribute with the digits that the producer wrote.
#[tokio::test]
async fn a_number_in_the_headers_keeps_its_digits() {
    let db = Database::fresh().await;
    let line = r#"{"destination": "orders", "message_type": "t", "payload": "{}",
                   "headers": {"n": 12345678901234567890123, "price": 1.10}}"#;
    db.enqueue([serde_json::from_str(line).unwrap()]).await;
    let claimed = crate::claim::claim(&db.store(), &[crate::claim::quota("orders", 1)]).await;
    assert_eq!(claimed[0].headers, r#"{"n": 12345678901234567890123, "price": 1.10}"#);
}

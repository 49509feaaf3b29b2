//! What `outbox.enqueue` refuses: the message that could never be sent, told to the producer who can still change it.

use outbox::{Destination, Entry, NewMessage, Target};
use outbox_tests::Database;
use serde_json::{Value, json};
use tokio_postgres::NoTls;
use tokio_postgres::error::DbError;

use super::order;

/// Most bytes of a message of any queue.
const MAX_BYTES: usize = 1_048_576;

/// The refusal of a call with these arguments, of which the first three have good values if they are not given.
async fn refusal(db: &Database, arguments: &str) -> DbError {
    let required = [
        ("destination", "'orders'"),
        ("message_type", "'order.placed.v1'"),
        ("payload", "'{\"secret\":1}'"),
    ];
    let required = required.iter().filter(|(name, _)| !arguments.starts_with(name));
    let required = required.map(|(name, value)| format!("{name} => {value}, "));
    let call = format!("SELECT outbox.enqueue({}{arguments})", required.collect::<String>());
    let error = db.client.query_one(&call, &[]).await.expect_err(&call);
    error.as_db_error().expect(&call).clone()
}

/// Cases A10, A11, A16, A19, A20 and A23, before they are rows.
#[tokio::test]
async fn a_refusal_names_argument_problem_what_is_allowed_and_an_example() {
    let db = Database::fresh().await;
    for (arguments, problem) in [
        ("destination => ''", "is empty"),
        ("destination => NULL", "is NULL"),
        ("destination => '*'", "is *, which stands for all destinations"),
        ("destination => repeat('é', 129)", "has 129 characters in 258 bytes"),
        ("message_type => ''", "is empty"),
        ("message_type => NULL", "is NULL"),
        ("message_type => repeat('t', 257)", "has 257 characters in 257 bytes"),
        ("message_type => E'a\\x0C'", "has the character U+000C at byte 1"),
        ("payload => ''", "is empty"),
        ("payload => NULL", "is NULL"),
        ("payload => E'secret\\x01'", "has the character U+0001 at byte 6"),
        ("payload => E'é\\x0B\\x0C'", "has the character U+000B at byte 2"),
        ("payload => E'a\\uFFFE'", "has the character U+FFFE at byte 1"),
        ("payload => repeat('secret', 200000)", "has 1200000 bytes, 1200119 with all attributes"),
        ("message_group => ''", "is empty"),
        ("message_group => repeat('é', 513)", "has 513 characters in 1026 bytes"),
        ("available_at => 'infinity'", "is infinity"),
        ("available_at => '-infinity'", "is -infinity"),
        ("correlation_id => E'\\x1F'", "has the character U+001F at byte 0"),
        ("traceparent => E'00-\\x7F\\x02'", "has the character U+0002 at byte 4"),
        ("content_type => E'text/plain\\uFFFF'", "has the character U+FFFF at byte 10"),
        ("headers => '[\"secret\"]'", "is a JSON array"),
        ("headers => 'null'", "is a JSON null"),
        ("headers => '{\"\": \"x\"}'", "has the name \"\", which is empty"),
        (
            "headers => '{\"x:trace/id\": \"x\"}'",
            "has the name \"x:trace/id\", which has a character",
        ),
        ("headers => '{\".lead\": \"x\"}'", "leading, trailing or doubled period"),
        ("headers => '{\"trail.\": \"x\"}'", "leading, trailing or doubled period"),
        ("headers => '{\"a..b\": \"x\"}'", "leading, trailing or doubled period"),
        ("headers => '{\"AWS.Foo\": \"x\"}'", "has the prefix"),
        ("headers => '{\"amazon.bar\": \"x\"}'", "has the prefix"),
        ("headers => jsonb_build_object(repeat('n', 257), 'x')", "is longer than 256 characters"),
        ("headers => '{\"message_id\": \"x\"}'", "one of the relay's own attributes"),
        ("headers => '{\"content_type\": \"x\"}'", "one of the relay's own attributes"),
        ("headers => '{\"tenant\": \"\"}'", "has under \"tenant\" a value that is empty"),
        ("headers => '{\"tenant\": null}'", "a value that is a JSON null"),
        ("headers => '{\"tenant\": [\"secret\"]}'", "a value that is a JSON array"),
        ("headers => '{\"tenant\": \"secret\\u000c\"}'", "has the character U+000C at byte 6"),
        ("headers => '{\"amount\": 1e127}'", "a value that is out of range"),
        ("headers => '{\"amount\": 1e-129}'", "a value that is out of range"),
        (
            "headers => '{\"amount\": 123456789012345678901234567890123456789}'",
            "a value that has more than 38 digits",
        ),
        (
            "headers => (SELECT jsonb_object_agg('h' || i, 'x') FROM generate_series(1, 8) AS i)",
            "makes 11 attributes with the relay's own message_id, message_type, content_type",
        ),
    ] {
        let argument = arguments.split(' ').next().unwrap();
        let error = refusal(&db, arguments).await;
        assert_eq!(error.code().code(), "22023", "{arguments}: {error}");
        assert_eq!(error.column(), Some(argument), "{arguments}");
        let message = error.message();
        assert!(message.starts_with(&format!("not enqueued: {argument} ")), "{message}");
        assert!(message.contains(problem) && message.contains("; allowed: "), "{message}");
        let hint = error.hint().unwrap_or_default();
        assert!(hint.starts_with(&format!("For example {argument} => ")), "{hint}");
        let said = format!("{message} {hint} {:?} {:?}", error.detail(), error.where_());
        assert!(!said.contains("secret"), "{said}");
    }
    assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.message").await, 0);
}

/// A message with these fields, which are arguments of `outbox.enqueue`.
fn with(fields: &Value) -> NewMessage {
    let mut message = json!({ "destination": "orders", "message_type": "t", "payload": "{}" });
    message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    serde_json::from_value(message).unwrap()
}

/// Messages around every rule that holds for every destination; `h` stands for a header.
fn around_every_rule() -> Vec<NewMessage> {
    let mut fields = Vec::new();
    for text in ["null", "\"\"", "\t\n\r", "\u{1}", "\u{8}", "\u{B}", "\u{1F}", "\u{7F}", "\u{85}"]
    {
        fields.push(json!({ "payload": text }));
        fields.push(json!({ "message_type": text }));
        fields.push(json!({ "headers": { "h": text } }));
    }
    for text in
        ["\u{FFFD}", "\u{FFFE}", "\u{FFFF}", "\u{10000}", "\u{1FFFE}", "\u{10FFFF}", "\u{D7FF}"]
    {
        fields.extend(
            ["payload", "correlation_id", "traceparent", "content_type"]
                .map(|name| json!({ name: text })),
        );
    }
    fields.push(
        json!({ "payload": "", "correlation_id": "", "traceparent": "", "content_type": "" }),
    );
    fields.push(json!({ "correlation_id": "", "traceparent": "", "content_type": "" }));
    let long = ["n".repeat(256), "n".repeat(257)];
    for name in [
        "",
        ".",
        ".a",
        "a.",
        "a..b",
        "a.b",
        "-",
        "_",
        "aws",
        "AWS.a",
        "Amazon.a",
        "awsome.a",
        "a.aws.b",
        "ä",
        "a b",
        "message_id",
        "message_type",
        "content_type",
        "correlation_id",
        "traceparent",
        "Message_ID",
        &long[0],
        &long[1],
    ] {
        fields.push(json!({ "headers": { name: "x" } }));
        fields.push(json!({ "headers": { name: "x" }, "correlation_id": "c", "traceparent": "t" }));
        fields.push(json!({ "headers": { name: "x" }, "content_type": "" }));
    }
    for number in [
        "0",
        "-0.0",
        "1.10",
        "1e126",
        "-1e126",
        "1.1e126",
        "1e127",
        "1e-128",
        "0.9e-128",
        "1e-129",
        "0e9",
        "12345678901234567890123456789012345678",
        "123456789012345678901234567890123456789",
        "123456789012345678901234567890123456780",
        "0.0012345678901234567890123456789012345678",
    ] {
        let number: Value = serde_json::from_str(number).unwrap();
        fields.push(json!({ "headers": { "h": number } }));
    }
    for value in [json!(null), json!(true), json!([]), json!({}), json!("")] {
        fields.push(json!({ "headers": { "h": value } }));
    }
    for n_headers in 5..=9 {
        let headers: serde_json::Map<_, _> =
            (0..n_headers).map(|n| (format!("h{n}"), json!("x"))).collect();
        fields.push(json!({ "headers": headers }));
        fields.push(json!({ "headers": headers, "content_type": "" }));
        fields.push(json!({ "headers": headers, "correlation_id": "c", "traceparent": "t" }));
    }
    fields.iter().map(with).collect()
}

/// Enqueue and relay have the rules in two languages.
#[tokio::test]
async fn enqueue_refuses_what_the_relay_could_never_send_and_nothing_else() {
    let db = Database::fresh().await;
    let messages = around_every_rule();
    db.insert_raw(messages.clone()).await;
    let quotas = [crate::claim::quota("orders", 1_000)];
    let claimed = crate::claim::claim(&db.store(), &quotas).await;
    assert_eq!(claimed.len(), messages.len());

    let queue = Target::parse("arn:aws:sqs:eu-west-1:000000000000:orders").unwrap();
    let queue = Destination::new("orders", queue);
    let mut n_refused = 0;
    for (message, claimed) in messages.iter().zip(claimed) {
        let prepared = Entry::prepare(claimed, &queue).map_err(|rejected| rejected.defect);
        let enqueued = outbox_store::enqueue(&db.client, message).await;
        assert_eq!(enqueued.is_ok(), prepared.is_ok(), "{message:?}: {enqueued:?}, {prepared:?}");
        n_refused += usize::from(enqueued.is_err());
    }
    assert!(n_refused > 50 && messages.len() - n_refused > 50, "{n_refused} of {}", messages.len());
}

/// Case A05: to the byte, with everything that counts.
#[tokio::test]
async fn a_message_of_just_the_most_bytes_is_enqueued_and_one_byte_more_is_not() {
    let db = Database::fresh().await;
    let queue = Target::parse("arn:aws:sqs:eu-west-1:000000000000:orders").unwrap();
    let queue = Destination::new("orders", queue);
    for fields in [
        json!({}),
        json!({ "correlation_id": "ü", "traceparent": "t", "content_type": "text/plain" }),
        json!({ "content_type": "", "headers": { "tenant": "ü\"", "amount": 1.10 } }),
    ] {
        let mut message = with(&fields);
        message.destination = "probe".to_owned();
        db.enqueue([message.clone()]).await;
        let claimed = crate::claim::claim(&db.store(), &[crate::claim::quota("probe", 1)]).await;
        let small = Entry::prepare(claimed.into_iter().next().unwrap(), &queue).unwrap();

        message.payload = "é".repeat((MAX_BYTES - small.bytes) / 2) + "{}";
        message.payload += if (MAX_BYTES - small.bytes) % 2 == 1 { "x" } else { "" };
        db.enqueue([message.clone()]).await;
        message.payload += "x";
        let error = outbox_store::enqueue(&db.client, &message).await.unwrap_err().to_string();
        assert!(error.contains(&format!("{} with all attributes", MAX_BYTES + 1)), "{error}");
        db.run("TRUNCATE outbox.message").await;
    }
}

#[tokio::test]
async fn a_producers_own_role_and_settings_make_no_difference() {
    let db = Database::fresh().await;
    let (client, connection) =
        tokio_postgres::connect(&db.url_as("outbox_producer").await, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
        .batch_execute("SET standard_conforming_strings = off; SET search_path = pg_catalog")
        .await
        .unwrap();
    let good =
        with(&json!({ "payload": "\\u0001 \u{1F980}", "headers": { "a.b": "\\", "n": -1.5 } }));
    outbox_store::enqueue(&client, &good).await.unwrap();
    for bad in [json!({ "payload": "\u{1}" }), json!({ "headers": { "a..b": "x" } })] {
        let error = outbox_store::enqueue(&client, &with(&bad)).await.unwrap_err();
        assert_eq!((error.code(), error.is_transient()), ("22023", false), "{error}");
        assert!(error.to_string().contains("(For example "), "{error}");
    }
}

/// What is refused aborts the transaction, as any failed statement does: the business change is not made either.
#[tokio::test]
async fn a_refusal_fails_the_transaction_it_is_in() {
    let db = Database::fresh().await;
    db.run("CREATE TABLE orders (id int PRIMARY KEY)").await;
    let mut client = db.connect().await;
    let transaction = client.transaction().await.unwrap();
    transaction.execute("INSERT INTO orders VALUES (1)", &[]).await.unwrap();
    outbox_store::enqueue(&transaction, &order("")).await.unwrap_err();
    let error = transaction.execute("INSERT INTO orders VALUES (2)", &[]).await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "25P02");
    transaction.commit().await.unwrap();
    assert_eq!(db.value::<i64>("SELECT count(*) FROM orders").await, 0);
}

/// What depends on the relay's settings can't be told here.
#[tokio::test]
async fn what_only_the_relays_settings_could_forbid_is_enqueued() {
    let db = Database::fresh().await;
    let grouped = |group: &str| order("{}").in_group(group);
    db.enqueue([grouped("a b"), grouped(&"g".repeat(129)), grouped("🦀")]).await;
    db.enqueue([NewMessage { destination: "nowhere".into(), ..order("{}") }]).await;
    db.enqueue([order(&"x".repeat(300_000))]).await;
    let past = Some("1999-12-31T23:59:59Z".to_owned());
    db.enqueue([NewMessage { available_at: past, ..order("{}") }]).await;
    assert_eq!(db.count("pending").await, 6);
}

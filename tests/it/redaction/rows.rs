//! Rows that are at fault themselves, and a database that would quote them.

use std::process::Stdio;

use outbox_tests::endpoint::Endpoint;
use outbox_tests::{Database, Function};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::canary::{HEADER, PAYLOAD, Said};
use super::{MINUTE, everybody, kept, messages, on};

#[tokio::test]
async fn a_message_that_can_never_be_sent_is_dead_with_a_reason_that_quotes_nothing_of_it() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    for (destination, payload, headers) in [
        ("orders", "\u{1}", json!({})),
        ("orders", "", json!({ "a": "\u{1}pAyLoAdCaNaRy7" })),
        ("orders", "", json!({ "a": { "b": HEADER } })),
        ("orders", "", json!({ "a": [HEADER] })),
        ("orders", "", json!({ "a": "" })),
        ("orders", "", json!({ "AWS.a": HEADER })),
        (
            "orders",
            "",
            json!({ "a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": HEADER }),
        ),
        ("small", &"x".repeat(2_000), json!({})),
        ("nowhere", "", json!({ "a": HEADER })),
    ] {
        let payload = format!("{PAYLOAD}{payload}");
        let sql = "INSERT INTO outbox.message (destination, message_type, payload, headers)
                   VALUES ($1, 't', $2, $3::text::jsonb)";
        db.client.execute(sql, &[&destination, &payload, &headers.to_string()]).await.unwrap();
    }
    let mut said = Said::default();
    let relay = Function::start(on("relay", &db.url_as("outbox_relay").await, &endpoint)).await;
    let report = relay.invoke(&json!({}), MINUTE).await.unwrap();
    assert_eq!(report["dead"], 9, "{report}");
    said.add("the report", report);
    said.add("the relay", relay.process.output());
    kept(&db, &mut said).await;
    everybody(&mut said, |name| on(name, &db.url(), &endpoint)).await;
    said.assert_clean();
}

/// The server's DETAIL is a row's values: "Failing row contains (...)", "Key (payload)=(...) is still referenced".
#[tokio::test]
async fn what_a_database_says_of_a_row_that_it_refuses_is_told_without_the_row() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.run(
        "ALTER TABLE outbox.message ADD CONSTRAINT never CHECK (dispatched_at IS NULL AND dead_reason IS NULL) NOT VALID;
         ALTER TABLE outbox.message ADD CONSTRAINT untouched CHECK (available_at < '2100-01-01') NOT VALID",
    )
    .await;
    messages(&db, 2, "orders").await;
    let mut said = Said::default();
    let relay = Function::start(on("relay", &db.url(), &endpoint)).await;
    let error = relay.invoke(&json!({}), MINUTE).await.unwrap_err();
    assert_eq!(error["errorType"], "23514", "{error}");
    said.add("the relay in its answer", error);
    said.add("the relay", relay.process.output());

    db.run(
        "ALTER TABLE outbox.message DROP CONSTRAINT never;
         UPDATE outbox.message SET dispatched_at = now() - interval '30 days';
         ALTER TABLE outbox.message ADD CONSTRAINT one UNIQUE (payload);
         CREATE TABLE elsewhere (payload text REFERENCES outbox.message (payload));
         INSERT INTO elsewhere SELECT payload FROM outbox.message",
    )
    .await;
    let purge = Function::start(on("purge", &db.url(), &endpoint)).await;
    let error = purge.invoke(&json!({}), MINUTE).await.unwrap_err();
    assert_eq!(error["errorType"], "23503", "{error}");
    said.add("the purge in its answer", error);
    said.add("the purge", purge.process.output());
    said.assert_clean();
}

#[tokio::test]
async fn a_panic_names_no_payload() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.run("ALTER TABLE outbox.message ALTER COLUMN message_type DROP NOT NULL").await;
    messages(&db, 2, "orders").await;
    db.run("UPDATE outbox.message SET message_type = NULL").await;
    let mut said = Said::default();
    let relay = Function::start(on("relay", &db.url(), &endpoint)).await;
    let error = relay.invoke(&json!({}), MINUTE).await.unwrap_err();
    assert!(error["errorMessage"].as_str().unwrap().contains("panicked"), "{error}");
    said.add("the relay in its answer", error);
    said.add("the relay", relay.process.output());
    said.assert_clean();
}

/// A line's number and what is wrong with it are told, and never what it holds.
#[tokio::test]
async fn a_line_that_is_no_message_is_named_by_its_number_alone() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let producer = db.url_as("outbox_producer").await;
    let nobody = db.url_as("pg_monitor").await;
    messages(&db, 1, "orders").await;
    db.run("CREATE UNIQUE INDEX ON outbox.message (payload)").await;
    let there: String = db.value("SELECT payload FROM outbox.message").await;
    let line = |more: &str| {
        format!(r#"{{"destination":"orders","message_type":"t","payload":"{PAYLOAD}"{more}}}"#)
    };
    let mut said = Said::default();
    for (url, line) in [
        (&producer, PAYLOAD.to_owned()),
        (&producer, format!("\"{PAYLOAD}\"")),
        (&producer, line("").replace(&format!("\"{PAYLOAD}\""), &format!("[\"{PAYLOAD}\"]"))),
        (
            &producer,
            line("").replace(&format!("\"{PAYLOAD}\""), &format!("{{\"a\":\"{PAYLOAD}\"}}")),
        ),
        (&producer, line("").replace(&format!("\"{PAYLOAD}\""), &format!("\"\\u0000{PAYLOAD}\""))),
        (&producer, line("").replace(&format!("\"{PAYLOAD}\""), &format!("\"\\u0001{PAYLOAD}\""))),
        (&producer, line("").replace('}', "")),
        (&producer, line(&format!(r#","headers":"{HEADER}""#))),
        (&producer, line(&format!(r#","headers":["{HEADER}"]"#))),
        (&producer, line(&format!(r#","headers":{{"a":{{"b":"{HEADER}"}}}}"#))),
        (&producer, line(&format!(r#","headers":{{"a":"\u0001{HEADER}"}}"#))),
        (&producer, line(&format!(r#","headers":{{"AWS.a":"{HEADER}"}}"#))),
        (&producer, line(&format!(r#","message_id":"{HEADER}""#))),
        (&producer, line(&format!(r#","destination":"{PAYLOAD}""#))),
        (&producer, line("").replace(PAYLOAD, &there.replace('"', "\\\""))),
        (&nobody, line("")),
    ] {
        let mut command = on("outbox", url, &endpoint);
        command.args(["enqueue", "--file", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(format!("\n{line}\n").as_bytes()).await.unwrap();
        let output = child.wait_with_output().await.unwrap();
        let output_text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_ne!(output.status.code(), Some(0), "{line}: {output_text}");
        if *url == producer {
            assert!(output_text.contains("line 2: "), "{line}: {output_text}");
        }
        said.add(format!("enqueue of {line}"), output_text);
    }
    assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.message").await, 1);
    said.assert_clean();
}

//! `outbox purge` with an archive, and the way back that docs/archive.md shows.

use std::path::Path;

use outbox_tests::{Bucket, Database, Process, Queue, program};
use serde_json::{Value, json};

use super::command;
use super::enqueue::enqueue;

/// What comes out of `del(.a, .b)` of the document: the jq filter, without a jq that may not be there.
fn as_the_document_shows(lines: impl IntoIterator<Item = String>) -> String {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/archive.md");
    let document = std::fs::read_to_string(document).unwrap();
    let names = document.split_once("jq -c 'del(").unwrap().1.split_once(")'").unwrap().0;
    let without = |line: String| {
        let mut line: Value = serde_json::from_str(&line).unwrap();
        for name in names.split(", ") {
            let removed = line.as_object_mut().unwrap().remove(name.strip_prefix('.').unwrap());
            assert!(removed.is_some(), "{name}");
        }
        line.to_string()
    };
    lines.into_iter().map(|line| without(line) + "\n").collect()
}

#[tokio::test]
async fn what_is_archived_can_be_enqueued_again_the_way_that_the_document_shows() {
    let db = Database::fresh().await;
    let bucket = Bucket::create().await;
    db.run(
        r#"INSERT INTO outbox.message (destination, message_type, payload, message_group, headers, correlation_id,
               traceparent, tracestate, content_type)
           VALUES ('orders', 't', E'{"z": "\\u0000 Grüße \U0001F980",\n "a": 1.10}', 'g', '{"tenant": "acme", "n": 1.50}',
                   'order-42', '00-aa-bb-01', 'a=1', 'text/plain'),
                  ('orders', 't', ' ', NULL, '{}', NULL, NULL, NULL, 'application/json')"#,
    )
    .await;
    let what_is_sent = "SELECT array_agg(format('%s', (destination, message_id, message_type, payload, message_group,
        headers, correlation_id, traceparent, tracestate, content_type)) ORDER BY id) FROM outbox.message";
    let before: Vec<String> = db.value(what_is_sent).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() - interval '8 days'").await;

    let mut purge = command(&db.url_as("outbox_admin").await, &["purge", "--output", "json"]);
    purge
        .env("OUTBOX_ARCHIVE", bucket.archive_url())
        .env("AWS_ENDPOINT_URL", Queue::endpoint_url());
    let ended = Process::start(purge).ended().await;
    assert_eq!(ended.code, Some(0), "{}", ended.output);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&report["purged"], &report["archived"]), (&json!(2), &json!(2)));
    assert_eq!(db.count("dispatched").await, 0);

    let lines = bucket.objects().await.into_values().flatten();
    let input = as_the_document_shows(lines);
    let producer = db.url_as("outbox_producer").await;
    for _ in 0..2 {
        let (code, said) = enqueue(&producer, &input, &[]).await;
        assert_eq!(code, Some(0), "{said}");
    }
    assert_eq!(db.value::<Vec<String>>(what_is_sent).await, before);
}

#[tokio::test]
async fn an_archive_that_cannot_be_written_ends_the_purge_with_1_and_deletes_nothing() {
    let db = Database::fresh().await;
    crate::archive::old(&db, 3).await;
    let mut purge = command(&db.url(), &["purge"]);
    let nowhere = "s3://no-such-bucket-here/outbox";
    purge.env("OUTBOX_ARCHIVE", nowhere).env("AWS_ENDPOINT_URL", Queue::endpoint_url());
    let ended = Process::start(purge).ended().await;
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    let said = super::sentence(&ended);
    assert!(said.contains(nowhere) && said.contains("NoSuchBucket"), "{said}");
    assert_eq!(db.count("dispatched").await, 3);
}

#[tokio::test]
async fn a_purge_that_ends_early_shows_what_it_has_done_and_why_it_ended() {
    let db = Database::fresh().await;
    crate::archive::old(&db, 1_000).await;
    crate::purge::fail_deletes(&db, "= 3", "RAISE 'fault' USING ERRCODE = '23514'").await;
    let ended = super::outbox(&db.url(), &["purge", "--output", "json"]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&report["purged"], &report["drained"]), (&json!(300), &json!(false)));
    assert!(ended.output.contains("outbox: database error 23514: fault"), "{}", ended.output);
}

#[tokio::test]
async fn an_archive_that_is_no_bucket_is_a_wrong_setting() {
    let mut purge = program("outbox");
    purge.arg("purge").env("OUTBOX_DATABASE_URL", "postgres://nobody@127.0.0.1:1/nothing");
    purge.env("OUTBOX_ARCHIVE", "my-archive/outbox");
    let ended = Process::start(purge).ended().await;
    assert_eq!(ended.code, Some(2));
    let said = super::sentence(&ended);
    assert!(said.starts_with("OUTBOX_ARCHIVE: \"my-archive/outbox\" is no s3://"), "{said}");
}

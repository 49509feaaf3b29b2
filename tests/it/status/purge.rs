//! A look at what a purge would delete.

use std::collections::BTreeMap;

use outbox_tests::{Database, Process};
use serde_json::{Value, json};

use crate::cli::{command, outbox};
use crate::purge::{left, one_to_purge_and_four_to_keep};

#[tokio::test]
async fn a_dry_run_of_a_purge_counts_by_destination_and_deletes_and_writes_nothing() {
    let db = Database::fresh().await;
    one_to_purge_and_four_to_keep(&db).await;
    db.insert(2, "'events'", "NULL").await;
    db.run(
        "UPDATE outbox.message SET dispatched_at = timestamptz '2026-01-15T10:00:00Z' + id * interval '1 s'
         WHERE destination = 'events'",
    )
    .await;
    let before = left(&db).await;
    let admin = db.url_as("outbox_admin").await;
    let mut asked = command(&admin, &["purge", "--dry-run", "--output", "json"]);
    asked.env("OUTBOX_ARCHIVE", "s3://archive/outbox");
    let ended = Process::start(asked).ended().await;
    assert_eq!(ended.code, Some(0), "{}", ended.output);
    let preview: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&preview["matched"], &preview["archive"]),
        (&json!(3), &json!("s3://archive/outbox"))
    );
    let destinations = preview["destinations"].as_array().unwrap().iter();
    let counts: BTreeMap<_, _> = destinations
        .map(|of| (of["destination"].as_str().unwrap(), of["messages"].as_i64().unwrap()))
        .collect();
    assert_eq!(counts, [("events", 2), ("orders", 1)].into());
    assert_eq!(preview["destinations"][0]["oldest_at"], "2026-01-15T10:00:06Z");

    let ended = outbox(&admin, &["purge", "--dry-run"]).await;
    assert!(ended.stdout.contains("would purge 3 messages dispatched over 168 h ago"), "{ended:?}");
    assert!(ended.stdout.contains("OUTBOX_ARCHIVE is not set"), "{ended:?}");
    assert_eq!(left(&db).await, before);
    assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.run").await, 0);
}

#[tokio::test]
async fn a_purge_without_an_archive_says_that_nothing_was_archived() {
    let db = Database::fresh().await;
    one_to_purge_and_four_to_keep(&db).await;
    let ended = outbox(&db.url(), &["purge"]).await;
    let said = "purged 1 message dispatched over 168 h ago\n\
                nothing was archived, because OUTBOX_ARCHIVE is not set\n";
    assert_eq!(ended.stdout, said);
    let ended = outbox(&db.url(), &["purge"]).await;
    assert_eq!(ended.stdout, "purged 0 messages dispatched over 168 h ago\n");
}

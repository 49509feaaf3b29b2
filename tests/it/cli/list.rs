//! `outbox list`

use outbox_tests::Database;
use serde_json::{Value, json};

use super::{answer, outbox};

/// The ids that a list has, in its order.
async fn listed(db: &Database, args: &[&str]) -> Vec<i64> {
    let (page, code) = answer(db, &[&["list"], args].concat()).await;
    assert_eq!(code, Some(0), "{page}");
    ids(&page)
}

fn ids(page: &Value) -> Vec<i64> {
    page["messages"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
}

/// One message in each state: 1 dispatched, 2 dead, 3 due, 4 retrying, 5 scheduled, 6 claimed.
async fn one_of_each() -> Database {
    let db = Database::fresh().await;
    db.insert(
        6,
        "CASE i WHEN 2 THEN 'events' ELSE 'orders' END",
        "CASE i WHEN 3 THEN 'customer-7' END",
    )
    .await;
    db.run(
        "UPDATE outbox.message SET correlation_id = 'order-' || id, message_type = 'type-' || id;
         UPDATE outbox.message SET dispatched_at = now() WHERE id = 1;
         UPDATE outbox.message SET dead_at = now(), dead_reason = 'defect', last_error_code = 'no_route' WHERE id = 2;
         UPDATE outbox.message SET available_at = now() + interval '1 hour' WHERE id IN (4, 5);
         UPDATE outbox.message SET first_failed_at = now(), last_error_code = 'timeout' WHERE id = 4;
         UPDATE outbox.message SET locked_until = now() + interval '1 hour', claimed_by = 'me' WHERE id = 6",
    )
    .await;
    db
}

#[tokio::test]
async fn a_list_has_what_matches_and_nothing_else() {
    let db = one_of_each().await;
    for (args, expected) in [
        (&[][..], &[6, 5, 4, 3, 2, 1][..]),
        (&["--status", "pending"], &[5, 4, 3]),
        (&["--status", "due"], &[3]),
        (&["--status", "retrying"], &[4]),
        (&["--status", "scheduled"], &[5]),
        (&["--status", "claimed"], &[6]),
        (&["--status", "dispatched"], &[1]),
        (&["--status", "dead"], &[2]),
        (&["--status", "dead", "--destination", "orders"], &[]),
        (&["--destination", "events"], &[2]),
        (&["--destination", "orders", "--status", "pending"], &[5, 4, 3]),
        (&["--type", "type-4"], &[4]),
        (&["--group", "customer-7"], &[3]),
        (&["--group", "customer-7", "--status", "due"], &[3]),
        (&["--correlation-id", "order-5"], &[5]),
        (&["--code", "timeout"], &[4]),
        (&["--code", "no_route", "--status", "dead"], &[2]),
        (&["--correlation-id", "order-5", "--code", "timeout"], &[]),
    ] {
        assert_eq!(listed(&db, args).await, expected, "{args:?}");
    }
    let message_id: String =
        db.value("SELECT message_id::text FROM outbox.message WHERE id = 4").await;
    assert_eq!(listed(&db, &["--message-id", &message_id]).await, [4]);
}

#[tokio::test]
async fn a_list_goes_on_page_by_page_from_either_end() {
    let db = Database::fresh().await;
    db.pending(7).await;
    db.run("UPDATE outbox.message SET dispatched_at = now() WHERE id < 4").await;
    for (way, status, expected) in [
        (&[][..], &[][..], [7, 6, 5, 4, 3, 2, 1].to_vec()),
        (&["--oldest-first"], &[], [1, 2, 3, 4, 5, 6, 7].to_vec()),
        (&[], &["--status", "pending"], [7, 6, 5, 4].to_vec()),
        (&["--oldest-first"], &["--status", "pending"], [4, 5, 6, 7].to_vec()),
    ] {
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let after_id = after.map(|id: i64| id.to_string());
            let mut args = [&["list", "--limit", "3"], way, status].concat();
            args.extend(after_id.iter().flat_map(|id| ["--after", id.as_str()]));
            let (page, _) = answer(&db, &args).await;
            all.extend(ids(&page));
            after = page["next"].as_i64();
            if after.is_none() {
                break;
            }
        }
        assert_eq!(all, expected, "{way:?} {status:?}");
    }
}

#[tokio::test]
async fn an_age_or_a_time_bounds_a_list() {
    let db = Database::fresh().await;
    db.pending(3).await;
    db.run(
        "UPDATE outbox.message SET created_at = now() - interval '3 hours' WHERE id = 1;
         UPDATE outbox.message SET created_at = '2026-01-02T03:04:05Z' WHERE id = 2",
    )
    .await;
    for (args, expected) in [
        (&["--since", "1h"][..], &[3][..]),
        (&["--since", "4h", "--until", "2h"], &[1]),
        (&["--since", "2026-01-02T03:04:05Z", "--until", "2026-01-02T03:04:06Z"], &[2]),
        (&["--until", "1h", "--status", "due"], &[2, 1]),
    ] {
        assert_eq!(listed(&db, args).await, expected, "{args:?}");
    }
}

/// A match far from where the walk begins is behind several windows.
#[tokio::test]
async fn what_has_no_index_is_found_however_far_away() {
    let db = Database::fresh().await;
    db.insert(15_000, "'orders'", "NULL").await;
    db.run("UPDATE outbox.message SET correlation_id = 'order-42' WHERE id IN (3, 14999)").await;
    assert_eq!(listed(&db, &["--correlation-id", "order-42"]).await, [14_999, 3]);
    let oldest = ["--correlation-id", "order-42", "--oldest-first", "--limit", "1"];
    assert_eq!(listed(&db, &oldest).await, [3]);
}

#[tokio::test]
async fn a_list_shows_neither_payloads_nor_headers_and_its_table_is_plain_where_nobody_looks() {
    let db = one_of_each().await;
    db.run("UPDATE outbox.message SET payload = 's3cret', headers = '{\"k\": \"s3cret\"}', message_type = E'a\\u001b[31m\\nb'")
        .await;
    for form in ["table", "json", "ndjson"] {
        let ended = outbox(&db.url(), &["list", "--output", form]).await;
        assert_eq!(ended.code, Some(0), "{}", ended.output);
        assert!(
            !ended.output.contains("s3cret") && !ended.output.contains('\u{1b}'),
            "{}",
            ended.output
        );
    }
    let ended = outbox(&db.url(), &["list", "--status", "dead"]).await;
    let said = "2   dead    events       a\\u{1b}[31m\\nb  -      0";
    assert!(ended.stdout.contains(said), "{}", ended.output);
    assert!(ended.stdout.contains("outbox show ID"), "{}", ended.output);
    let ended = outbox(&db.url(), &["list", "--output", "ndjson", "--limit", "2"]).await;
    let lines: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["id"], &lines[1]["id"], lines.len()), (&json!(6), &json!(5), 2));
}

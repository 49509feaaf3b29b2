//! `outbox enqueue`

use std::fmt::Write as _;
use std::process::Stdio;

use outbox_tests::Database;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::command;

/// Runs it with that standard input; its exit code and what it said.
pub(super) async fn enqueue(
    database_url: &str,
    input: &str,
    args: &[&str],
) -> (Option<i32>, String) {
    let args = [&["enqueue", "--output", "json", "--file", "-"], args].concat();
    let mut command = command(database_url, &args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may end before it has read everything.
    _ = child.stdin.take().unwrap().write_all(input.as_bytes()).await;
    let output = child.wait_with_output().await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

/// A line for each of the numbers.
fn lines(numbers: std::ops::RangeInclusive<u32>) -> String {
    numbers.fold(String::new(), |mut text, n| {
        let line =
            json!({ "destination": "orders", "message_type": "t", "payload": n.to_string() });
        writeln!(text, "{line}").unwrap();
        text
    })
}

async fn payloads(db: &Database) -> Vec<String> {
    db.value("SELECT array_agg(payload ORDER BY id) FROM outbox.message").await
}

#[tokio::test]
async fn a_stream_is_enqueued_in_order_under_the_role_of_a_producer() {
    let db = Database::fresh().await;
    let input =
        format!("\u{feff}{}\r\n\r\n   \n{}", lines(1..=1_200).trim_end(), lines(1_201..=2_500));
    let (code, said) = enqueue(&db.url_as("outbox_producer").await, &input, &[]).await;
    assert_eq!(code, Some(0), "{said}");
    let expected = json!({ "enqueued": 2_500, "last_line": 2_502 });
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), expected);
    let expected: Vec<String> = (1..=2_500).map(|n: u32| n.to_string()).collect();
    assert_eq!(payloads(&db).await, expected);
}

#[tokio::test]
async fn a_file_that_is_enqueued_again_tells_what_was_there_already() {
    let db = Database::fresh().await;
    let line = |n: u32| {
        let id = format!("0192a4c8-1111-7abc-8def-{n:012}");
        json!({ "destination": "orders", "message_type": "t", "payload": "p", "message_id": id })
            .to_string()
    };
    let file = |numbers: &[u32]| numbers.iter().map(|n| line(*n) + "\n").collect::<String>();
    let url = db.url_as("outbox_producer").await;
    let said = async |input: String| {
        let (code, said) = enqueue(&url, &input, &[]).await;
        assert_eq!(code, Some(0), "{said}");
        serde_json::from_str::<Value>(&said).unwrap()
    };
    assert_eq!(said(file(&[1, 2, 3])).await, json!({ "enqueued": 3, "last_line": 3 }));
    let again = json!({ "enqueued": 2, "already_there": 4, "last_line": 6 });
    assert_eq!(said(file(&[1, 2, 3, 4, 5, 4])).await, again);
    assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.message").await, 5);
}

#[tokio::test]
async fn every_field_of_a_line_reaches_its_column() {
    let db = Database::fresh().await;
    let line = json!({
        "destination": "orders", "message_type": "order.placed.v1", "payload": " {\"id\": 1.10} ",
        "message_group": "customer-7", "message_id": "0192a4c8-1111-7abc-8def-000000000042",
        "headers": { "tenant": "acme", "amount": 1.5 }, "available_at": "2030-01-02T03:04:05Z",
        "correlation_id": "order-42", "traceparent": "00-aa-bb-01", "tracestate": "a=1",
        "content_type": "text/plain",
    });
    let (code, said) = enqueue(&db.url(), &line.to_string(), &[]).await;
    assert_eq!(code, Some(0), "{said}");
    let row: Value = db
        .value(
            "SELECT to_jsonb(m) || jsonb_build_object('available_at', to_char(available_at AT TIME ZONE 'UTC',
                'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')) FROM outbox.message AS m",
        )
        .await;
    for (name, value) in line.as_object().unwrap() {
        assert_eq!(&row[name], value, "{name}");
    }
}

#[tokio::test]
async fn after_a_line_that_the_database_refuses_one_goes_on_where_it_says() {
    let db = Database::fresh().await;
    let bad = lines(1_300..=1_300).replace("\"orders\"", "\"\"");
    let input = [lines(1..=1_299), bad, lines(1_301..=1_400)].concat();
    let (code, said) = enqueue(&db.url(), &input, &[]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("line 1300: ") && said.contains("destination is empty"), "{said}");
    assert!(said.contains("go on with --from-line 1001"), "{said}");
    assert_eq!(db.count("pending").await, 1_000);

    let (code, said) = enqueue(&db.url(), &lines(1..=1_400), &["--from-line", "1001"]).await;
    assert_eq!(code, Some(0), "{said}");
    let expected: Vec<String> = (1..=1_400).map(|n: u32| n.to_string()).collect();
    assert_eq!(payloads(&db).await, expected);
}

#[tokio::test]
async fn a_bad_line_among_the_first_thousand_leaves_nothing_behind() {
    let db = Database::fresh().await;
    let input = [lines(1..=700), "nonsense\n".to_owned(), lines(702..=1_500)].concat();
    let (code, said) = enqueue(&db.url(), &input, &[]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("line 701: ") && said.contains("nothing was enqueued"), "{said}");
    assert_eq!(db.count("pending").await, 0);
}

/// Cases A10, A11 and A20: what could never be sent is told of the file's line, not of a dead message.
#[tokio::test]
async fn a_line_that_could_never_be_sent_is_named_with_what_is_allowed() {
    let db = Database::fresh().await;
    let bad = |fields: &str| format!(r#"{{"destination":"orders","message_type":"t",{fields}}}"#);
    for (bad, named) in [
        (bad(r#""payload":"""#), "payload is empty; allowed: "),
        (bad(r#""payload":"secret\u0001""#), "payload has the character U+0001 at byte 6"),
        (bad(r#""payload":"secret","headers":{"a b":"x"}"#), "has the name \"a b\""),
    ] {
        let input = [lines(1..=3), bad, "\n".to_owned(), lines(5..=9)].concat();
        let (code, said) = enqueue(&db.url_as("outbox_producer").await, &input, &[]).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("line 4: ") && said.contains(named), "{said}");
        assert!(said.contains("(For example ") && !said.contains("secret"), "{said}");
        assert_eq!(db.count("pending").await, 0);
    }
}

#[tokio::test]
async fn a_file_that_is_not_there_is_wrong_usage() {
    let args = ["enqueue", "--file", "/nowhere/events.ndjson"];
    let ended = super::outbox("postgres://nobody@127.0.0.1:1/nothing", &args).await;
    assert_eq!(ended.code, Some(2));
    assert!(super::sentence(&ended).contains("/nowhere/events.ndjson"), "{}", ended.output);
}

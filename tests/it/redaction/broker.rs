//! A broker that says in its errors whatever it has been sent, and one that the relay does not get through to.

use outbox_tests::endpoint::{Answer, Endpoint, Gate, Protocol, Request};
use outbox_tests::{Database, Function};
use serde_json::json;

use super::canary::{Said, TOKEN};
use super::{MINUTE, kept, messages, on};

/// All bodies and attribute values of a request, and again as a JSON text has them.
fn echo(request: &Request) -> String {
    let values = request.entries.iter().flat_map(|entry| {
        let values = entry.attributes.values().map(|(_, value)| value.clone());
        values.chain([entry.body.clone()])
    });
    let echo = values.collect::<Vec<_>>().join(" ");
    format!("{echo} {}", json!(echo))
}

/// What AWS says of a bad signature: the request as it should have been, with its token.
fn bad_signature() -> String {
    format!(
        "The request signature we calculated does not match the signature you provided.\n\nThe \
         Canonical String for this request should have been\n'POST\n/\n\nx-amz-security-token:{TOKEN}\n'"
    )
}

/// An answer that says of each entry what it was, in the protocol's own form.
fn partial(request: &Request) -> Answer {
    let echo = echo(request);
    let failed = request.ids();
    match request.protocol {
        Protocol::Json => {
            let failed = failed.iter().map(|id| {
                json!({ "Id": id, "Code": "InternalError", "SenderFault": false, "Message": echo })
            });
            let failed: Vec<_> = failed.collect();
            Answer::raw(200, &json!({ "Successful": [], "Failed": failed }).to_string())
        }
        Protocol::Query => {
            let failed = failed.iter().map(|id| {
                format!(
                    "<member><Id>{id}</Id><Code>InternalError</Code><Message>{echo}</Message>\
                     <SenderFault>false</SenderFault></member>"
                )
            });
            Answer::raw(
                200,
                &format!(
                    "<PublishBatchResponse><PublishBatchResult><Successful/><Failed>{}</Failed>\
                     </PublishBatchResult></PublishBatchResponse>",
                    failed.collect::<String>()
                ),
            )
        }
    }
}

fn answer(step: usize, request: &Request) -> Option<Answer> {
    let echo = echo(request);
    Some(match step {
        0 => Answer::error(400, "InvalidParameterValue", &format!("Value {echo} is invalid")),
        1 => Answer::error(400, "InvalidMessageContents", &echo),
        2 => Answer::error(400, "SomethingNew", &format!("cannot take {echo}")),
        3 => Answer::error(403, "AccessDenied", &format!("User is not authorized to send {echo}")),
        4 => Answer::error(403, "SignatureDoesNotMatch", &bad_signature()),
        5 => Answer::error(400, "RequestThrottled", &echo),
        6 => Answer::error(400, &request.entries[0].body.replace(['"', ':'], ""), &echo),
        7 => Answer::error(500, "InternalError", &echo),
        8 => Answer::raw(503, &format!("<html>{echo}</html>")),
        9 => Answer::raw(200, &format!("<html>{echo}</html>")),
        10 => Answer::raw(400, &echo),
        11 => partial(request),
        12 => Answer::raw(
            200,
            &json!({ "Successful": [{ "Id": echo, "MessageId": echo }] }).to_string(),
        ),
        13 => Answer::Drop,
        _ => return None,
    })
}

#[tokio::test]
async fn a_broker_that_repeats_what_it_was_sent_teaches_nobody_a_payload_or_a_header() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let relay = Function::start(on("relay", &db.url_as("outbox_relay").await, &endpoint)).await;
    let mut said = Said::default();
    for step in 0..14 {
        endpoint.answer_always(move |request| answer(step, request).unwrap());
        db.run("UPDATE outbox.message SET available_at = now() + interval '1 day'; DELETE FROM outbox.destination")
            .await;
        messages(&db, 2, "orders").await;
        messages(&db, 2, "events").await;
        let answer = relay.invoke(&json!({}), MINUTE).await;
        said.add(format!("the relay in its answer {step}"), answer.unwrap_or_else(|error| error));
        kept(&db, &mut said).await;
    }
    said.add("the relay", relay.process.output());
    let text = said.text();
    for code in [
        "InvalidParameterValue",
        "InvalidMessageContents",
        "SomethingNew",
        "AccessDenied",
        "no_code",
        "SignatureDoesNotMatch",
        "RequestThrottled",
        "InternalError",
        "http_503",
        "unreadable_answer",
        "http_400",
        "connection_lost",
        "not_listed",
        "cannot take application/json",
        "is not authorized to send application/json",
    ] {
        assert!(text.contains(code), "no {code} was met");
    }
    said.assert_clean();
}

#[tokio::test]
async fn a_broker_and_credentials_that_are_away_are_told_without_a_secret() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let url = db.url_as("outbox_relay").await;
    let mut said = Said::default();
    for (name, value) in [
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:9"),
        ("AWS_ENDPOINT_URL", "https://user:pAsSwOrDcAnArY7@127.0.0.1:9/x"),
        ("AWS_ACCESS_KEY_ID", ""),
        ("AWS_REGION", ""),
        ("AWS_CONFIG_FILE", concat!(env!("CARGO_MANIFEST_DIR"), "/it/redaction/bad-config.ini")),
    ] {
        let mut command = on("relay", &url, &endpoint);
        command.env(name, value);
        let relay = Function::start(command).await;
        messages(&db, 1, "orders").await;
        let answer = relay.invoke(&json!({}), MINUTE).await;
        said.add(
            format!("the relay with {name}={value} in its answer"),
            answer.unwrap_or_else(|e| e),
        );
        said.add(format!("the relay with {name}={value}"), relay.process.output());
        kept(&db, &mut said).await;
        db.run("DELETE FROM outbox.message; DELETE FROM outbox.destination").await;
    }
    said.assert_clean();
}

/// The database is gone while messages are on their way.
#[tokio::test]
async fn a_run_whose_database_goes_away_under_it_names_no_payload() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let gate = Gate::closed();
    let held = gate.clone();
    endpoint.answer_always(move |_| Answer::Accept.behind(&held));
    let relay = Function::start(on("relay", &db.url_as("outbox_relay").await, &endpoint)).await;
    messages(&db, 2, "orders").await;
    let mut said = Said::default();
    let event = json!({});
    let (answer, ()) = tokio::join!(relay.invoke(&event, MINUTE), async {
        endpoint.calls_reached(1).await;
        db.run(&format!("SELECT pg_terminate_backend(pid) {}", crate::function::SESSIONS)).await;
        db.run("ALTER TABLE outbox.message RENAME TO elsewhere").await;
        gate.open();
    });
    let error = answer.unwrap_err();
    said.add("the relay in its answer", error);
    said.add("the relay", relay.process.output());
    said.assert_clean();
}

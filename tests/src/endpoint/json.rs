//! SQS on the wire: AWS JSON 1.0, as the SDKs speak it since 2023.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Received;

/// Target and entries of a `SendMessageBatch`.
pub(super) fn read(body: &[u8]) -> Option<(String, Vec<Received>)> {
    let request: Value = serde_json::from_slice(body).ok()?;
    let target = request["QueueUrl"].as_str()?.to_owned();
    let entries = request["Entries"].as_array()?.iter().map(|entry| read_entry(&target, entry));
    Some((target.clone(), entries.collect()))
}

fn read_entry(target: &str, entry: &Value) -> Received {
    let text = |name: &str| entry[name].as_str().map(str::to_owned);
    let attributes = entry["MessageAttributes"].as_object().into_iter().flatten();
    Received {
        target: target.to_owned(),
        id: text("Id").unwrap_or_default(),
        body: text("MessageBody").unwrap_or_default(),
        attributes: attributes.map(read_attribute).collect(),
        group_id: text("MessageGroupId"),
        deduplication_id: text("MessageDeduplicationId"),
        trace_header: entry["MessageSystemAttributes"]["AWSTraceHeader"]["StringValue"]
            .as_str()
            .map(str::to_owned),
        delay_seconds: entry.get("DelaySeconds").map(Value::to_string),
        ..Received::default()
    }
}

fn read_attribute((name, attribute): (&String, &Value)) -> (String, (String, String)) {
    let text = |field: &str| attribute[field].as_str().unwrap_or_default().to_owned();
    (name.clone(), (text("DataType"), text("StringValue")))
}

/// The answer to these entries, of which some fail with a code. Without the MD5 sums of bodies
/// and attributes: the Rust SDK asks for none.
pub(super) fn answer(entries: &[Received], codes: &BTreeMap<String, String>) -> String {
    let mut answer = json!({ "Successful": [], "Failed": [] });
    for Received { id, broker_message_id, .. } in entries {
        let (list, entry) = match codes.get(id) {
            None => ("Successful", json!({ "Id": id, "MessageId": broker_message_id })),
            Some(code) => {
                ("Failed", json!({ "Id": id, "Code": code, "SenderFault": false, "Message": code }))
            }
        };
        answer[list].as_array_mut().expect("both lists are arrays").push(entry);
    }
    answer.to_string()
}

/// The refusal of a request as a whole.
pub(super) fn error(code: &str, text: &str) -> String {
    json!({ "__type": format!("com.amazonaws.sqs#{code}"), "message": text }).to_string()
}

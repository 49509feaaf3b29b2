//! SNS on the wire: the query protocol, a form that is answered in XML.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use super::Received;

/// Target and entries of a `PublishBatch`.
pub(super) fn read(body: &[u8]) -> Option<(String, Vec<Received>)> {
    let form: HashMap<String, String> = url::form_urlencoded::parse(body).into_owned().collect();
    if form.get("Action").is_none_or(|action| action != "PublishBatch") {
        return None;
    }
    let target = form.get("TopicArn")?.clone();
    let prefixes = (1..).map(|n| format!("PublishBatchRequestEntries.member.{n}"));
    let entries = prefixes.map_while(|prefix| read_entry(&target, &form, &prefix)).collect();
    Some((target, entries))
}

fn read_entry(target: &str, form: &HashMap<String, String>, prefix: &str) -> Option<Received> {
    let text = |name: &str| form.get(&format!("{prefix}.{name}")).cloned();
    let attribute = |n: usize| {
        let text = |name: &str| text(&format!("MessageAttributes.entry.{n}.{name}"));
        Some((text("Name")?, (text("Value.DataType")?, text("Value.StringValue")?)))
    };
    Some(Received {
        target: target.to_owned(),
        id: text("Id")?,
        body: text("Message").unwrap_or_default(),
        attributes: (1..).map_while(attribute).collect(),
        group_id: text("MessageGroupId"),
        deduplication_id: text("MessageDeduplicationId"),
        subject: text("Subject"),
        ..Received::default()
    })
}

/// The answer to these entries, of which some fail with a code.
pub(super) fn answer(entries: &[Received], codes: &BTreeMap<String, String>) -> String {
    let (mut successful, mut failed) = (String::new(), String::new());
    for Received { id, broker_message_id, .. } in entries {
        let written = match codes.get(id) {
            None => write!(
                successful,
                "<member><Id>{id}</Id><MessageId>{broker_message_id}</MessageId></member>"
            ),
            Some(code) => write!(
                failed,
                "<member><Id>{id}</Id><Code>{code}</Code><Message>{code}</Message>\
                 <SenderFault>false</SenderFault></member>"
            ),
        };
        written.expect("a string takes all text");
    }
    format!(
        "<PublishBatchResponse><PublishBatchResult><Successful>{successful}</Successful>\
         <Failed>{failed}</Failed></PublishBatchResult></PublishBatchResponse>"
    )
}

/// The refusal of a request as a whole.
pub(super) fn error(code: &str, text: &str) -> String {
    format!(
        "<ErrorResponse><Error><Code>{code}</Code><Message>{text}</Message></Error></ErrorResponse>"
    )
}

//! What an error's text repeats of the messages that were sent.
//!
//! AWS says what is wrong with a message, and at times quotes it. Neither payload nor header value may get from there into
//! `last_error` and the logs, in whatever sentence it stands. So each stretch of the text that a payload or a header
//! value has too is left out, whoever answers and whatever they think to say; of a payload in JSON also each text and number
//! by itself, which may come back in another form. What is shorter than four bytes is in any text, and stays.

use std::collections::HashMap;

use outbox::{Entry, Failure, Outcome};
use serde_json::Value;

use crate::classify::class_of;

/// Shortest stretch that counts as repeated. Shorter ones are in any text: a word, a number.
const STRETCH: usize = 8;

/// Shortest value that is left out where it is repeated whole.
const SHORTEST_VALUE: usize = 4;

const OWN_ATTRIBUTES: [&str; 5] =
    ["message_id", "message_type", "content_type", "correlation_id", "traceparent"];

/// The codes that this crate gives by itself.
const OWN_CODES: [&str; 14] = [
    "connect_failed",
    "connect_timeout",
    "connection_lost",
    "credentials_failed",
    "credentials_misconfigured",
    "credentials_timeout",
    "listed_twice",
    "no_code",
    "no_credentials",
    "not_built",
    "not_listed",
    "request_failed",
    "timeout",
    "unreadable_answer",
];

/// The outcomes of a request, without what their failures repeat of its entries.
pub(crate) fn without_echoes(mut outcomes: Vec<Outcome>, request: &[Entry]) -> Vec<Outcome> {
    // Most failures of a request have one text.
    let mut known = HashMap::new();
    for outcome in &mut outcomes {
        let Outcome::Failed(Failure { code, detail, .. }) = outcome else { continue };
        let clean = known.entry(detail.clone()).or_insert_with(|| without(detail, request));
        detail.clone_from(clean);
        *code = code_without(code, request);
    }
    outcomes
}

/// The code, or none if it is nobody's and repeats an entry. A known one says nothing of a message, whatever that says.
pub(crate) fn code_without(code: &str, request: &[Entry]) -> String {
    let is_known = class_of(code, None).is_some()
        || OWN_CODES.contains(&code)
        || code.strip_prefix("http_").is_some_and(|status| status.parse::<u16>().is_ok());
    let is_clean = is_known || without(code, request) == code;
    if is_clean { code } else { "no_code" }.to_owned()
}

fn without(text: &str, request: &[Entry]) -> String {
    let mut repeated = vec![false; text.len()];
    let stretches = stretches(text);
    for entry in request {
        for secret in secrets(entry) {
            mark(text, &stretches, secret, &mut repeated);
        }
        if let Ok(payload) = serde_json::from_str(&entry.message.payload) {
            mark_scalars(text, &stretches, &payload, &mut repeated);
        }
    }
    cut(text, &repeated)
}

/// Payload and header values. What the relay adds by itself (ids, types) is no secret.
fn secrets(entry: &Entry) -> impl Iterator<Item = &str> {
    let headers = entry.attributes.iter().filter(|it| !OWN_ATTRIBUTES.contains(&it.name.as_str()));
    headers.map(|header| header.value.as_str()).chain([entry.message.payload.as_str()])
}

/// Where each stretch of the text stands.
fn stretches(text: &str) -> HashMap<u64, Vec<usize>> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (place, stretch) in rolling(text) {
        places.entry(stretch).or_default().push(place);
    }
    places
}

/// Each eight bytes as one number, with their place.
fn rolling(text: &str) -> impl Iterator<Item = (usize, u64)> {
    let numbers = text.bytes().scan(0_u64, |number, byte| {
        *number = (*number << 8) | u64::from(byte);
        Some(*number)
    });
    numbers.skip(STRETCH - 1).enumerate()
}

fn mark(text: &str, stretches: &HashMap<u64, Vec<usize>>, secret: &str, repeated: &mut [bool]) {
    if (SHORTEST_VALUE..STRETCH).contains(&secret.len()) {
        for (place, _) in text.match_indices(secret) {
            repeated[place..place + secret.len()].fill(true);
        }
    }
    for (_, stretch) in rolling(secret) {
        for place in stretches.get(&stretch).into_iter().flatten() {
            repeated[*place..place + STRETCH].fill(true);
        }
    }
}

/// Each text and number of a payload, as a person would write it.
fn mark_scalars(
    text: &str,
    stretches: &HashMap<u64, Vec<usize>>,
    payload: &Value,
    repeated: &mut [bool],
) {
    match payload {
        Value::String(value) => mark(text, stretches, value, repeated),
        Value::Number(value) => mark(text, stretches, &value.to_string(), repeated),
        Value::Array(values) => {
            for value in values {
                mark_scalars(text, stretches, value, repeated);
            }
        }
        Value::Object(values) => {
            values.values().for_each(|value| mark_scalars(text, stretches, value, repeated));
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// The text with three dots in the place of each run of marked characters.
fn cut(text: &str, repeated: &[bool]) -> String {
    let mut kept = String::new();
    let mut is_cutting = false;
    for (place, character) in text.char_indices() {
        if repeated[place..place + character.len_utf8()].contains(&true) {
            if !is_cutting {
                kept.push_str("...");
            }
            is_cutting = true;
        } else {
            kept.push(character);
            is_cutting = false;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use outbox::{Destination, FailureClass, Message, Scope, Target};

    use super::*;

    const PAYLOAD: &str = r#"{"card": "4111-1111-1111-1111", "name": "Zoë Größenwahn"}"#;

    fn entry(payload: &str, headers: &str) -> Entry {
        let target = Target::parse("arn:aws:sqs:us-east-1:000000000000:orders").expect("an ARN");
        let message = Message {
            id: 1,
            message_id: uuid::Uuid::nil(),
            destination: "orders".to_owned(),
            message_type: "order.placed.v1".to_owned(),
            message_group: None,
            payload: payload.to_owned(),
            content_type: "application/json".to_owned(),
            headers: headers.to_owned(),
            correlation_id: Some("order-4711".to_owned()),
            traceparent: None,
            attempts: 1,
            lost_claims: 0,
            was_alone: false,
            has_failed: false,
        };
        Entry::prepare(message, &Destination::new("orders", target)).expect("it can be sent")
    }

    fn clean(code: &str, detail: &str, request: &[Entry]) -> (String, String) {
        let failed = Outcome::Failed(Failure {
            class: FailureClass::Transient,
            scope: Scope::Entry,
            code: code.to_owned(),
            detail: detail.to_owned(),
        });
        match without_echoes(vec![failed], request).pop() {
            Some(Outcome::Failed(Failure { code, detail, .. })) => (code, detail),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_text_repeats_of_a_payload_or_a_header_is_left_out_however_it_is_escaped() {
        let request = [entry("other", "{}"), entry(PAYLOAD, r#"{"token":"s3cr3t","pin":"12"}"#)];
        let detail = |text: &str| clean("InternalError", text, &request).1;
        assert_eq!(detail(&format!("cannot store {PAYLOAD} today")), "cannot store ... today");
        let escaped = detail(r#"bad body: {\"card\": \"4111-1111-1111-1111\"}"#);
        assert!(!escaped.contains("4111") && escaped.starts_with("bad body: "), "{escaped}");
        assert_eq!(detail("no token s3cr3t here"), "no token ... here");
        assert_eq!(detail("Größenwahn is no name"), "... is no name");
        assert_eq!(detail("12 of 12 messages"), "12 of 12 messages", "too short to mean anything");
        let plain =
            "message 00000000-0000-0000-0000-000000000000 of order-4711 in application/json";
        assert_eq!(detail(plain), plain, "what is no secret stays");
    }

    #[test]
    fn a_short_value_of_a_payload_is_left_out_wherever_it_stands() {
        let request = [entry(r#"{"pin": "1234", "sum": 98765, "of": [{"pw": "hunter2"}]}"#, "{}")];
        let detail = |text: &str| clean("InternalError", text, &request).1;
        assert_eq!(detail("value hunter2 is bad"), "value ... is bad");
        assert_eq!(
            detail(r#"bad: {\"pin\":\"1234\",\"sum\":98765}"#),
            r#"bad: {\"pin\":\"...\",\"sum\":...}"#
        );
    }

    #[test]
    fn a_code_that_repeats_a_payload_is_none_unless_it_is_a_known_one() {
        let payload = "4111111111111111 AccessDenied connection_lost http_503";
        let request = [entry(payload, "{}")];
        let code = |code: &str| clean(code, "", &request).0;
        assert_eq!(code("4111111111111111"), "no_code");
        for known in ["AccessDenied", "connection_lost", "http_503", "SomethingNew"] {
            assert_eq!(code(known), known);
        }
    }

    #[test]
    fn a_text_shorter_than_a_stretch_and_an_empty_one_stay() {
        let request = [entry(PAYLOAD, "{}")];
        assert_eq!(clean("x", "card", &request), ("x".to_owned(), "card".to_owned()));
        assert_eq!(clean("x", "", &request).1, "");
    }
}

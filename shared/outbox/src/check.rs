//! What can never be sent: the character, attribute, group and size rules of SQS and SNS.
//!
//! A message that breaks one would be refused on every attempt, and a whole request with it, so it is
//! found before it is sent and is dead at once. The rules are those of the SQS pages "Message quotas"
//! and "Message metadata", and of the SNS page "Message attributes", read in November 2026.

use std::collections::BTreeMap;
use std::collections::HashSet;

use serde_json::value::RawValue;

use crate::defect::Defect;
use crate::destination::Destination;
use crate::entry::{Attribute, AttributeType};

/// Most attributes of a message: SQS refuses more. SNS takes more, but its raw delivery to SQS then drops
/// the message without a word, so the limit holds for both.
pub const MAX_ATTRIBUTES: usize = 10;

/// Most characters of `MessageGroupId`.
pub const MAX_GROUP_CHARS: usize = 128;

const MAX_ATTRIBUTE_NAME_CHARS: usize = 256;

const MAX_NUMBER_DIGITS: usize = 38;

pub(crate) fn payload(payload: &str) -> Result<(), Defect> {
    if payload.is_empty() {
        return Err(Defect::EmptyPayload);
    }
    characters(payload, || "the payload".to_owned())
}

pub(crate) fn size(bytes: usize, destination: &Destination) -> Result<(), Defect> {
    if bytes > destination.max_bytes {
        let (limit, destination) = (destination.max_bytes, destination.name.clone());
        return Err(Defect::TooLarge { bytes, limit, destination });
    }
    Ok(())
}

/// A group that is sent must be a legal `MessageGroupId`; one that only orders our own work need not be.
pub(crate) fn group(group: Option<&str>, destination: &Destination) -> Result<(), Defect> {
    let is_sent = destination.target.is_fifo() || destination.fair;
    let Some(group) = group.filter(|_| is_sent) else { return Ok(()) };
    let n_chars = group.chars().count();
    let problem = if group.is_empty() {
        "is empty".to_owned()
    } else if n_chars > MAX_GROUP_CHARS {
        format!("has {n_chars} characters")
    } else if let Some((at, c)) = group.char_indices().find(|(_, c)| !c.is_ascii_graphic()) {
        format!("has the character U+{:04X} at byte {at}", u32::from(c))
    } else {
        return Ok(());
    };
    Err(Defect::Group { problem })
}

/// The headers as attributes, numbers digit for digit as stored: a parse into a float would print 1.10 as 1.1.
pub(crate) fn headers(headers: &str) -> Result<Vec<Attribute>, Defect> {
    if headers == "{}" {
        return Ok(Vec::new());
    }
    let headers: BTreeMap<String, &RawValue> =
        serde_json::from_str(headers).map_err(|_| Defect::Headers)?;
    headers.into_iter().map(|(name, value)| header(name, value.get())).collect()
}

fn header(name: String, value: &str) -> Result<Attribute, Defect> {
    let problem = match value.as_bytes().first() {
        Some(b'"') => match serde_json::from_str(value) {
            Ok(value) => return Ok(Attribute { name, data_type: AttributeType::String, value }),
            Err(_) => "is not a JSON string",
        },
        Some(b'-' | b'0'..=b'9') => match number_problem(value) {
            None => {
                let value = value.to_owned();
                return Ok(Attribute { name, data_type: AttributeType::Number, value });
            }
            Some(problem) => problem,
        },
        _ => "is neither a JSON string nor a JSON number",
    };
    Err(Defect::AttributeValue { name, problem })
}

/// What SQS takes as a `Number`: 38 digits that count, from 1e-128 to 1e126. It drops zeros at both ends, which
/// changes no value. A number outside is a defect and is not sent as a `String` instead: a subscription's numeric
/// filter would drop it without a word (case A23).
fn number_problem(number: &str) -> Option<&'static str> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let mantissa = mantissa.trim_start_matches('-');
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits_that_count = digits.trim_matches('0');
    let first = digits.find(|digit| digit != '0')?;
    let out_of_range = Some("is a number not between 1e-128 and 1e126");
    let Ok(exponent) = exponent.parse::<i64>() else { return out_of_range };
    // The power of ten of the first digit that counts.
    let magnitude = exponent.saturating_add(place(whole.len()) - 1 - place(first));
    if digits_that_count.len() > MAX_NUMBER_DIGITS {
        Some("is a number of more than 38 digits")
    } else if (-128..126).contains(&magnitude) || (magnitude == 126 && digits_that_count == "1") {
        None
    } else {
        out_of_range
    }
}

fn place(at: usize) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}

pub(crate) fn attributes(attributes: &[Attribute]) -> Result<(), Defect> {
    if attributes.len() > MAX_ATTRIBUTES {
        return Err(Defect::TooManyAttributes { count: attributes.len() });
    }
    let mut seen = HashSet::with_capacity(attributes.len());
    for Attribute { name, value, .. } in attributes {
        if let Some(problem) = name_problem(name) {
            return Err(Defect::AttributeName { name: shortened(name), problem });
        }
        if !seen.insert(name.as_str()) {
            let problem = "is one of the relay's own attributes";
            return Err(Defect::AttributeName { name: name.clone(), problem });
        }
        if value.is_empty() {
            return Err(Defect::AttributeValue { name: name.clone(), problem: "is empty" });
        }
        characters(value, || format!("attribute {name:?}"))?;
    }
    Ok(())
}

fn name_problem(name: &str) -> Option<&'static str> {
    let starts_with = |prefix: &str| {
        name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    if name.is_empty() {
        Some("is empty")
    } else if name.len() > MAX_ATTRIBUTE_NAME_CHARS {
        Some("is longer than 256 characters")
    } else if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b)) {
        Some("has a character other than A-Z a-z 0-9 _ - .")
    } else if starts_with("aws.") || starts_with("amazon.") {
        Some("has the prefix AWS. or Amazon., which is reserved")
    } else if name.starts_with('.') || name.ends_with('.') || name.contains("..") {
        Some("has a leading, trailing or doubled period")
    } else {
        None
    }
}

/// Bounds what a name can add to `last_error`.
fn shortened(name: &str) -> String {
    name.chars().take(64).collect()
}

/// #x9, #xA, #xD, #x20 to #xD7FF, #xE000 to #xFFFD, #x10000 to #x10FFFF. A Rust `char` is never a surrogate.
fn characters(text: &str, place: impl Fn() -> String) -> Result<(), Defect> {
    let is_carried = |c: char| match c {
        '\t' | '\n' | '\r' => true,
        c => c >= ' ' && c != '\u{FFFE}' && c != '\u{FFFF}',
    };
    match text.char_indices().find(|&(_, c)| !is_carried(c)) {
        None => Ok(()),
        Some((at, c)) => {
            Err(Defect::InvalidCharacter { place: place(), code_point: u32::from(c), at })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::tests::message;
    use crate::{Entry, Message, Target};

    fn destination(target: &str) -> Destination {
        Destination::new("orders", Target::parse(target).unwrap())
    }

    fn defect_of(target: &str, change: impl FnOnce(&mut Message)) -> Option<&'static str> {
        let mut message = message(1);
        change(&mut message);
        Entry::prepare(message, &destination(target)).err().map(|rejected| rejected.defect.code())
    }

    const QUEUE: &str = "arn:aws:sqs:eu-west-1:1:q";
    const FIFO: &str = "arn:aws:sqs:eu-west-1:1:q.fifo";

    /// Case A10: empty text can't be sent; the JSON texts of nothing can.
    #[test]
    fn an_empty_payload_is_a_defect_and_json_null_is_not() {
        assert_eq!(defect_of(QUEUE, |m| m.payload = String::new()), Some("empty_payload"));
        assert_eq!(defect_of(QUEUE, |m| m.payload = "null".into()), None);
        assert_eq!(defect_of(QUEUE, |m| m.payload = "\"\"".into()), None);
    }

    /// Case A11: code point and place are named.
    #[test]
    fn a_character_outside_xml_is_a_defect_that_names_code_point_and_place() {
        for payload in ["a\u{1}", "a\u{B}", "a\u{FFFE}", "a\u{FFFF}", "a\u{0}"] {
            assert_eq!(defect_of(QUEUE, |m| m.payload = payload.into()), Some("invalid_character"));
        }
        for payload in ["\t\n\r", "\u{7F}\u{D7FF}\u{E000}\u{FFFD}\u{10000}\u{10FFFF}"] {
            assert_eq!(defect_of(QUEUE, |m| m.payload = payload.into()), None);
        }
        let defect = payload("é\u{B}").unwrap_err();
        assert_eq!(
            defect.to_string(),
            "the payload has the character U+000B at byte 2, which SQS and SNS do not carry"
        );
    }

    /// Case A05: the attributes tip a message over the limit; bytes and limit are named.
    #[test]
    fn attributes_count_against_the_limit() {
        let mut destination = destination(QUEUE);
        destination.max_bytes = 2_000;
        let mut message = message(1);
        message.payload = "x".repeat(1_990);
        let defect = Entry::prepare(message, &destination).unwrap_err().defect;
        assert_eq!(defect.code(), "too_large");
        assert!(defect.to_string().contains("limit of 2000"), "{defect}");
    }

    /// Case A16: eleven headers, and the relay's own on top.
    #[test]
    fn more_than_ten_attributes_are_a_defect() {
        let headers = |n: usize| {
            let all: BTreeMap<_, _> = (0..n).map(|i| (format!("h{i}"), "x")).collect();
            serde_json::to_string(&all).unwrap()
        };
        assert_eq!(defect_of(QUEUE, |m| m.headers = headers(7)), None);
        assert_eq!(defect_of(QUEUE, |m| m.headers = headers(8)), Some("too_many_attributes"));
        assert_eq!(defect_of(QUEUE, |m| m.headers = headers(11)), Some("too_many_attributes"));
    }

    /// Cases A19 and A20.
    #[test]
    fn illegal_header_names_and_values_are_defects() {
        let long = "n".repeat(257);
        for name in
            ["x:trace/id", ".lead", "trail.", "a..b", "AWS.Foo", "amazon.bar", &long, "", "é"]
        {
            let headers = format!("{{\"{name}\": \"x\"}}");
            assert_eq!(
                defect_of(QUEUE, |m| m.headers = headers),
                Some("invalid_attribute_name"),
                "{name}"
            );
        }
        assert_eq!(
            defect_of(QUEUE, |m| m.headers = r#"{"message_id": "mine"}"#.into()),
            Some("invalid_attribute_name")
        );
        for value in [r#""""#, "null", "true", "[]", "{}"] {
            let headers = format!("{{\"tenant\": {value}}}");
            assert_eq!(
                defect_of(QUEUE, |m| m.headers = headers),
                Some("invalid_attribute_value"),
                "{value}"
            );
        }
        assert_eq!(defect_of(QUEUE, |m| m.headers = "[]".into()), Some("invalid_headers"));
        assert_eq!(defect_of(QUEUE, |m| m.headers = r#"{"AWSish.x": "ok"}"#.into()), None);
    }

    /// Case A23: what is in range is a `Number` as it is written, and what is not is never sent as something else.
    #[test]
    fn a_number_that_sqs_does_not_carry_is_a_defect() {
        let header = |number: &str| headers(&format!("{{\"amount\": {number}}}"));
        let nines = "9".repeat(38);
        let tiny = format!("0.{}1", "0".repeat(127));
        let huge = format!("1{}", "0".repeat(126));
        for number in [
            "0",
            "0.00",
            "-0",
            "1.10",
            "-7",
            "100",
            "1e126",
            "-1E+126",
            "1e-128",
            "0e999",
            &nines,
            &tiny,
            &huge,
            &format!("{nines}000"),
            &format!("0.000{nines}"),
            &format!("{nines}e2"),
        ] {
            let attribute = header(number).unwrap().pop().unwrap();
            assert_eq!(attribute.data_type, AttributeType::Number);
            assert_eq!(attribute.value, number);
        }
        for number in [
            &format!("{nines}9"),
            &format!("0.{nines}1"),
            "1e127",
            "1.1e126",
            "2e126",
            "1e-129",
            "9.9e-129",
            &format!("{tiny}e-1"),
            &format!("{huge}0"),
            "1e99999999999999999999",
        ] {
            let defect = header(number).unwrap_err();
            assert_eq!(defect.code(), "invalid_attribute_value", "{number}");
            assert!(!defect.to_string().contains(number), "{defect}");
        }
    }

    /// Case A29: what can't be a `MessageGroupId` is a defect, and only where it would be sent.
    #[test]
    fn a_group_that_fifo_does_not_take_is_a_defect_there_only() {
        let long = "g".repeat(129);
        for group in ["a b", "tab\t", "🦀", &long, ""] {
            assert_eq!(
                defect_of(FIFO, |m| m.message_group = Some(group.into())),
                Some("invalid_message_group")
            );
            assert_eq!(defect_of(QUEUE, |m| m.message_group = Some(group.into())), None);
        }
        let longest = "g".repeat(128);
        assert_eq!(defect_of(FIFO, |m| m.message_group = Some(longest)), None);
    }

    #[test]
    fn what_is_wrong_with_a_group_is_named_and_the_group_is_not_shown() {
        let long = "g".repeat(129);
        for (wrong, said) in [
            ("tenant a", "has the character U+0020 at byte 6"),
            ("zürich", "has the character U+00FC at byte 1"),
            (long.as_str(), "has 129 characters"),
        ] {
            let error = group(Some(wrong), &destination(FIFO)).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains(wrong), "{error}");
        }
    }
}

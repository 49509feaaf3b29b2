//! What AWS itself refuses, so that no test passes with a request that AWS would not take.

use std::collections::{BTreeMap, HashSet};

use super::{Answer, Protocol, Received, Request};

/// The refusal of a request that breaks a rule, of the request as a whole or of the entries at fault.
pub(super) fn refusal(request: &Request, max_bytes: Option<usize>) -> Option<Answer> {
    let limit = max_bytes.unwrap_or(match request.protocol {
        Protocol::Json => 1_048_576,
        Protocol::Query => 262_144,
    });
    let ids = request.ids();
    let distinct = ids.iter().collect::<HashSet<_>>().len();
    let code = match () {
        () if ids.is_empty() => "EmptyBatchRequest",
        () if ids.len() > 10 => "TooManyEntriesInBatchRequest",
        () if distinct < ids.len() => "BatchEntryIdsNotDistinct",
        () if !ids.iter().all(|id| is_entry_id(id)) => "InvalidBatchEntryId",
        () if request.bytes() > limit => "BatchRequestTooLong",
        () => return entry_refusals(request),
    };
    Some(Answer::error(400, code, "refused by the rules of AWS"))
}

/// The refusal of whoever lacks the permission to send.
pub(super) fn denial(protocol: Protocol) -> Answer {
    let code = match protocol {
        Protocol::Json => "AccessDeniedException",
        Protocol::Query => "AuthorizationError",
    };
    Answer::error(403, code, "no policy allows it")
}

fn is_entry_id(id: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=80).contains(&id.len()) && id.chars().all(allowed)
}

fn entry_refusals(request: &Request) -> Option<Answer> {
    let refused = request
        .entries
        .iter()
        .filter_map(|entry| Some((entry.id.clone(), entry_refusal(entry, request)?.to_owned())));
    let refused: BTreeMap<_, _> = refused.collect();
    (!refused.is_empty()).then_some(Answer::Fail(refused))
}

fn entry_refusal(entry: &Received, request: &Request) -> Option<&'static str> {
    let is_fifo = request.is_fifo();
    let is_sqs = request.protocol == Protocol::Json;
    let (group, deduplication) = (entry.group_id.as_deref(), entry.deduplication_id.as_deref());
    let texts = entry.attributes.values().map(|(_, value)| value).chain([&entry.body]);
    match () {
        () if is_fifo && (group.is_none() || deduplication.is_none()) => Some("MissingParameter"),
        () if is_fifo && entry.delay_seconds.is_some() => Some("InvalidParameterValue"),
        () if !is_fifo && deduplication.is_some() => Some("InvalidParameterValue"),
        () if ![group, deduplication].into_iter().flatten().all(is_fifo_id) => {
            Some("InvalidParameterValue")
        }
        () if is_sqs && entry.attributes.len() > 10 => Some("InvalidParameterValue"),
        () if !entry.attributes.keys().all(|name| is_attribute_name(name)) => {
            Some("InvalidParameterValue")
        }
        () if texts.clone().any(String::is_empty) => Some("InvalidParameterValue"),
        () if !texts.flat_map(|text| text.chars()).all(is_xml_char) => {
            Some("InvalidMessageContents")
        }
        () => None,
    }
}

fn is_fifo_id(id: &str) -> bool {
    (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic())
}

fn is_attribute_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let lower = name.to_ascii_lowercase();
    (1..=256).contains(&name.len())
        && name.chars().all(allowed)
        && !name.split('.').any(str::is_empty)
        && !lower.starts_with("aws.")
        && !lower.starts_with("amazon.")
}

fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}

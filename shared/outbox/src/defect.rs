//! A defect: why a message is dead without having been sent.

use thiserror::Error;

use crate::check::{MAX_ATTRIBUTES, MAX_GROUP_CHARS};

/// Why a message can never be sent as it is. The text goes into `last_error`: it names place and number,
/// never the payload or a header's value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Defect {
    /// No route: the relay's settings have no such destination.
    #[error("destination {0:?} is not in OUTBOX_DESTINATIONS")]
    NoRoute(String),
    /// SQS and SNS refuse an empty body.
    #[error("the payload is empty")]
    EmptyPayload,
    /// A character outside the set of XML 1.0, the only one that SQS and SNS carry.
    #[error(
        "{place} has the character U+{code_point:04X} at byte {at}, which SQS and SNS do not carry"
    )]
    InvalidCharacter {
        /// Where: `the payload` or the attribute by name.
        place: String,
        /// The character's code point.
        code_point: u32,
        /// Its place, in bytes from the start.
        at: usize,
    },
    /// Body and attributes together are over the destination's limit.
    #[error(
        "{bytes} bytes with attributes are over the limit of {limit} of destination {destination:?}"
    )]
    TooLarge {
        /// Bytes of body, attribute names, types and values.
        bytes: usize,
        /// The destination's `max_bytes`.
        limit: usize,
        /// The destination's name.
        destination: String,
    },
    /// Too many attributes.
    #[error("{count} attributes with the relay's own are over the limit of {MAX_ATTRIBUTES}")]
    TooManyAttributes {
        /// Attributes, the relay's own included.
        count: usize,
    },
    /// An attribute's name breaks the rules.
    #[error("header name {name:?} {problem}")]
    AttributeName {
        /// The name.
        name: String,
        /// Which rule.
        problem: &'static str,
    },
    /// An attribute's value is empty, or of a type that is not sent.
    #[error("header {name:?} {problem}")]
    AttributeValue {
        /// The name.
        name: String,
        /// Which rule.
        problem: &'static str,
    },
    /// The column `headers` is not a JSON object.
    #[error("the headers are not a JSON object")]
    Headers,
    /// The message group can't be a `MessageGroupId`.
    #[error(
        "the message group {problem}; a FIFO target takes 1 to {MAX_GROUP_CHARS} ASCII letters, digits and punctuation marks"
    )]
    Group {
        /// Which rule.
        problem: String,
    },
    /// The message was claimed more often than it may be, and sent alone: it ends its relay each time.
    #[error(
        "claimed {attempts} times, at last alone, without an outcome; the most is {max_attempts}"
    )]
    NoOutcome {
        /// Claims so far.
        attempts: i32,
        /// The cap.
        max_attempts: u32,
    },
}

impl Defect {
    /// A short code of low cardinality for `last_error_code`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoRoute(_) => "no_route",
            Self::EmptyPayload => "empty_payload",
            Self::InvalidCharacter { .. } => "invalid_character",
            Self::TooLarge { .. } => "too_large",
            Self::TooManyAttributes { .. } => "too_many_attributes",
            Self::AttributeName { .. } => "invalid_attribute_name",
            Self::AttributeValue { .. } => "invalid_attribute_value",
            Self::Headers => "invalid_headers",
            Self::Group { .. } => "invalid_message_group",
            Self::NoOutcome { .. } => "no_outcome",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_limits_has_every_code() {
        let page = include_str!("../../../docs/limits.md");
        let (name, problem) = (String::new(), "");
        for defect in [
            Defect::NoRoute(name.clone()),
            Defect::EmptyPayload,
            Defect::InvalidCharacter { place: name.clone(), code_point: 1, at: 0 },
            Defect::TooLarge { bytes: 2, limit: 1, destination: name.clone() },
            Defect::TooManyAttributes { count: 11 },
            Defect::AttributeName { name: name.clone(), problem },
            Defect::AttributeValue { name, problem },
            Defect::Headers,
            Defect::Group { problem: problem.to_owned() },
            Defect::NoOutcome { attempts: 10, max_attempts: 10 },
        ] {
            assert!(page.contains(&format!("| `{}` |", defect.code())), "{defect}");
        }
    }
}

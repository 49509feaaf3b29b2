//! The map from logical destination names to targets, as the setting `OUTBOX_DESTINATIONS` gives it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::destination::{Destination, OnDead};
use crate::target::{Target, TargetError};

/// Range of `max_bytes`: what AWS lets a queue's or topic's `MaximumMessageSize` be.
const MAX_BYTES_RANGE: std::ops::RangeInclusive<usize> = 1_024..=1_048_576;

const EXAMPLE: &str = r#"{"orders": "arn:aws:sqs:eu-west-1:123456789012:orders"}"#;

/// All destinations that a relay knows, by logical name.
#[derive(Clone, Debug, Default)]
pub struct Destinations(BTreeMap<String, Arc<Destination>>);

/// Why the map of destinations was refused.
#[derive(Debug, Error)]
pub enum DestinationError {
    /// The text is not a JSON object of strings and objects.
    #[error(
        "not a JSON object of destinations ({problem}); allowed: logical name -> target, \
         or -> object with target, max_bytes, fair, on_dead; for example {EXAMPLE}"
    )]
    Malformed {
        /// What the parser says, with line and column; it does not repeat a value.
        problem: String,
    },
    /// The object has no entry at all.
    #[error("names no destination; allowed: at least one, for example {EXAMPLE}")]
    Empty,
    /// A logical name that no row can carry.
    #[error(
        "destination name {name:?} is not allowed; allowed: 1 to 128 characters and not \"*\", for example \"orders\""
    )]
    Name {
        /// The name as given.
        name: String,
    },
    /// A name that is given more than once; whichever counted, the other would be lost without a word.
    #[error("destination {name:?} is given twice; allowed: each name once, for example {EXAMPLE}")]
    Twice {
        /// The name.
        name: String,
    },
    /// A target that is no queue and no topic.
    #[error("destination {name:?}: {source}")]
    Target {
        /// The destination's name.
        name: String,
        /// What is wrong with the target.
        source: TargetError,
    },
    /// A size out of range.
    #[error(
        "destination {name:?}: max_bytes {given} is out of range; allowed: {} to {}, for example 262144",
        MAX_BYTES_RANGE.start(), MAX_BYTES_RANGE.end()
    )]
    MaxBytes {
        /// The destination's name.
        name: String,
        /// The size as given.
        given: u64,
    },
}

/// The object form. `envelope` has one value for now; naming it is allowed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    target: String,
    max_bytes: Option<u64>,
    #[serde(default)]
    fair: bool,
    #[serde(default, rename = "envelope")]
    _envelope: Envelope,
    #[serde(default)]
    on_dead: OnDead,
}

impl Given {
    fn plain(target: String) -> Self {
        Self {
            target,
            max_bytes: None,
            fair: false,
            _envelope: Envelope::Raw,
            on_dead: OnDead::Continue,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Envelope {
    #[default]
    Raw,
}

/// The entries of a JSON object as they stand there, a repeated name included.
struct Pairs(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Pairs;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

impl Destinations {
    /// Reads the JSON object of the setting `OUTBOX_DESTINATIONS`.
    ///
    /// # Errors
    /// [`DestinationError`] names the destination, the value, what is allowed and an example.
    pub fn from_json(text: &str) -> Result<Self, DestinationError> {
        let malformed = |error: serde_json::Error| DestinationError::Malformed {
            problem: without_value(&error),
        };
        let Pairs(given) = serde_json::from_str(text).map_err(malformed)?;
        if given.is_empty() {
            return Err(DestinationError::Empty);
        }
        let mut destinations = BTreeMap::new();
        for (name, value) in given {
            let destination = Self::read_one(name.clone(), &value)?;
            if destinations.insert(name.clone(), Arc::new(destination)).is_some() {
                return Err(DestinationError::Twice { name });
            }
        }
        Ok(Self(destinations))
    }

    fn read_one(name: String, value: &RawValue) -> Result<Destination, DestinationError> {
        // A row of outbox.destination called `*` stands for all.
        if name.is_empty() || name == "*" || name.chars().count() > 128 {
            return Err(DestinationError::Name { name });
        }
        // Read by its first character: serde would take an array for an object, and of two equal keys the last.
        let object = match value.get().as_bytes().first() {
            Some(b'"') => serde_json::from_str(value.get()).map(Given::plain),
            Some(b'{') => serde_json::from_str(value.get()),
            _ => Err(serde::de::Error::custom("neither a string nor an object")),
        };
        let object = object.map_err(|error: serde_json::Error| DestinationError::Malformed {
            problem: format!("destination {name:?}: {}", without_value(&error)),
        })?;
        let target = Target::parse(&object.target)
            .map_err(|source| DestinationError::Target { name: name.clone(), source })?;
        let mut destination = Destination::new(name, target);
        destination.fair = object.fair;
        destination.on_dead = object.on_dead;
        if let Some(given) = object.max_bytes {
            destination.max_bytes = usize::try_from(given)
                .ok()
                .filter(|bytes| MAX_BYTES_RANGE.contains(bytes))
                .ok_or_else(|| DestinationError::MaxBytes {
                    name: destination.name.clone(),
                    given,
                })?;
        }
        Ok(destination)
    }

    /// The destination of that logical name.
    pub fn get(&self, name: &str) -> Option<&Arc<Destination>> {
        self.0.get(name)
    }

    /// All destinations in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Destination>> {
        self.0.values()
    }
}

/// What serde says, without the value that it repeats: a secret may have gone astray into it.
fn without_value(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let cut = |start: &str| {
        let (before, rest) = text.split_once(start)?;
        let (value, after) = rest.rsplit_once(", expected ")?;
        let kind = value.split_once(['"', '`']).map_or(value, |(kind, _)| kind).trim_end();
        let kind = if kind.is_empty() { "(not shown)" } else { kind };
        Some(format!("{before}{start}{kind}, expected {after}"))
    };
    ["invalid type: ", "invalid value: ", "unknown variant "]
        .into_iter()
        .find_map(cut)
        .unwrap_or(text)
}

impl FromIterator<Destination> for Destinations {
    fn from_iter<I: IntoIterator<Item = Destination>>(destinations: I) -> Self {
        Self(destinations.into_iter().map(|d| (d.name.clone(), Arc::new(d))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_a_target_or_an_object_with_limits() {
        let destinations = Destinations::from_json(
            r#"{"orders": "arn:aws:sqs:eu-west-1:1:orders",
                "events": {"target": "arn:aws:sns:eu-west-1:1:events", "max_bytes": 2048, "fair": true,
                           "on_dead": "hold"}}"#,
        )
        .unwrap();
        assert_eq!(destinations.get("orders").unwrap().max_bytes, 1_048_576);
        assert_eq!(destinations.get("events").unwrap().max_bytes, 2_048);
        assert!(destinations.get("events").unwrap().fair);
        assert_eq!(destinations.get("events").unwrap().on_dead, OnDead::Hold);
        assert_eq!(destinations.get("orders").unwrap().on_dead, OnDead::Continue);
        assert!(destinations.get("unknown").is_none());
    }

    #[test]
    fn a_bad_map_is_refused_with_name_value_allowed_range_and_example() {
        for (text, named) in [
            ("{", "line 1"),
            ("[]", "expected a map"),
            ("{}", "no destination"),
            (r#"{"a": 7}"#, "\"a\""),
            (r#"{"a": "nowhere"}"#, "neither a URL nor an ARN"),
            (
                r#"{"a": {"target": "arn:aws:sqs:eu-west-1:1:q", "max_bytes": 7}}"#,
                "1024 to 1048576",
            ),
            (r#"{"a": {"target": "arn:aws:sqs:eu-west-1:1:q", "max_byte": 7}}"#, "max_byte"),
            (r#"{"a": ["arn:aws:sqs:eu-west-1:1:q", null, true]}"#, "neither"),
            (r#"{"a": {"target": "x", "target": "arn:aws:sqs:eu-west-1:1:q"}}"#, "duplicate field"),
            (
                r#"{"a": {"target": "arn:aws:sqs:eu-west-1:1:q", "on_dead": "stop"}}"#,
                "`continue` or `hold`",
            ),
            (r#"{"*": "arn:aws:sqs:eu-west-1:1:q"}"#, "not \"*\""),
            (
                r#"{"a": "arn:aws:sqs:eu-west-1:1:q", "a": "arn:aws:sqs:eu-west-1:1:r"}"#,
                "\"a\" is given twice",
            ),
            (r#"{"": "arn:aws:sqs:eu-west-1:1:q"}"#, "1 to 128"),
        ] {
            let message = Destinations::from_json(text).unwrap_err().to_string();
            assert!(message.contains(named), "{text}: {message}");
            assert!(message.contains("for example"), "{text}: {message}");
        }
    }

    #[test]
    fn no_value_of_a_bad_map_is_shown() {
        for (text, said) in [
            (
                r#"{"a": {"target": "x", "max_bytes": "s3cret, expected u64"}}"#,
                "invalid type: string, expected u64",
            ),
            (
                r#"{"a": {"target": "x", "fair": "s3cret"}}"#,
                "invalid type: string, expected a boolean",
            ),
            (
                r#"{"a": {"target": "x", "max_bytes": -531337}}"#,
                "invalid value: integer, expected u64",
            ),
            (
                r#"{"a": {"target": "x", "on_dead": "s3`cret"}}"#,
                "unknown variant (not shown), expected `continue`",
            ),
            (r#"{"a": {"target": 531337}}"#, "invalid type: integer, expected a string"),
            (r#""s3cret""#, "invalid type: string, expected a map"),
            (r#"{"password": "s3cret"}"#, "target (not shown) is neither a URL nor an ARN"),
        ] {
            let message = Destinations::from_json(text).unwrap_err().to_string();
            assert!(message.contains(said), "{text}: {message}");
            assert!(!message.contains("cret") && !message.contains("531337"), "{text}: {message}");
        }
    }
}

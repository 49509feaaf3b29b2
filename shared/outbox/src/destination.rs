//! A destination: where messages of one logical name go, and how much it takes.

use serde::Deserialize;

use crate::target::Target;

/// A destination: its logical name, where it really is, and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The logical name that rows carry.
    pub name: String,
    /// The queue or topic behind it.
    pub target: Target,
    /// Most bytes of one message, and of one request: bodies plus attribute names, types and values.
    pub max_bytes: usize,
    /// Whether a standard queue is sent the message group too (SQS fair queues).
    pub fair: bool,
    /// What becomes of a group when one of its messages dies.
    pub on_dead: OnDead,
}

/// What becomes of the rest of a message group when one of its messages is dead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDead {
    /// It goes on without that message.
    #[default]
    Continue,
    /// It waits until a person redrives or discards the message, or lets the group go on without it.
    Hold,
}

impl Destination {
    /// A destination with the default limits of its target.
    pub fn new(name: impl Into<String>, target: Target) -> Self {
        let max_bytes = target.default_max_bytes();
        Self { name: name.into(), target, max_bytes, fair: false, on_dead: OnDead::default() }
    }
}

//! What can be typed to look at messages, and what describes the program itself.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{ValueEnum, value_parser};
use clap_complete::Shell;
use outbox_admin::{Age, Moment, State};
use uuid::Uuid;

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// Those that are there now; due, retrying and scheduled are kinds of pending
    #[arg(long, value_enum)]
    pub(crate) status: Option<Status>,
    /// Those of this destination
    #[arg(long, value_name = "NAME")]
    pub(crate) destination: Option<String>,
    /// Those of this message type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) message_type: Option<String>,
    /// Those of this message group
    #[arg(long)]
    pub(crate) group: Option<String>,
    /// Those with this correlation id
    #[arg(long, value_name = "ID")]
    pub(crate) correlation_id: Option<String>,
    /// The message with this message id, at each of its destinations
    #[arg(long, value_name = "UUID", conflicts_with_all = [
        "status", "destination", "message_type", "group", "correlation_id", "code", "since", "until", "after",
    ])]
    pub(crate) message_id: Option<Uuid>,
    /// Those whose last error has this code
    #[arg(long)]
    pub(crate) code: Option<String>,
    /// Those enqueued since: an age such as 30m or 2h, or a time such as 2026-11-30T18:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<Moment>,
    /// Those enqueued until then
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<Moment>,
    /// The oldest first, and not the newest
    #[arg(long)]
    pub(crate) oldest_first: bool,
    /// Only what comes after the message with this id, in that order
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<i64>,
    /// Most messages, from 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    pub(crate) limit: i64,
}

/// Where a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Status {
    Pending,
    Due,
    Retrying,
    Scheduled,
    Claimed,
    Dispatched,
    Dead,
}

impl From<Status> for State {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::Due => Self::Due,
            Status::Retrying => Self::Retrying,
            Status::Scheduled => Self::Scheduled,
            Status::Claimed => Self::Claimed,
            Status::Dispatched => Self::Dispatched,
            Status::Dead => Self::Dead,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// Its id, as outbox list shows it, or its message id
    #[arg(value_name = "ID|MESSAGE_ID")]
    pub(crate) which: Which,
    /// Show the payload, too
    #[arg(long)]
    pub(crate) payload: bool,
    /// Show the values of the headers, too
    #[arg(long)]
    pub(crate) headers: bool,
    /// Write the payload and nothing else, byte for byte
    #[arg(long, conflicts_with_all = ["payload", "headers"])]
    pub(crate) payload_only: bool,
}

/// A message by one of its two ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Id(i64),
    MessageId(Uuid),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let id = text.parse().ok().filter(|id| *id >= 1).map(Self::Id);
        id.or_else(|| text.parse().ok().map(Self::MessageId)).ok_or_else(|| {
            "allowed: an id from 1, or a message id, for example 7 or 6f1c9f0e-0b1f-4c55-9d59-0f6d1a2b3c4d".to_owned()
        })
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Tail {
    /// Those of this destination
    #[arg(long, value_name = "NAME")]
    pub(crate) destination: Option<String>,
    /// Only when a message becomes that: pending is enqueued, failed or redriven
    #[arg(long, value_enum)]
    pub(crate) status: Option<Becomes>,
    /// Time between two looks, from 1s on
    #[arg(long, value_name = "AGE", default_value = "1s")]
    pub(crate) interval: Age,
}

/// What a message becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Becomes {
    Pending,
    Dispatched,
    Dead,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell that is to know them
    #[arg(value_parser = value_parser!(Shell))]
    pub(crate) shell: Shell,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// Write a page for the program and one for each verb into this directory, which is made
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
}

//! Redrive and discard: dead messages become pending again, or are deleted, because a person says so and why.

mod check;

use std::num::NonZeroU32;

use outbox_store::{DeadCount, Discard, Done, Interrupted, Redrive, Selection, Store, TimeLimits};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::age::Age;
use crate::error::Error;

/// What is done to dead messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// They become pending again.
    Redrive,
    /// They are deleted for good.
    Discard,
}

/// Which dead messages, how, and why. Whatever is given must match; something must be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// These ids only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<i64>,
    /// This destination only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Those whose last error has this code only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// This message group only, of whatever destination; in JSON also `group`, as on the command line.
    #[serde(default, alias = "group", skip_serializing_if = "Option::is_none")]
    pub message_group: Option<String>,
    /// Those that died longer ago than this only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_before: Option<Age>,
    /// Those that died no longer ago than this only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_after: Option<Age>,
    /// All that are left by the above: needed where nothing else is given, so that nobody takes everything by
    /// leaving something out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// For a redrive: how many messages of each destination fall due a second; all at once if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<i64>,
    /// For a redrive: whether each message gets a fresh message id, so that a FIFO target does not take it for a copy of
    /// one from the last five minutes. Nor do consumers then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_dedup_id: bool,
    /// Only tell what is selected; nothing is changed or written down, and no reason is needed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Why; it is kept in `outbox.audit`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// What a redrive did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Redriven {
    /// Messages that are pending again.
    pub redriven: u64,
    /// Messages that match and are still dead, because somebody else held their rows; `None` if they could not be
    /// counted.
    pub skipped: Option<u64>,
    /// Its name in the `selection` of `outbox.audit`.
    pub operation: Uuid,
}

/// What a discard did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Discarded {
    /// Messages that are gone.
    pub discarded: u64,
    /// Messages that match and are still there, because somebody else held their rows; `None` if they could not be
    /// counted.
    pub skipped: Option<u64>,
    /// Its name in the `selection` of `outbox.audit`.
    pub operation: Uuid,
}

/// What a redrive or a discard would take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preview {
    /// How many messages.
    pub matched: i64,
    /// The same by destination and code.
    pub dead_letters: Vec<DeadCount>,
}

impl Action {
    /// The verb, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Redrive => "redrive",
            Self::Discard => "discard",
        }
    }

    /// What its messages are afterwards.
    pub fn past(self) -> &'static str {
        match self {
            Self::Redrive => "redriven",
            Self::Discard => "discarded",
        }
    }
}

impl Operation {
    /// Counts what is selected; nothing is changed.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub async fn preview(&self, store: &Store) -> Result<Preview, Error> {
        store.check_version().await?;
        let dead_letters = store.dead_summary(&self.selection()).await?;
        let matched = dead_letters.iter().map(|count| count.messages).sum();
        Ok(Preview { matched, dead_letters })
    }

    pub(crate) async fn redrive(
        &self,
        store: &Store,
        actor: &str,
        limits: TimeLimits,
    ) -> Result<Redriven, Error> {
        store.check_version().await?;
        let redrive = Redrive {
            selection: self.selection(),
            rate: self.rate.and_then(|rate| u32::try_from(rate).ok()).and_then(NonZeroU32::new),
            new_dedup_id: self.new_dedup_id,
            actor: actor.to_owned(),
            reason: self.reason.trim().to_owned(),
        };
        let Done { operation, n_messages, n_skipped } = store
            .redrive_within(&redrive, limits)
            .await
            .map_err(|error| interrupted(error, Action::Redrive))?;
        Ok(Redriven { redriven: n_messages, skipped: n_skipped, operation })
    }

    pub(crate) async fn discard(
        &self,
        store: &Store,
        actor: &str,
        limits: TimeLimits,
    ) -> Result<Discarded, Error> {
        store.check_version().await?;
        let discard = Discard {
            selection: self.selection(),
            actor: actor.to_owned(),
            reason: self.reason.trim().to_owned(),
        };
        let Done { operation, n_messages, n_skipped } = store
            .discard_within(&discard, limits)
            .await
            .map_err(|error| interrupted(error, Action::Discard))?;
        Ok(Discarded { discarded: n_messages, skipped: n_skipped, operation })
    }

    fn selection(&self) -> Selection {
        Selection {
            ids: (!self.ids.is_empty()).then(|| self.ids.clone()),
            destination: self.destination.clone(),
            code: self.code.clone(),
            message_group: self.message_group.clone(),
            dead_before: self.dead_before.map(Age::duration),
            dead_after: self.dead_after.map(Age::duration),
        }
    }
}

/// What did nothing is a plain failure.
fn interrupted(interrupted: Interrupted, action: Action) -> Error {
    match interrupted.n_messages {
        0 => Error::Store(interrupted.source),
        _ => Error::Interrupted { action, interrupted },
    }
}

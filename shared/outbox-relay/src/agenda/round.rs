//! A round through the message groups of a destination, in order of their names.

use std::time::{Duration, Instant};

use outbox_store::GroupQuota;

use super::shares;

/// For each group that a fruitless round visited, so long until the next round, ten times what the visit took.
const PAUSE_A_GROUP: Duration = Duration::from_micros(100);

/// Longer than this is no pause, unless the round took as long itself.
const LONG_PAUSE: Duration = Duration::from_secs(1);

/// A round through the groups of a destination.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub(super) free: Vec<String>,
    /// Where to go on, in order of the names.
    pub(super) from: String,
    /// Whether it began at the first group; the next one does.
    is_from_first: bool,
    pub(super) is_over: bool,
    pub(super) n_visited: u32,
    pub(super) has_found: bool,
    pub(super) rests_until: Option<Instant>,
}

impl Round {
    pub(super) fn at(from: String) -> Self {
        Self { is_from_first: from.is_empty(), from, ..Self::default() }
    }

    pub(super) fn begin_again(&mut self, now: Instant) {
        if !self.is_over || self.rests_until.is_some_and(|until| now < until) {
            return;
        }
        let (from, free) = (std::mem::take(&mut self.from), std::mem::take(&mut self.free));
        *self = Self { free, ..Self::at(from) };
    }

    /// Goes on at that group, or begins at the first one if it has not yet, or is over.
    pub(super) fn went_on(&mut self, at: Option<String>, now: Instant) {
        match at {
            Some(at) => self.from = at,
            None if self.is_from_first => {
                self.from = String::new();
                self.is_over = true;
                // At least a tenth of the time, and half of it where a tenth would keep a new group waiting for seconds.
                let pause = PAUSE_A_GROUP.saturating_mul(self.n_visited);
                let pause = pause.min(LONG_PAUSE.max(pause / 10));
                self.rests_until = (!self.has_found).then_some(now + pause);
            }
            None => {
                self.from = String::new();
                self.is_from_first = true;
            }
        }
    }

    /// Takes out free groups, so many that a request can be filled, and shares the messages among them.
    pub(super) fn take(&mut self, destination: &str, n_messages: u32) -> Vec<GroupQuota> {
        let n_groups = self.free.len().min(n_messages as usize);
        let groups = self.free.split_off(self.free.len() - n_groups);
        let quotas = groups.into_iter().zip(shares(n_messages, n_groups));
        quotas
            .map(|(message_group, n_messages)| GroupQuota {
                destination: destination.to_owned(),
                message_group,
                n_messages,
            })
            .collect()
    }
}

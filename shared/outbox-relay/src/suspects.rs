//! Suspects: messages whose last claims were lost, because one of them may have ended its relays.
//!
//! Attempts rise at the claim, so a message that kills the process reaches the cap by itself; but so would the hundreds
//! that are claimed beside it each time. Two lost claims in a row make a message a suspect. Suspects are claimed when
//! nothing else is on its way, in fewer and fewer company the more claims they have lost, and at last alone. Only a message that
//! was alone when its relay ended is ever dead of it.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use outbox::Message;

/// Lost claims of a message that is none: one is its relay's bad luck, a time-out or a restart.
pub(crate) const CLEAN: RangeInclusive<i32> = 0..=1;

/// Suspects by their lost claims in a row, and how many are sent together. The worst come first, as they are the fewest.
pub(crate) const LEVELS: [(RangeInclusive<i32>, u32); 3] =
    [(LOST_TO_BE_ALONE..=i32::MAX, 1), (3..=3, 7), (2..=2, 50)];

const LOST_TO_BE_ALONE: i32 = 4;

/// How long clean messages may keep suspects waiting, and how often a drained run looks for new ones.
const PAUSE: Duration = Duration::from_secs(5);

/// How long what is on its way may take to make room for suspects; if it takes longer, because a destination does not answer,
/// they are handed back, and others go on.
pub(crate) const QUIET_WITHIN: Duration = Duration::from_secs(1);

/// Whether the message is to be announced and sent alone.
pub(crate) fn must_be_alone(message: &Message) -> bool {
    message.lost_claims >= LOST_TO_BE_ALONE
}

/// When a run looks for suspects.
#[derive(Debug)]
pub(crate) struct Lookout {
    at: Instant,
    /// Whether the last look found some; at the start there may be some.
    found: bool,
}

impl Lookout {
    pub(crate) fn new(now: Instant) -> Self {
        Self { at: now + PAUSE, found: true }
    }

    /// Whether to look now. With clean messages to send it waits, for a suspect may end the run.
    pub(crate) fn is_due(&self, clean_is_empty: bool, now: Instant) -> bool {
        now >= self.at || (clean_is_empty && self.found)
    }

    pub(crate) fn looked(&mut self, found: bool, now: Instant) {
        *self = Self { at: now + PAUSE, found };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_looks_for_suspects_when_it_is_drained_until_there_are_none() {
        let now = Instant::now();
        let mut lookout = Lookout::new(now);
        assert!(!lookout.is_due(false, now));
        assert!(lookout.is_due(true, now));
        lookout.looked(true, now);
        assert!(lookout.is_due(true, now));
        lookout.looked(false, now);
        assert!(!lookout.is_due(true, now));
        assert!(lookout.is_due(true, now + PAUSE));
    }

    #[test]
    fn clean_messages_keep_suspects_waiting_for_a_moment_only() {
        let now = Instant::now();
        assert!(Lookout::new(now).is_due(false, now + PAUSE));
    }

    #[test]
    fn every_number_of_lost_claims_has_one_place() {
        for lost in 0..100 {
            let places = LEVELS.iter().filter(|(range, _)| range.contains(&lost)).count();
            assert_eq!(places + usize::from(CLEAN.contains(&lost)), 1, "{lost}");
        }
    }
}

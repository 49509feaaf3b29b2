//! How many messages the next statement deletes: fewer where the last one was slow.

use std::time::Duration;

/// A statement that takes longer is slow. Far below any deadline: an early end loses no more than that.
const SLOW: Duration = Duration::from_secs(1);

/// Batches get no smaller, unless asked for: below, the way to the database takes longer than the statement.
const LEAST: u32 = 100;

/// The size of the next batch, between 100 and what the settings allow.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchSize {
    size: u32,
    most: u32,
}

impl BatchSize {
    /// Starts small: how fast the storage is shows with the first statement, and a large first one that outlasts the
    /// deadline would fail in each run anew.
    pub(super) fn up_to(most: u32) -> Self {
        Self { size: LEAST.min(most), most }
    }

    pub(super) fn get(self) -> u32 {
        self.size
    }

    /// Adapts to the time that a statement of this size took. One of twice the size must not be slow.
    pub(super) fn took(&mut self, time: Duration) {
        if time > SLOW {
            self.halve();
        } else if time < SLOW / 4 {
            self.size = self.size.saturating_mul(2).min(self.most);
        }
    }

    pub(super) fn halve(&mut self) {
        self.size = (self.size / 2).max(LEAST).min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(most: u32, times_ms: &[u64]) -> Vec<u32> {
        let mut size = BatchSize::up_to(most);
        let adapted = times_ms.iter().map(|&time_ms| {
            size.took(Duration::from_millis(time_ms));
            size.get()
        });
        adapted.collect()
    }

    #[test]
    fn a_batch_grows_while_statements_are_quick_and_no_larger_than_allowed() {
        assert_eq!(BatchSize::up_to(2_000).get(), 100);
        assert_eq!(sizes(2_000, &[9; 6]), [200, 400, 800, 1_600, 2_000, 2_000]);
        assert_eq!(sizes(2_000, &[9, 249, 250, 1_000]), [200, 400, 400, 400]);
    }

    #[test]
    fn a_slow_statement_halves_the_next_batch_and_no_further_than_a_hundred() {
        assert_eq!(
            sizes(2_000, &[9, 9, 9, 1_001, 5_000, 5_000, 5_000]),
            [200, 400, 800, 400, 200, 100, 100]
        );
    }

    #[test]
    fn a_batch_that_is_to_be_smaller_than_a_hundred_stays_as_it_is() {
        assert_eq!(BatchSize::up_to(4).get(), 4);
        assert_eq!(sizes(4, &[9, 5_000, 9]), [4, 4, 4]);
    }

    #[test]
    fn a_failure_halves_it_too() {
        let mut size = BatchSize { size: 1_600, most: 2_000 };
        size.halve();
        assert_eq!(size.get(), 800);
    }
}

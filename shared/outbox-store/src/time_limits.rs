//! How long something may take that goes on batch after batch, such as a purge or a redrive.

use std::time::{Duration, Instant};

use crate::error::Error;

/// Until when batches are begun, and when all must have ended; without limits, until nothing is left.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeLimits {
    /// No batch is begun after this moment, though the first always is.
    pub start_until: Option<Instant>,
    /// What is under way at this moment is given up.
    pub end_by: Option<Instant>,
}

impl TimeLimits {
    /// For a function with that deadline: no batch is begun within the margin before it, and the last quarter of the
    /// margin is for the answer.
    pub fn before(deadline: Instant, margin: Duration) -> Self {
        let before = |margin| Some(deadline.checked_sub(margin).unwrap_or(deadline));
        Self { start_until: before(margin), end_by: before(margin / 4) }
    }

    /// Whether it is too late to begin another batch.
    pub fn is_late(self) -> bool {
        self.start_until.is_some_and(|until| Instant::now() >= until)
    }

    /// Whether something that takes so long, and is begun now, would be given up.
    pub fn is_too_short_for(self, time: Duration) -> bool {
        self.time_left() <= time
    }

    /// The time until all must have ended.
    pub fn time_left(self) -> Duration {
        let left = |end: Instant| end.saturating_duration_since(Instant::now());
        self.end_by.map_or(Duration::MAX, left)
    }

    /// Gives a statement up when the time ends; what it was to do may have been done.
    ///
    /// # Errors
    /// [`Error::Timeout`] then, and else the statement's own.
    pub async fn in_time<T>(
        self,
        statement: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let time = self.time_left();
        tokio::time::timeout(time, statement).await.unwrap_or(Err(Error::Timeout(time)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_for_the_last_batch_and_a_quarter_of_it_for_the_answer() {
        let deadline = Instant::now() + Duration::from_mins(1);
        let limits = TimeLimits::before(deadline, Duration::from_secs(4));
        assert_eq!(limits.start_until, deadline.checked_sub(Duration::from_secs(4)));
        assert_eq!(limits.end_by, deadline.checked_sub(Duration::from_secs(1)));
        assert!(!limits.is_late() && limits.is_too_short_for(Duration::from_secs(59)));
        assert!(!limits.is_too_short_for(Duration::from_secs(30)));
        let none = TimeLimits::default();
        assert!(!none.is_late() && !none.is_too_short_for(Duration::from_hours(24)));
    }
}

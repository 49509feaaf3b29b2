//! How long failures of the database are put up with.

use std::time::{Duration, Instant};

use outbox_store::Error;

/// Where there is no time limit: a fail-over takes one or two minutes.
const LONGEST: Duration = Duration::from_mins(2);

/// Pause after the first failure; it doubles with each further one.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What is left of it while one failure follows the other.
pub(super) struct Patience {
    until: Option<Instant>,
    failing_since: Option<Instant>,
    pause: Duration,
}

impl Patience {
    /// Patience until that moment, or for two minutes without any success.
    pub(super) fn until(moment: Option<Instant>) -> Self {
        Self { until: moment, failing_since: None, pause: PAUSE }
    }

    /// Something succeeded.
    pub(super) fn is_restored(&mut self) {
        (self.failing_since, self.pause) = (None, PAUSE);
    }

    /// Waits before the next try.
    ///
    /// # Errors
    /// The failure itself, if there is no time for one.
    pub(super) async fn endure(&mut self, failure: Error) -> Result<(), Error> {
        let now = Instant::now();
        let failing_since = *self.failing_since.get_or_insert(now);
        if now + self.pause >= self.until.unwrap_or(failing_since + LONGEST) {
            return Err(failure);
        }
        tracing::warn!(error.r#type = failure.code(), error = %failure, "purge tries again");
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }
}

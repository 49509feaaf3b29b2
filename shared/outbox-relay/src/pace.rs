//! The pace of a run: when the next claim is made.

use std::time::{Duration, Instant};

use crate::error::Error;

/// A drained run polls soon after it had something to do, and then less and less often down to the policy's pace.
const FIRST_POLL: u32 = 8;

/// Failed claims in a row after which a run gives up, and the pause before each further try.
const MOST_FAILED_CLAIMS: u32 = 5;
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(500);

/// When the next claim is made.
pub(crate) struct Pace {
    poll: Duration,
    pause: Duration,
    /// `None`: at once.
    next: Option<Instant>,
    has_succeeded: bool,
    n_failed: u32,
    /// Of the last claim, if it failed.
    pub(crate) last_error: Option<Error>,
    /// Whether another claim came through while this one was made.
    has_news: bool,
}

impl Pace {
    pub(crate) fn new(poll: Duration) -> Self {
        let pause = poll / FIRST_POLL;
        Self {
            poll,
            pause,
            next: None,
            has_succeeded: false,
            n_failed: 0,
            last_error: None,
            has_news: false,
        }
    }

    pub(crate) fn asks(&mut self) {
        self.has_news = false;
    }

    pub(crate) fn is_due(&self) -> bool {
        self.next.is_none_or(|next| Instant::now() >= next)
    }

    /// Whether nothing was left at the last claim, and no time is left for another.
    pub(crate) fn is_drained(&self, linger_until: Instant) -> bool {
        self.n_failed == 0 && self.next.is_some_and(|next| next >= linger_until)
    }

    /// Whether the last claim came back empty.
    pub(crate) fn is_polling(&self) -> bool {
        self.next.is_some()
    }

    /// Long before that something else happens, where nothing is to be waited for.
    pub(crate) fn wake_at(&self) -> Instant {
        self.next.unwrap_or_else(|| Instant::now() + self.poll)
    }

    pub(crate) fn found(&mut self) {
        *self = Self { has_succeeded: true, ..Self::new(self.poll) };
    }

    pub(crate) fn found_nothing(&mut self) {
        self.next = (!self.has_news).then(|| Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(self.poll);
        (self.has_succeeded, self.n_failed, self.last_error) = (true, 0, None);
    }

    /// A claim is through: what waited behind it may be free.
    pub(crate) fn has_news(&mut self) {
        if self.n_failed == 0 {
            (self.has_news, self.next) = (true, None);
        }
    }

    /// A run that has worked before tries again a few times, as a fail-over takes seconds; one that has not fails at once and
    /// clearly, but for a connection that led nowhere: the next one is new. Returns the error if the run is to end.
    pub(crate) fn failed(&mut self, error: Error) -> Option<Error> {
        self.n_failed += 1;
        let was_stale = self.n_failed == 1 && error.store().condemns_connection();
        let is_worth_it = error.store().is_transient() && (self.has_succeeded || was_stale);
        if !is_worth_it || self.n_failed > MOST_FAILED_CLAIMS {
            return Some(error);
        }
        tracing::warn!(error.r#type = error.store().code(), "claiming failed and is tried again");
        self.next = Some(Instant::now() + PAUSE_AFTER_FAILURE * self.n_failed);
        self.last_error = Some(error);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLL: Duration = Duration::from_millis(200);

    fn wait(pace: &Pace) -> Duration {
        pace.next.map_or(Duration::ZERO, |next| next.saturating_duration_since(Instant::now()))
    }

    fn timeout() -> Error {
        Error::Claim(outbox_store::Error::Timeout(POLL))
    }

    fn no_outbox() -> Error {
        Error::Claim(outbox_store::Error::NoOutbox { schema: "outbox".into() })
    }

    #[test]
    fn polls_come_soon_after_a_find_and_then_less_and_less_often() {
        let mut pace = Pace::new(POLL);
        assert!(pace.is_due());
        for longest in [25, 50, 100, 200, 200] {
            pace.found_nothing();
            let longest = Duration::from_millis(longest);
            assert!(wait(&pace) <= longest && wait(&pace) > longest / 2, "{longest:?}");
        }
        pace.found();
        assert!(pace.is_due());
        pace.found_nothing();
        assert!(wait(&pace) <= Duration::from_millis(25));
    }

    #[test]
    fn an_empty_claim_beside_which_another_came_through_is_repeated_at_once() {
        let mut pace = Pace::new(POLL);
        pace.asks();
        pace.has_news();
        pace.found_nothing();
        assert!(pace.is_due());
        assert!(!pace.is_drained(Instant::now()));
    }

    #[test]
    fn a_run_that_never_worked_tries_a_lost_connection_once_more_and_nothing_else() {
        let mut pace = Pace::new(POLL);
        assert!(pace.failed(timeout()).is_none());
        assert!(pace.failed(timeout()).is_some());
        assert!(Pace::new(POLL).failed(no_outbox()).is_some());
    }

    #[test]
    fn a_run_that_has_worked_tries_again_a_few_times_and_does_not_count_as_drained() {
        let mut pace = Pace::new(POLL);
        pace.found();
        for _ in 0..MOST_FAILED_CLAIMS {
            assert!(pace.failed(timeout()).is_none());
            assert!(!pace.is_drained(Instant::now()));
        }
        assert!(pace.failed(timeout()).is_some());
        assert!(pace.last_error.is_some());
    }
}

//! Until when a claim's messages may be sent, and until when answers are waited for.

use std::time::{Duration, Instant};

/// The two moments of one claim, on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cutoff {
    /// No request is started after this.
    pub(crate) send_until: Instant,
    /// Requests still in flight are given up: nobody knows what became of them. What is left of lease and deadline
    /// is for the mark.
    pub(crate) answer_until: Instant,
}

impl Cutoff {
    /// For a lease that ends at `leased_until`, in a run that ends at `deadline`. A tenth of the lease (ten seconds
    /// at most) and the deadline's margin are kept back: the first half of them for answers, the second for the mark.
    pub(crate) fn new(
        leased_until: Instant,
        lease: Duration,
        deadline: Option<Instant>,
        deadline_margin: Duration,
    ) -> Self {
        let lease_margin = (lease / 10).min(Duration::from_secs(10));
        let by_lease = Self::before(leased_until, lease_margin);
        match deadline.map(|deadline| Self::before(deadline, deadline_margin)) {
            Some(by_deadline) => Self {
                send_until: by_lease.send_until.min(by_deadline.send_until),
                answer_until: by_lease.answer_until.min(by_deadline.answer_until),
            },
            None => by_lease,
        }
    }

    fn before(end: Instant, margin: Duration) -> Self {
        // An instant before the clock's origin does not exist; the end itself is as good as passed then.
        let earlier = |by: Duration| end.checked_sub(by).unwrap_or(end);
        Self { send_until: earlier(margin), answer_until: earlier(margin / 2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn nothing_is_sent_in_the_last_tenth_of_the_lease() {
        let now = Instant::now();
        let cutoff = Cutoff::new(now + 50 * SECOND, 50 * SECOND, None, 3 * SECOND);
        assert_eq!(cutoff.send_until, now + 45 * SECOND);
        assert_eq!(cutoff.answer_until, now + Duration::from_millis(47_500));
    }

    #[test]
    fn nothing_is_sent_in_the_margin_before_the_deadline() {
        let now = Instant::now();
        let cutoff =
            Cutoff::new(now + 120 * SECOND, 120 * SECOND, Some(now + 20 * SECOND), 4 * SECOND);
        assert_eq!(cutoff.send_until, now + 16 * SECOND);
        assert_eq!(cutoff.answer_until, now + 18 * SECOND);
    }
}

//! Until when a claim's messages may be sent, answers awaited and marks written.

use std::time::{Duration, Instant};

/// Longer than anything takes.
const LONG: Duration = Duration::from_hours(24);

/// The moments of one claim, on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cutoff {
    /// No request is started after this.
    pub(crate) send: Instant,
    /// Requests still in flight are given up: nobody knows what became of them.
    pub(crate) answer: Instant,
    /// The mark is given up, and with it the run. What is left of the deadline is for the run's own answer; after a
    /// lease's end a mark is still good as long as nobody else has claimed.
    pub(crate) mark: Instant,
    /// Not even a mark that is late already is tried longer: the function is about to be killed.
    pub(crate) end: Instant,
}

impl Cutoff {
    /// For a lease that ends at `leased_until`, in a run that ends at `deadline`. A tenth of the lease (ten seconds
    /// at most) and the deadline's margin are kept back: their first half for answers, the next quarter for the mark.
    pub(crate) fn new(
        leased_until: Instant,
        lease: Duration,
        deadline: Option<Instant>,
        deadline_margin: Duration,
    ) -> Self {
        let by_lease = Self::kept_back(leased_until, (lease / 10).min(Duration::from_secs(10)));
        let Some(deadline) = deadline else {
            return Self { end: Instant::now() + LONG, ..by_lease };
        };
        let by_deadline = Self::kept_back(deadline, deadline_margin);
        Self {
            send: by_lease.send.min(by_deadline.send),
            answer: by_lease.answer.min(by_deadline.answer),
            mark: by_lease.mark.min(by_deadline.mark),
            end: by_deadline.end,
        }
    }

    fn kept_back(end: Instant, margin: Duration) -> Self {
        Self {
            send: before(end, margin),
            answer: before(end, margin / 2),
            mark: before(end, margin / 4),
            end: before(end, margin / 8),
        }
    }
}

/// So long before that moment. An instant before the clock's origin does not exist; the end itself is as good as passed
/// then.
pub(crate) fn before(end: Instant, by: Duration) -> Instant {
    end.checked_sub(by).unwrap_or(end)
}

/// What the store says, if it says it in time. Its own limit is longer than what may be left of a run: a database that
/// connects and does not answer must not keep a function past its deadline.
pub(crate) async fn within<T>(
    until: Option<Instant>,
    answer: impl Future<Output = Result<T, outbox_store::Error>>,
) -> Result<T, outbox_store::Error> {
    let Some(until) = until else { return answer.await };
    let allowed = until.saturating_duration_since(Instant::now());
    let in_time = tokio::time::timeout(allowed, answer).await;
    in_time.unwrap_or(Err(outbox_store::Error::Timeout(allowed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn nothing_is_sent_in_the_last_tenth_of_the_lease() {
        let now = Instant::now();
        let cutoff = Cutoff::new(now + 80 * SECOND, 80 * SECOND, None, 3 * SECOND);
        assert_eq!(cutoff.send, now + 72 * SECOND);
        assert_eq!(cutoff.answer, now + 76 * SECOND);
        assert_eq!(cutoff.mark, now + 78 * SECOND);
    }

    #[test]
    fn nothing_is_sent_in_the_margin_before_the_deadline() {
        let now = Instant::now();
        let deadline = Some(now + 20 * SECOND);
        let cutoff = Cutoff::new(now + 120 * SECOND, 120 * SECOND, deadline, 4 * SECOND);
        assert_eq!(cutoff.send, now + 16 * SECOND);
        assert_eq!(cutoff.answer, now + 18 * SECOND);
        assert_eq!(cutoff.mark, now + 19 * SECOND);
    }
}

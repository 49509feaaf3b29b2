//! How long a failed message waits before its next attempt.

use std::time::Duration;

/// Exponential backoff with full jitter, between a base and a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The longest wait after the first failure; at least a millisecond.
    pub base: Duration,
    /// The longest wait after any failure.
    pub max: Duration,
}

impl Backoff {
    /// The attempt that an outage's failures wait like. Their attempts are given back, so counting them
    /// would send a whole backlog against a dead destination once a second.
    const OUTAGE_ATTEMPT: u32 = 5;

    /// The wait after failed attempt number `attempt` (1 is the first).
    ///
    /// `jitter` is a random number from 0 to 1 of the caller's. Full jitter spreads the wait over the
    /// whole range from nothing to the exponential step, which keeps rows that failed together from
    /// coming back together; a tenth of the step is the floor, so that no retry is immediate.
    #[must_use]
    pub fn delay(&self, attempt: u32, jitter: f64) -> Duration {
        // Saturating all the way: attempt 1100 must not overflow (case P28).
        let factor = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        let step = self.base.saturating_mul(factor).min(self.max).max(Duration::from_millis(1));
        step.mul_f64(jitter.clamp(0.1, 1.0))
    }

    /// The wait after a failure that was not the message's: an outage, throttling, a time-out.
    #[must_use]
    pub fn outage_delay(&self, jitter: f64) -> Duration {
        self.delay(Self::OUTAGE_ATTEMPT, jitter)
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_secs(1), max: Duration::from_mins(5) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_step_doubles_until_the_cap() {
        let backoff = Backoff::default();
        let steps: Vec<u64> = (1..=11).map(|n| backoff.delay(n, 1.0).as_secs()).collect();
        assert_eq!(steps, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    }

    proptest! {
        /// Cases P28 and R09.
        #[test]
        fn a_delay_is_positive_and_never_over_the_cap(
            attempt in prop_oneof![0_u32..70, Just(1_100), Just(u32::MAX)],
            jitter in 0.0_f64..=1.0,
            base_ms in 1_u64..60_000,
            max_ms in 1_u64..86_400_000,
        ) {
            let backoff = Backoff { base: Duration::from_millis(base_ms), max: Duration::from_millis(max_ms) };
            for delay in [backoff.delay(attempt, jitter), backoff.outage_delay(jitter)] {
                prop_assert!(delay > Duration::ZERO);
                prop_assert!(delay <= backoff.max);
            }
        }
    }
}

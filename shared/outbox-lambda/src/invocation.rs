//! What an invocation of a function has to do with: its id, its event, its deadline, and who runs it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer};

use crate::settings::Program;

const DAY: Duration = Duration::from_hours(24);

/// The invocation in hand. A container has one at a time, so that whatever is logged meanwhile belongs to it.
static CURRENT: Mutex<State> = Mutex::new(State { in_hand: None, is_cold: true });

struct State {
    in_hand: Option<Arc<Current>>,
    is_cold: bool,
}

/// What every log line of an invocation tells of it.
#[derive(Debug)]
pub(crate) struct Current {
    /// Lambda's id of it.
    pub(crate) request_id: String,
    /// Whether it is the first of its container.
    pub(crate) is_cold_start: bool,
}

/// An invocation from its event to its answer: log lines and spans carry its id until this is dropped.
#[must_use = "it ends when it is dropped"]
#[derive(Debug)]
pub struct Invocation(());

impl Invocation {
    /// Begins the invocation of this id.
    pub fn begin(request_id: &str) -> Self {
        let mut state = state();
        let is_cold_start = std::mem::replace(&mut state.is_cold, false);
        state.in_hand =
            Some(Arc::new(Current { request_id: request_id.to_owned(), is_cold_start }));
        Self(())
    }
}

impl Drop for Invocation {
    fn drop(&mut self) {
        state().in_hand = None;
    }
}

/// The invocation in hand; none before the first, between two, and outside Lambda.
pub(crate) fn current() -> Option<Arc<Current>> {
    state().in_hand.clone()
}

fn state() -> MutexGuard<'static, State> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Any event starts a run, an empty one too: nothing in it is looked at.
#[derive(Clone, Copy, Debug)]
pub struct AnyEvent;

impl<'de> Deserialize<'de> for AnyEvent {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self)
    }
}

/// What people see on claimed rows and runs: `relay/1f3a9c2e`, of the function's name the first 31 characters, and of the
/// container's log stream the part that is its own.
pub fn claimed_by(program: Program) -> String {
    let function = std::env::var("AWS_LAMBDA_FUNCTION_NAME");
    let function = function.unwrap_or_else(|_| program.name().to_owned());
    let log_stream = std::env::var("AWS_LAMBDA_LOG_STREAM_NAME").unwrap_or_default();
    let container: String = match log_stream.rsplit(['/', ']']).next() {
        Some(name) if !name.is_empty() => name.chars().take(8).collect(),
        _ => std::process::id().to_string(),
    };
    let function: String = function.chars().take(31).collect();
    format!("{function}/{container}")
}

/// When an invocation is ended whose `Lambda-Runtime-Deadline-Ms` is this, on the monotonic clock.
///
/// Lambda gives a moment, in milliseconds since 1970 and by the clock of this very machine. `cargo
/// lambda watch` gives a time span instead, and no moment of 1970 was ever meant.
pub fn deadline(deadline_ms: u64) -> Instant {
    let given = Duration::from_millis(deadline_ms);
    let time_left = if given < DAY {
        given
    } else {
        (UNIX_EPOCH + given).duration_since(SystemTime::now()).unwrap_or_default()
    };
    // No invocation lasts a day; nor can an absurd number overflow the clock.
    Instant::now() + time_left.min(DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds_left(deadline_ms: u64) -> u64 {
        let left = deadline(deadline_ms).saturating_duration_since(Instant::now());
        (left + Duration::from_millis(500)).as_secs()
    }

    #[test]
    fn a_moment_leaves_the_time_until_it() {
        let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_secs() * 1_000;
        assert_eq!(seconds_left(now + 120_500), 120);
        assert_eq!(seconds_left(now - 60_000), 0);
    }

    #[test]
    fn the_time_span_of_the_emulator_is_taken_as_one() {
        assert_eq!(seconds_left(600_000), 600);
    }

    #[test]
    fn an_absurd_number_is_a_day() {
        assert_eq!(seconds_left(u64::MAX), 86_400);
    }
}

//! Waiting for what happens elsewhere, with a deadline and a message.

use std::time::{Duration, Instant};

/// Asks again and again until there is an answer.
///
/// # Panics
/// After thirty seconds without one, with `what` was waited for.
pub async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, ask: impl Fn() -> F) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "waited 30 s for {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

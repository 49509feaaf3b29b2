//! The run's side of a mark: again and again while time is left, for what is not marked goes out a second time.

use std::time::{Duration, Instant};

use outbox::ClaimToken;
use outbox_publish::Publish;
use outbox_store::{Marks, Tally};
use tracing::Instrument;

use crate::cutoff::{Cutoff, before, within};
use crate::error::Error;
use crate::relay::Relay;
use crate::span;
use crate::traffic::News;

/// The first pause between two tries, doubled each time up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What a single try gets: one that a silent connection swallows must leave time for another.
const LONGEST_TRY: Duration = Duration::from_secs(6);

/// What the first try gets at least, if the deadline leaves so much.
const FIRST_TRY: Duration = Duration::from_millis(500);

impl<P: Publish> Relay<P> {
    /// Writes the marks of a claim. A repeated try counts what an earlier one had written unnoticed. A row that somebody
    /// else has locked keeps its own mark waiting, not the others'.
    pub(crate) async fn mark(
        &self,
        token: ClaimToken,
        marks: Marks,
        cutoff: Cutoff,
    ) -> Result<Tally, Error> {
        let span = span::mark(token, marks.len());
        let marked = self.try_to_mark(token, marks, cutoff).instrument(span.clone()).await;
        span::record_error(&span, marked.as_ref().err());
        marked
    }

    async fn try_to_mark(
        &self,
        token: ClaimToken,
        mut marks: Marks,
        cutoff: Cutoff,
    ) -> Result<Tally, Error> {
        // A process that was frozen may wake past its time. The token guards the mark, so it is tried all the same.
        let until = cutoff.mark.max(Instant::now() + FIRST_TRY).min(cutoff.end);
        let mut tally = Tally::default();
        let mut locked = Marks::default();
        let mut pause = FIRST_PAUSE;
        loop {
            let try_until = until.min(Instant::now() + LONGEST_TRY);
            match within(Some(try_until), self.store.mark(token, &marks)).await {
                Ok(written) => {
                    log_fenced(token, written);
                    tally += written;
                    if locked.is_empty() {
                        return Ok(tally);
                    }
                    marks = std::mem::take(&mut locked);
                }
                Err(error) if error.is_transient() && Instant::now() + pause < until => {
                    tracing::warn!(
                        error.r#type = error.code(),
                        "marking failed and is tried again"
                    );
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    // Half of the time is left for the mark itself, should the whole table be locked.
                    let left = until.saturating_duration_since(Instant::now());
                    if error.is_lock_timeout()
                        && let Ok(free) =
                            within(Some(before(until, left / 2)), self.store.unlocked(&marks)).await
                    {
                        locked.append(marks.split_off_all_but(&free));
                    }
                }
                Err(source) => {
                    let n_messages = marks.len() + locked.len();
                    return Err(Error::Mark { n_messages, source });
                }
            }
        }
    }

    /// Tells the database which destinations fail and which have recovered, as far as it lets us: all relays go by it.
    pub(crate) async fn tell(&self, news: &News, until: Instant) {
        let News { recovered, failed } = news;
        let told = async {
            if !recovered.is_empty() {
                for name in self.store.recovered(recovered).await? {
                    tracing::info!(messaging.destination.name = name, "breaker closed");
                }
            }
            if !failed.is_empty() {
                for name in self.store.requests_failed(failed).await? {
                    tracing::error!(messaging.destination.name = name, "breaker opened");
                }
            }
            Ok(())
        };
        if let Err(error) = within(Some(until), told).await {
            tracing::warn!(error.r#type = error.code(), "state of destinations was not written");
        }
    }

    /// Announces that a suspect is sent alone. Without that it must not be: its relay's end would tell nothing.
    pub(crate) async fn isolate(
        &self,
        token: ClaimToken,
        id: i64,
        until: Instant,
    ) -> Result<(), Error> {
        tracing::warn!(outbox.message.id = id, "message is sent alone, its last claims were lost");
        within(Some(until), self.store.isolate(token, id))
            .await
            .map_err(|source| Error::Mark { n_messages: 1, source })
    }
}

fn log_fenced(token: ClaimToken, tally: Tally) {
    if tally.fenced > 0 {
        tracing::warn!(
            outbox.claim.token = %token.as_uuid(),
            outbox.fenced = tally.fenced,
            "lease was lost before the mark"
        );
    }
}

//! The run's side of a claim: of which destinations, and how much of each.

use std::ops::RangeInclusive;
use std::time::Instant;

use outbox_publish::Publish;
use outbox_store::{Claim, Quota};

use crate::cutoff::within;
use crate::error::Error;
use crate::quota::share;
use crate::relay::{Relay, Run};
use crate::suspects;

/// What a claim of everything that is due came to.
pub(crate) enum Claimed {
    /// Messages to send.
    Messages(Claim),
    /// Nothing, but a destination that rests has something due.
    OnlyResting,
    /// Nothing: all that is due is paused, held by another relay, or behind something that is.
    Nothing,
}

impl<P: Publish> Relay<P> {
    /// Asks which destinations have something due, and claims of those.
    pub(crate) async fn claim_anew(&self, run: &mut Run<'_>) -> Result<Claimed, Error> {
        let due = within(run.claim_until, self.store.due()).await.map_err(Error::Claim)?;
        let now = Instant::now();
        let (resting, mut open): (Vec<String>, Vec<String>) = due
            .into_iter()
            .filter(|due| !due.paused)
            .map(|due| due.destination)
            .partition(|name| run.health.is_resting(name, now));
        // With more destinations than messages in a batch, everyone gets its turn in the long run.
        let first = fastrand::usize(..open.len().max(1));
        open.rotate_left(first);
        let suspects_first = run.lookout.is_due(false, now);
        if suspects_first && let Some(claim) = self.claim_suspects(&open, run).await? {
            return Ok(Claimed::Messages(claim));
        }
        for some in open.chunks(self.policy.batch_size as usize) {
            let mut destinations = some.to_vec();
            if let Some(claim) = self.claim(&mut destinations, run.claim_until).await? {
                run.destinations = destinations;
                return Ok(Claimed::Messages(claim));
            }
        }
        let suspects_last = run.lookout.is_due(true, now);
        if suspects_last && let Some(claim) = self.claim_suspects(&open, run).await? {
            return Ok(Claimed::Messages(claim));
        }
        Ok(if resting.is_empty() { Claimed::Nothing } else { Claimed::OnlyResting })
    }

    /// Claims suspects of one level: of the worst there are, and never more than may be sent together.
    async fn claim_suspects(
        &self,
        destinations: &[String],
        run: &mut Run<'_>,
    ) -> Result<Option<Claim>, Error> {
        let mut found = None;
        'levels: for (lost_claims, n_together) in suspects::LEVELS {
            let n_together = n_together.min(self.policy.batch_size);
            for some in destinations.chunks(n_together as usize) {
                let quotas = share(n_together, some);
                found = self.lease(&quotas, lost_claims.clone(), run.claim_until).await?;
                if found.is_some() {
                    break 'levels;
                }
            }
        }
        run.lookout.looked(found.is_some(), Instant::now());
        Ok(found)
    }

    /// Claims a batch, and drops those destinations from the list that had less than their share. `None` if there was
    /// nothing.
    pub(crate) async fn claim(
        &self,
        destinations: &mut Vec<String>,
        until: Option<Instant>,
    ) -> Result<Option<Claim>, Error> {
        let quotas = share(self.policy.batch_size, destinations);
        let claim = self.lease(&quotas, suspects::CLEAN, until).await?;
        let n_claimed = |name: &str| {
            let messages = claim.iter().flat_map(|claim| &claim.messages);
            messages.filter(|message| message.destination == name).count()
        };
        destinations.retain(|name| {
            quotas
                .iter()
                .any(|q| q.destination == *name && q.n_messages as usize <= n_claimed(name))
        });
        Ok(claim)
    }

    async fn lease(
        &self,
        quotas: &[Quota],
        lost_claims: RangeInclusive<i32>,
        until: Option<Instant>,
    ) -> Result<Option<Claim>, Error> {
        if quotas.is_empty() {
            return Ok(None);
        }
        let claim = self.store.claim(quotas, lost_claims, self.policy.lease, &self.claimed_by);
        let claim = within(until, claim).await.map_err(Error::Claim)?;
        Ok((!claim.messages.is_empty()).then_some(claim))
    }

    /// The age that the report tells, or `None` if the database does not: a zero would say that all is well.
    pub(crate) async fn oldest_due_seconds(&self, until: Option<Instant>) -> Option<f64> {
        match within(until, self.store.due()).await {
            Ok(due) => Some(due.iter().map(|d| d.oldest_due_seconds).fold(0.0, f64::max)),
            Err(error) => {
                tracing::warn!(error.r#type = error.code(), "age of the oldest message is unknown");
                None
            }
        }
    }
}

//! The run's side of a claim: look what is due, ask for it, and for suspects when it is their turn.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::Instant;

use outbox::ClaimToken;
use outbox_publish::Publish;
use outbox_store::{Claim, Terms, Wanted};
use tracing::Instrument;

use crate::agenda::Agenda;
use crate::cutoff::within;
use crate::error::Error;
use crate::relay::Relay;
use crate::span;
use crate::suspects::{self, Lookout};
use crate::traffic::Traffic;

/// What a claim came to.
pub(crate) enum Claimed {
    /// Messages to send.
    Messages(Batch),
    /// Nothing, but a destination whose breaker is open may have something due.
    OnlyBehindBreakers,
    /// Nothing: all that is due is paused, held by another relay, or behind something that is.
    Nothing,
    /// The run is over before anything was found.
    TooLate,
}

/// A claim, and what was asked for.
pub(crate) struct Batch {
    pub(crate) claim: Claim,
    /// Destinations that it probes.
    pub(crate) probes: HashSet<String>,
    /// Groups that gave all that was asked for, and may have more.
    pub(crate) full_groups: Vec<(String, String)>,
    /// Whether it is of suspects, and nothing else may be on its way beside it.
    pub(crate) is_of_suspects: bool,
}

/// What decides the next claim; it travels with the claim being made.
pub(crate) struct Claimer {
    pub(crate) agenda: Agenda,
    pub(crate) lookout: Lookout,
}

impl<P: Publish> Relay<P> {
    /// Claims the next batch, and looks for more where what is known is used up, until the run is over.
    pub(crate) async fn claim_next(
        &self,
        claimer: &mut Claimer,
        traffic: &Traffic,
        is_over: impl Fn() -> bool,
        until: Option<Instant>,
    ) -> Result<Claimed, Error> {
        let mut has_looked = false;
        loop {
            if is_over() {
                return Ok(Claimed::TooLate);
            }
            if claimer.agenda.is_old(Instant::now()) {
                self.look(&mut claimer.agenda, traffic, until).await?;
                has_looked = true;
            }
            if claimer.lookout.is_due(false, Instant::now())
                && let Some(batch) = self.claim_suspects(claimer, traffic, until).await?
            {
                return Ok(Claimed::Messages(batch));
            }
            let wanted = claimer.agenda.wanted(self.policy.batch_size, traffic);
            if !wanted.is_empty() {
                let batch = self.lease(&wanted, suspects::CLEAN, until).await?;
                claimer.agenda.claimed(&wanted, &batch.claim);
                if !batch.claim.messages.is_empty() {
                    return Ok(Claimed::Messages(batch));
                }
            } else if self.search(&mut claimer.agenda, until).await? {
                // There may be free groups now.
            } else if !has_looked {
                self.look(&mut claimer.agenda, traffic, until).await?;
                has_looked = true;
            } else {
                break;
            }
        }
        if claimer.lookout.is_due(true, Instant::now())
            && let Some(batch) = self.claim_suspects(claimer, traffic, until).await?
        {
            return Ok(Claimed::Messages(batch));
        }
        Ok(if traffic.has_open_breaker() { Claimed::OnlyBehindBreakers } else { Claimed::Nothing })
    }

    async fn look(
        &self,
        agenda: &mut Agenda,
        traffic: &Traffic,
        until: Option<Instant>,
    ) -> Result<(), Error> {
        let asked_at = Instant::now();
        let due = within(until, self.store.due()).await.map_err(Error::Claim)?;
        traffic.observe(&due, asked_at);
        agenda.looked(due, Instant::now());
        Ok(())
    }

    /// Looks for free groups; `false` if there is nowhere left to look.
    async fn search(&self, agenda: &mut Agenda, until: Option<Instant>) -> Result<bool, Error> {
        let (from, n_groups) = agenda.search();
        if from.is_empty() {
            return Ok(false);
        }
        let visited =
            within(until, self.store.groups(&from, n_groups)).await.map_err(Error::Claim)?;
        agenda.searched(from, n_groups, visited, Instant::now());
        Ok(true)
    }

    /// Claims suspects of one level: of the worst there are, and never more than may be sent together.
    async fn claim_suspects(
        &self,
        claimer: &mut Claimer,
        traffic: &Traffic,
        until: Option<Instant>,
    ) -> Result<Option<Batch>, Error> {
        let mut found = None;
        'levels: for (lost_claims, n_together) in suspects::LEVELS {
            let n_together = n_together.min(self.policy.batch_size);
            for wanted in claimer.agenda.wanted_suspects(&lost_claims, n_together, traffic) {
                let batch = self.lease(&wanted, lost_claims.clone(), until).await?;
                claimer.agenda.probed(&wanted, &batch.claim);
                if !batch.claim.messages.is_empty() {
                    found = Some(Batch { is_of_suspects: true, ..batch });
                    break 'levels;
                }
            }
        }
        claimer.lookout.looked(found.is_some(), Instant::now());
        Ok(found)
    }

    async fn lease(
        &self,
        wanted: &Wanted,
        lost_claims: RangeInclusive<i32>,
        until: Option<Instant>,
    ) -> Result<Batch, Error> {
        let terms = Terms { lease: self.policy.lease, claimed_by: &self.claimed_by };
        let claim = self.store.claim(wanted, lost_claims, terms);
        let span = span::claim();
        let claim = within(until, claim).instrument(span.clone()).await.map_err(Error::Claim);
        span::record_error(&span, claim.as_ref().err());
        let claim = claim?;
        span::record_claim(&span, &claim);
        drop(span);
        let full_groups = full_groups(wanted, &claim);
        let (probes, unused): (HashSet<_>, HashSet<_>) =
            claim.probes.iter().cloned().partition(|name| claim.has_any_of(name));
        if !unused.is_empty() {
            self.give_probes_back(claim.token, &Vec::from_iter(unused), until).await;
        }
        Ok(Batch { claim, probes, full_groups, is_of_suspects: false })
    }

    /// Lets probes be made anew that told nothing of their destinations: they had no message, or one at fault itself.
    pub(crate) async fn give_probes_back(
        &self,
        token: ClaimToken,
        unused: &[String],
        until: Option<Instant>,
    ) {
        if let Err(error) = within(until, self.store.probe_unused(token, unused)).await {
            tracing::warn!(
                error.r#type = error.code(),
                "probe that told nothing was not given back, the next one is a minute later"
            );
        }
    }
}

fn full_groups(wanted: &Wanted, claim: &Claim) -> Vec<(String, String)> {
    let n_claimed = |destination: &str, group: &str| {
        let is_of_group = |m: &&outbox::Message| {
            m.destination == destination && m.message_group.as_deref() == Some(group)
        };
        claim.messages.iter().filter(is_of_group).count()
    };
    // A claim of many groups takes few messages of each; then the next search finds those that have more.
    if wanted.groups.len() > 16 {
        return Vec::new();
    }
    let is_full = |quota: &&outbox_store::GroupQuota| {
        n_claimed(&quota.destination, &quota.message_group) >= quota.n_messages as usize
    };
    let full = wanted.groups.iter().filter(is_full);
    full.map(|quota| (quota.destination.clone(), quota.message_group.clone())).collect()
}

//! The agenda: which destinations and message groups have something to claim, and how much of each is asked for next.
//!
//! Messages without a group are claimed by destination. Groups are looked for first, in order of their names, going on where
//! the last look ended, so that a group that waits for something costs one look a round, and every group gets its turn.
//! Nothing here is needed for correctness: a claim that asks for too much gets less.

mod round;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use outbox_store::{
    Breaker, Claim, DueDestination, GroupQuota, GroupsFrom, Quota, Visited, Wanted,
};

use crate::suspects;
use crate::traffic::Traffic;

use round::Round;

/// How long what is known holds while there is something to claim: so long may a destination wait that has just got its first
/// message.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Groups visited in one look, all destinations together: about 20 ms.
const VISITED: usize = 2_000;

/// What is known to be there.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    looked_at: Option<Instant>,
    destinations: Vec<Known>,
    rounds: HashMap<String, Round>,
    suspects: BTreeMap<(String, String), i32>,
}

/// A destination that may be claimed of.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
struct Known {
    destination: String,
    has_ungrouped: bool,
    has_groups: bool,
    has_suspects: bool,
    is_probe: bool,
}

impl Agenda {
    /// One that goes on through the groups where an earlier run ended.
    pub(crate) fn going_on(positions: HashMap<String, String>) -> Self {
        let rounds =
            positions.into_iter().map(|(destination, from)| (destination, Round::at(from)));
        Self { rounds: rounds.collect(), ..Self::default() }
    }

    /// Where the next run is to go on.
    pub(crate) fn into_positions(self) -> HashMap<String, String> {
        self.rounds.into_iter().map(|(destination, round)| (destination, round.from)).collect()
    }

    /// Whether the database is to be asked what is due.
    pub(crate) fn is_old(&self, now: Instant) -> bool {
        self.looked_at.is_none_or(|at| now >= at + LOOK_AGAIN)
    }

    /// Takes in what is due.
    pub(crate) fn looked(&mut self, due: Vec<DueDestination>, now: Instant) {
        self.looked_at = Some(now);
        let may_be_claimed = |due: &DueDestination| !due.paused && due.breaker != Breaker::Open;
        self.destinations = due
            .into_iter()
            .filter(may_be_claimed)
            .map(|due| Known {
                is_probe: due.breaker == Breaker::ProbeDue,
                destination: due.destination,
                has_ungrouped: due.has_ungrouped,
                has_groups: due.has_groups,
                has_suspects: due.has_suspects,
            })
            .collect();
        // With more destinations than messages in a batch, everyone gets its turn in the long run.
        let first = fastrand::usize(..self.destinations.len().max(1));
        self.destinations.rotate_left(first);
        for known in self.destinations.iter().filter(|known| known.has_groups) {
            let round = self.rounds.entry(known.destination.clone());
            round.or_insert_with(|| Round::at(String::new())).begin_again(now);
        }
    }

    /// Where to look for groups: wherever none is known to be free and the round is not over.
    pub(crate) fn search(&self) -> (Vec<GroupsFrom>, u32) {
        let wanting = self.destinations.iter().filter(|known| known.has_groups);
        let from: Vec<GroupsFrom> = wanting
            .filter_map(|known| {
                let round = self.rounds.get(&known.destination)?;
                let destination = known.destination.clone();
                let is_wanting = round.free.is_empty() && !round.is_over;
                is_wanting.then(|| GroupsFrom { destination, group: round.from.clone() })
            })
            .collect();
        let n_visited = (VISITED / from.len().max(1)).max(20);
        (from, u32::try_from(n_visited).unwrap_or(u32::MAX))
    }

    /// Takes in which groups a search has visited.
    pub(crate) fn searched(
        &mut self,
        from: Vec<GroupsFrom>,
        n_groups: u32,
        visited: Vec<Visited>,
        now: Instant,
    ) {
        let mut ends: HashMap<String, (u32, String)> = HashMap::new();
        for Visited { destination, message_group, lost_claims } in visited {
            let (n_visited, end) = ends.entry(destination.clone()).or_default();
            *n_visited += 1;
            if *end < message_group {
                end.clone_from(&message_group);
            }
            match lost_claims {
                None => {}
                Some(lost) if suspects::CLEAN.contains(&lost) => {
                    self.rounds.entry(destination).or_default().free.push(message_group);
                }
                Some(lost) => _ = self.suspects.insert((destination, message_group), lost),
            }
        }
        for GroupsFrom { destination, .. } in from {
            let (n_visited, last) = ends.remove(&destination).unwrap_or_default();
            let round = self.rounds.entry(destination).or_default();
            // Relays that look at the same time don't go for the same groups in the same order.
            fastrand::shuffle(&mut round.free);
            round.n_visited += n_visited;
            round.has_found |= !round.free.is_empty();
            // No text lies between one and the same with U+0001 behind it, for Postgres has no U+0000.
            round.went_on((n_visited == n_groups).then(|| format!("{last}\u{1}")), now);
        }
    }

    /// What to ask for: the batch, shared among the destinations.
    pub(crate) fn wanted(&mut self, batch_size: u32, traffic: &Traffic) -> Wanted {
        let mut wanted = Wanted::default();
        let rounds = &mut self.rounds;
        let can_give = |known: &&Known, rounds: &HashMap<String, Round>| {
            (known.is_probe || !traffic.is_held_up(&known.destination))
                && (known.has_ungrouped || has_free(rounds, known))
        };
        let open: Vec<&Known> =
            self.destinations.iter().filter(|known| can_give(known, rounds)).collect();
        for (known, share) in open.iter().zip(shares(batch_size, open.len())) {
            let share = if known.is_probe { share.min(1) } else { share };
            if share == 0 {
                continue;
            }
            let of_groups = match (known.has_ungrouped, has_free(rounds, known)) {
                (true, true) => share / 2 + (share % 2) * fastrand::u32(..2),
                (true, false) => 0,
                (false, _) => share,
            };
            if share > of_groups {
                let (destination, n_messages) = (known.destination.clone(), share - of_groups);
                wanted.ungrouped.push(Quota { destination, n_messages });
            }
            if let Some(round) = rounds.get_mut(&known.destination) {
                wanted.groups.extend(round.take(&known.destination, of_groups));
            }
            if known.is_probe {
                wanted.probes.push(known.destination.clone());
            }
        }
        wanted
    }

    /// Takes in what a claim came to: who gave less than was asked for has no more.
    pub(crate) fn claimed(&mut self, wanted: &Wanted, claim: &Claim) {
        let mut n_ungrouped: HashMap<&str, usize> = HashMap::new();
        for message in claim.messages.iter().filter(|message| message.message_group.is_none()) {
            *n_ungrouped.entry(&message.destination).or_default() += 1;
        }
        let exhausted: HashSet<&str> = wanted
            .ungrouped
            .iter()
            .filter(|quota| {
                let n_claimed = n_ungrouped.get(quota.destination.as_str()).copied();
                n_claimed.unwrap_or(0) < quota.n_messages as usize
            })
            .map(|quota| quota.destination.as_str())
            .collect();
        for known in &mut self.destinations {
            known.has_ungrouped &= !exhausted.contains(known.destination.as_str());
        }
        self.probed(wanted, claim);
    }

    /// Takes in which probes are under way: one is enough. Where a probe got no message, another claim may get one.
    pub(crate) fn probed(&mut self, wanted: &Wanted, claim: &Claim) {
        let may_probe_again = |destination: &String| {
            !wanted.probes.contains(destination)
                || (claim.probes.contains(destination) && !claim.has_any_of(destination))
        };
        self.destinations.retain(|known| !known.is_probe || may_probe_again(&known.destination));
    }

    /// Claims of groups of these destinations are through. A round that found nothing beside them tells nothing any more: the
    /// groups that were leased may be free.
    pub(crate) fn have_moved(&mut self, destinations: HashSet<String>) {
        for destination in destinations {
            if let Some(round) = self.rounds.get_mut(&destination) {
                round.rests_until = None;
            }
        }
    }

    /// Groups that may have more at once, because all that was claimed of them was accepted, and that was all asked for.
    pub(crate) fn go_on_with(&mut self, groups: Vec<(String, String)>) {
        for (destination, group) in groups {
            if let Some(known) =
                self.destinations.iter_mut().find(|it| it.destination == destination)
            {
                known.has_groups = true;
                self.rounds.entry(destination).or_default().free.push(group);
            }
        }
    }

    /// What to ask for of suspects with so many lost claims, few together.
    pub(crate) fn wanted_suspects(
        &mut self,
        lost_claims: &RangeInclusive<i32>,
        n_together: u32,
        traffic: &Traffic,
    ) -> Vec<Wanted> {
        let is_open = |known: &&Known| {
            known.has_suspects && (known.is_probe || !traffic.is_held_up(&known.destination))
        };
        let open: Vec<&Known> = self.destinations.iter().filter(is_open).collect();
        let is_probe = |name: &str| open.iter().any(|it| it.is_probe && it.destination == name);
        let mut probes = HashSet::new();
        let groups: Vec<GroupQuota> = self
            .suspects
            .iter()
            .filter(|((destination, _), lost)| {
                lost_claims.contains(lost)
                    && open.iter().any(|it| it.destination == *destination)
                    && (!is_probe(destination) || probes.insert(destination.clone()))
            })
            .take(n_together as usize)
            .map(|((destination, group), _)| GroupQuota {
                destination: destination.clone(),
                message_group: group.clone(),
                n_messages: 1,
            })
            .collect();
        for quota in &groups {
            self.suspects.remove(&(quota.destination.clone(), quota.message_group.clone()));
        }
        let probes = probes.into_iter().collect();
        let mut all = vec![Wanted { groups, probes, ..Wanted::default() }];
        for some in open.chunks(n_together as usize) {
            let quotas =
                some.iter().zip(shares(n_together, some.len())).map(|(known, n_messages)| Quota {
                    destination: known.destination.clone(),
                    n_messages: if known.is_probe { n_messages.min(1) } else { n_messages },
                });
            let probes = some.iter().filter(|it| it.is_probe).map(|it| it.destination.clone());
            all.push(Wanted {
                ungrouped: quotas.collect(),
                probes: probes.collect(),
                ..Wanted::default()
            });
        }
        all.retain(|wanted| !wanted.is_empty());
        all
    }
}

fn has_free(rounds: &HashMap<String, Round>, known: &Known) -> bool {
    known.has_groups && rounds.get(&known.destination).is_some_and(|round| !round.free.is_empty())
}

/// Fair shares: they differ by one at most and add up to the whole.
fn shares(whole: u32, n: usize) -> impl Iterator<Item = u32> {
    let n = u32::try_from(n).unwrap_or(u32::MAX);
    let each = whole.checked_div(n).unwrap_or(0);
    let left_over = whole - each * n;
    (0..n).map(move |place| each + u32::from(place < left_over))
}

#[cfg(test)]
mod tests;

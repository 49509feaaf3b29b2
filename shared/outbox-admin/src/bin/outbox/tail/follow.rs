//! What a tail knows: how far it has come, which ids below that may still be committed, and what was last seen of each message
//! that it follows.
//!
//! An id is given out when a row is inserted and is seen when its transaction commits, so a lower one can come later. Those
//! that were passed over are asked for by name, for as long as there are not too many newer ones. All of it is in memory: a
//! high-water mark that is kept would lose messages.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, UNIX_EPOCH};

use outbox_store::{Followed, Seen};
use serde::Serialize;
use uuid::Uuid;

/// New messages of one look.
pub(super) const NEW_AT_ONCE: i64 = 1_000;

/// Messages and ids that are asked for by name, at most so many of each: the newest.
const MOST: usize = 1_000;

/// What has happened to a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Event {
    /// `enqueued`, `failed`, `dispatched`, `dead` or `redriven`.
    #[serde(rename = "event")]
    pub(super) what: &'static str,
    pub(super) id: i64,
    pub(super) message_id: Uuid,
    pub(super) destination: String,
    pub(super) message_type: String,
    pub(super) message_group: Option<String>,
    pub(super) correlation_id: Option<String>,
    pub(super) attempts: i32,
    pub(super) code: Option<String>,
    pub(super) dead_reason: Option<String>,
    /// When it was seen, which may be a moment after it happened; by the database's clock.
    pub(super) seen_at: String,
}

/// How far a tail has come.
#[derive(Debug, Default)]
pub(super) struct Following {
    after: i64,
    /// Ids that were passed over.
    missing: BTreeSet<i64>,
    /// What was last seen of each.
    known: BTreeMap<i64, String>,
}

impl Following {
    /// Begins behind the latest messages; what is missing among them may still come.
    pub(super) fn new(latest: &[i64], kept: impl IntoIterator<Item = i64>) -> Self {
        let after = latest.iter().copied().max().unwrap_or_default();
        let first = latest.iter().copied().min().unwrap_or_default();
        let mut following = Self { after: first.saturating_sub(1).max(0), ..Self::default() };
        for id in latest.iter().copied().collect::<BTreeSet<_>>() {
            following.pass(id);
        }
        following.after = after;
        following.known = kept.into_iter().map(|id| (id, String::new())).collect();
        following
    }

    /// What to ask for: what is new, and what is followed.
    pub(super) fn question(&self) -> (i64, Vec<Followed>) {
        let known = self.known.iter().map(|(&id, state)| Followed { id, state: state.clone() });
        let missing = self.missing.iter().map(|&id| Followed { id, state: String::new() });
        (self.after, known.chain(missing).collect())
    }

    /// Takes in what was there at the start, and tells nothing of it.
    pub(super) fn learn(&mut self, seen: Vec<Seen>) {
        let (old, new): (Vec<Seen>, Vec<Seen>) =
            seen.into_iter().partition(|seen| self.known.contains_key(&seen.id));
        for seen in old {
            self.keep(&seen);
        }
        // What came in between is new at the next look.
        drop(new);
        self.known.retain(|_, state| !state.is_empty());
    }

    /// Takes in what was seen, in order of id, and tells what has happened.
    pub(super) fn take(&mut self, seen: Vec<Seen>) -> Vec<Event> {
        let mut events = Vec::new();
        for seen in seen {
            if seen.id > self.after {
                self.pass(seen.id);
            }
            self.missing.remove(&seen.id);
            self.keep(&seen);
            for event in happened(&seen) {
                events.push(told(event, &seen));
            }
        }
        events
    }

    /// Goes on to that id, and keeps in mind those between.
    fn pass(&mut self, id: i64) {
        let most = i64::try_from(MOST).unwrap_or(i64::MAX);
        let from = (self.after + 1).max(id.saturating_sub(most));
        self.missing.extend(from..id);
        self.after = id;
        while self.missing.len() > MOST {
            self.missing.pop_first();
        }
    }

    fn keep(&mut self, seen: &Seen) {
        if seen.state == "dispatched" {
            self.known.remove(&seen.id);
        } else {
            self.known.insert(seen.id, seen.state.clone());
        }
        while self.known.len() > MOST {
            self.known.pop_first();
        }
    }
}

/// From what was known to what is seen.
fn happened(seen: &Seen) -> Vec<&'static str> {
    let now = match seen.state.as_str() {
        "pending" => None,
        "dispatched" => Some("dispatched"),
        "dead" => Some("dead"),
        _ => Some("failed"),
    };
    match seen.known.as_str() {
        "" => ["enqueued"].into_iter().chain(now).collect(),
        "dead" => ["redriven"].into_iter().chain(now).collect(),
        _ => now.into_iter().collect(),
    }
}

fn told(event: &'static str, seen: &Seen) -> Event {
    let is_failure = matches!(event, "failed" | "dead");
    let since_1970 = Duration::from_millis(seen.now_ms.max(0).unsigned_abs());
    Event {
        what: event,
        id: seen.id,
        message_id: seen.message_id,
        destination: seen.destination.clone(),
        message_type: seen.message_type.clone(),
        message_group: seen.message_group.clone(),
        correlation_id: seen.correlation_id.clone(),
        attempts: seen.attempts,
        code: seen.last_error_code.clone().filter(|_| is_failure),
        dead_reason: seen.dead_reason.clone().filter(|_| event == "dead"),
        seen_at: humantime::format_rfc3339_millis(UNIX_EPOCH + since_1970).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(id: i64, known: &str, state: &str) -> Seen {
        Seen {
            id,
            message_id: Uuid::nil(),
            destination: "orders".into(),
            message_type: "order.placed.v1".into(),
            message_group: None,
            correlation_id: None,
            attempts: 0,
            last_error_code: Some("InternalError".into()),
            dead_reason: None,
            known: known.into(),
            state: state.into(),
            now_ms: 0,
        }
    }

    fn names(events: &[Event]) -> Vec<(i64, &'static str)> {
        events.iter().map(|event| (event.id, event.what)).collect()
    }

    fn asked(following: &Following) -> (i64, Vec<(i64, String)>) {
        let (after, followed) = following.question();
        (after, followed.into_iter().map(|of| (of.id, of.state)).collect())
    }

    #[test]
    fn a_lower_id_that_is_committed_later_is_told_and_then_no_more_missing() {
        let mut following = Following::new(&[5], []);
        let events = following.take(vec![seen(7, "", "pending"), seen(9, "", "dispatched")]);
        assert_eq!(names(&events), [(7, "enqueued"), (9, "enqueued"), (9, "dispatched")]);
        let expected = vec![(7, "pending".to_owned()), (6, String::new()), (8, String::new())];
        assert_eq!(asked(&following), (9, expected));

        assert_eq!(names(&following.take(vec![seen(6, "", "pending")])), [(6, "enqueued")]);
        assert_eq!(asked(&following).1.last(), Some(&(8, String::new())));
    }

    #[test]
    fn ids_that_are_missing_at_the_start_may_still_come() {
        let following = Following::new(&[9, 7, 10], []);
        assert_eq!(asked(&following), (10, vec![(8, String::new())]));
        assert_eq!(asked(&Following::new(&[], [])), (0, vec![]));
    }

    #[test]
    fn a_message_is_followed_until_it_is_dispatched_and_a_redrive_is_told() {
        let mut following = Following::new(&[7], [7]);
        following.learn(vec![seen(7, "", "dead")]);
        assert_eq!(asked(&following), (7, vec![(7, "dead".to_owned())]));
        assert_eq!(names(&following.take(vec![seen(7, "dead", "pending")])), [(7, "redriven")]);
        let failed = following.take(vec![seen(7, "pending", "failed 1.5")]);
        assert_eq!(names(&failed), [(7, "failed")]);
        assert_eq!(failed[0].code.as_deref(), Some("InternalError"));
        let dispatched = following.take(vec![seen(7, "failed 1.5", "dispatched")]);
        assert_eq!(
            (names(&dispatched), dispatched[0].code.clone()),
            (vec![(7, "dispatched")], None)
        );
        assert_eq!(asked(&following).1, []);
    }

    #[test]
    fn what_is_asked_for_by_name_is_bounded_however_far_the_ids_jump() {
        let mut following = Following::new(&[1], []);
        following.take(vec![seen(1_000_000_000_000, "", "pending")]);
        following.take((1..=1_500).map(|n| seen(1_000_000_000_000 + n, "", "pending")).collect());
        let (after, followed) = following.question();
        assert_eq!(after, 1_000_000_001_500);
        assert!(followed.len() <= 2 * MOST, "{}", followed.len());
    }

    #[test]
    fn what_is_discarded_before_the_first_look_is_followed_no_more() {
        let mut following = Following::new(&[7], [6, 7]);
        following.learn(vec![seen(7, "", "pending")]);
        assert_eq!(asked(&following).1, [(7, "pending".to_owned())]);
    }
}

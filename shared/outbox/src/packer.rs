//! What travels together: requests within the limits, and never two messages of one group in one.
//!
//! A batch request can fail in part, and SQS may take an entry of a group after it refused an earlier
//! one. So a group's next message waits until its earlier one was accepted, and its run ends at the first
//! that was not: whatever is behind it stays unsent.

use std::collections::{HashMap, VecDeque};

use crate::entry::Entry;

/// Most entries of one request, for SQS and SNS alike.
const MAX_ENTRIES: usize = 10;

/// The entries of one claim for one destination, handed out request by request.
#[derive(Debug)]
pub struct Packer {
    max_bytes: usize,
    ready: VecDeque<Entry>,
    /// The later messages of each group whose earlier one is ready or in flight.
    behind: HashMap<String, VecDeque<Entry>>,
    stopped: Vec<Entry>,
}

impl Packer {
    /// Takes the entries of one destination in order of their ids; `max_bytes` bounds each request.
    pub fn new(max_bytes: usize, entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut packer =
            Self { max_bytes, ready: VecDeque::new(), behind: HashMap::new(), stopped: Vec::new() };
        for entry in entries {
            packer.add(entry);
        }
        packer
    }

    fn add(&mut self, entry: Entry) {
        let Some(group) = &entry.message.message_group else {
            return self.ready.push_back(entry);
        };
        if let Some(behind) = self.behind.get_mut(group) {
            behind.push_back(entry);
        } else {
            self.behind.insert(group.clone(), VecDeque::new());
            self.ready.push_back(entry);
        }
    }

    /// Whether a request is ready.
    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// How many messages were not handed out yet and may still be: those of stopped groups are not.
    pub fn n_waiting(&self) -> usize {
        self.ready.len() + self.behind.values().map(VecDeque::len).sum::<usize>()
    }

    /// The next request: at most ten entries within the byte limit, all of different groups. `None` while
    /// nothing is ready, which may change when an entry in flight is accepted.
    pub fn next_request(&mut self) -> Option<Vec<Entry>> {
        let mut request = Vec::with_capacity(self.ready.len().min(MAX_ENTRIES));
        let mut bytes = 0;
        while let Some(entry) = self.ready.front() {
            bytes += entry.bytes;
            // The first entry always goes: it is within the limit, or it would be no entry.
            if request.len() == MAX_ENTRIES || (bytes > self.max_bytes && !request.is_empty()) {
                break;
            }
            request.extend(self.ready.pop_front());
        }
        (!request.is_empty()).then_some(request)
    }

    /// Tells that an entry of this group was accepted: the group's next message is ready.
    pub fn accepted(&mut self, group: &str) {
        if let Some(next) = self.behind.get_mut(group).and_then(VecDeque::pop_front) {
            self.ready.push_back(next);
        }
    }

    /// Tells that an entry of this group was not accepted: the rest of the group stays unsent, also when
    /// the failure was permanent. Were the followers sent and the dead mark then fenced off, they would
    /// have overtaken it.
    pub fn stopped(&mut self, group: &str) {
        if let Some(behind) = self.behind.get_mut(group) {
            self.stopped.extend(behind.drain(..));
        }
    }

    /// Everything that was never handed out.
    pub fn into_unsent(self) -> impl Iterator<Item = Entry> {
        self.ready.into_iter().chain(self.behind.into_values().flatten()).chain(self.stopped)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::message::tests::message;
    use crate::{Destination, Target};

    fn entry(id: i64, group: Option<&str>, body_bytes: usize) -> Entry {
        let target = Target::parse("arn:aws:sqs:eu-west-1:1:q").unwrap();
        let mut message = message(id);
        message.message_group = group.map(str::to_owned);
        message.payload = "x".repeat(body_bytes);
        Entry::prepare(message, &Destination::new("orders", target)).unwrap()
    }

    fn ids(request: &[Entry]) -> Vec<i64> {
        request.iter().map(|entry| entry.message.id).collect()
    }

    /// Case A01.
    #[test]
    fn twenty_three_entries_travel_as_ten_ten_and_three() {
        let mut packer = Packer::new(1_048_576, (1..=23).map(|id| entry(id, None, 10)));
        let sizes: Vec<_> = std::iter::from_fn(|| packer.next_request()).map(|r| r.len()).collect();
        assert_eq!(sizes, [10, 10, 3]);
    }

    /// Cases A02 and A06.
    #[test]
    fn a_request_never_exceeds_the_byte_limit() {
        let mut packer = Packer::new(1_048_576, (1..=6).map(|id| entry(id, None, 200_000)));
        let sizes: Vec<_> = std::iter::from_fn(|| packer.next_request()).map(|r| r.len()).collect();
        assert_eq!(sizes, [5, 1]);
    }

    #[test]
    fn a_groups_next_message_waits_until_its_earlier_one_is_accepted() {
        let entries = [(1, Some("g")), (2, Some("g")), (3, None), (4, Some("h"))];
        let mut packer = Packer::new(1_048_576, entries.map(|(id, g)| entry(id, g, 10)));
        assert_eq!(ids(&packer.next_request().unwrap()), [1, 3, 4]);
        assert!(packer.next_request().is_none());
        packer.accepted("h");
        assert!(packer.next_request().is_none());
        packer.accepted("g");
        assert_eq!(ids(&packer.next_request().unwrap()), [2]);
    }

    #[test]
    fn a_groups_run_ends_at_the_first_message_that_was_not_accepted() {
        let entries = [(1, Some("g")), (2, Some("g")), (3, Some("g"))];
        let mut packer = Packer::new(1_048_576, entries.map(|(id, g)| entry(id, g, 10)));
        packer.next_request().unwrap();
        packer.stopped("g");
        assert!(packer.next_request().is_none());
        assert_eq!(packer.into_unsent().map(|e| e.message.id).collect::<Vec<_>>(), [2, 3]);
    }

    proptest! {
        /// Never over a limit, never two of a group at once, never out of order, and nothing lost.
        #[test]
        fn packing_keeps_limits_order_and_every_entry(
            shape in prop::collection::vec((0_u8..6, 1_usize..4_000), 0..120),
            max_bytes in 4_200_usize..20_000,
            refused in prop::collection::hash_set(1_i64..120, 0..8),
        ) {
            let group_of = |g: u8| (g > 0).then(|| format!("g{g}"));
            let entries: Vec<Entry> = shape.iter().zip(1..)
                .map(|(&(g, bytes), id)| entry(id, group_of(g).as_deref(), bytes)).collect();
            let all: HashSet<i64> = entries.iter().map(|e| e.message.id).collect();
            let mut packer = Packer::new(max_bytes, entries);
            let mut sent = Vec::new();
            while let Some(request) = packer.next_request() {
                prop_assert!(request.len() <= MAX_ENTRIES);
                prop_assert!(request.iter().map(|e| e.bytes).sum::<usize>() <= max_bytes);
                let groups: Vec<_> = request.iter().filter_map(|e| e.message.message_group.as_deref()).collect();
                prop_assert_eq!(groups.iter().collect::<HashSet<_>>().len(), groups.len());
                for entry in &request {
                    let Some(group) = entry.message.message_group.as_deref() else { continue };
                    if refused.contains(&entry.message.id) { packer.stopped(group) } else { packer.accepted(group) }
                }
                sent.extend(request.into_iter().map(|e| e.message));
            }
            for g in 1..6 {
                let of_group: Vec<i64> = sent.iter()
                    .filter(|m| m.message_group == group_of(g)).map(|m| m.id).collect();
                prop_assert!(of_group.is_sorted());
                let first_refused = of_group.iter().position(|id| refused.contains(id));
                prop_assert!(first_refused.is_none_or(|at| at + 1 == of_group.len()));
            }
            let seen: Vec<i64> = sent.iter().map(|m| m.id).chain(packer.into_unsent().map(|e| e.message.id)).collect();
            prop_assert_eq!(seen.len(), all.len());
            prop_assert_eq!(seen.into_iter().collect::<HashSet<_>>(), all);
        }
    }
}

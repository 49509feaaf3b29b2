//! Suspects: messages whose last claims were lost, because one of them may have ended its relays.
//!
//! Attempts rise at the claim, so a message that kills the process reaches the cap by itself; but so would the hundreds
//! that are claimed beside it each time. Two lost claims in a row make a message a suspect: it is sent alone, after
//! everything else of its claim is marked, and the other suspects are handed back first. Only a message that was alone
//! when its relay ended is ever dead of it.

use std::collections::HashSet;

use outbox::Message;

/// A claim, sorted by how it may be sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sorted {
    /// What has no history, to be sent first.
    pub(crate) together: Vec<Message>,
    /// The oldest suspect, to be sent after that.
    pub(crate) alone: Option<Message>,
    /// The other suspects, and whatever stands behind a suspect in its group: to be released before anything is sent.
    pub(crate) held: Vec<i64>,
}

/// Sorts the messages of a claim, which are in order of their ids.
pub(crate) fn sort(messages: Vec<Message>) -> Sorted {
    let mut sorted = Sorted::default();
    let mut groups_held = HashSet::new();
    for message in messages {
        let group = message.message_group.clone().map(|g| (message.destination.clone(), g));
        let stands_behind = group.as_ref().is_some_and(|group| groups_held.contains(group));
        if !message.is_suspect() && !stands_behind {
            sorted.together.push(message);
            continue;
        }
        groups_held.extend(group);
        if sorted.alone.is_none() && !stands_behind {
            sorted.alone = Some(message);
        } else {
            sorted.held.push(message.id);
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: i64, lost_claims: i32, group: Option<&str>) -> Message {
        Message {
            id,
            message_id: Default::default(),
            destination: "orders".into(),
            message_type: "order.placed.v1".into(),
            message_group: group.map(str::to_owned),
            payload: "{}".into(),
            content_type: "application/json".into(),
            headers: "{}".into(),
            correlation_id: None,
            traceparent: None,
            attempts: lost_claims + 1,
            lost_claims,
            was_alone: false,
        }
    }

    fn ids(messages: impl IntoIterator<Item = Message>) -> Vec<i64> {
        messages.into_iter().map(|message| message.id).collect()
    }

    #[test]
    fn one_lost_claim_makes_no_suspect() {
        let sorted = sort(vec![message(1, 0, None), message(2, 1, None)]);
        assert_eq!(ids(sorted.together), [1, 2]);
        assert_eq!((sorted.alone, sorted.held), (None, vec![]));
    }

    #[test]
    fn of_several_suspects_the_oldest_goes_alone_and_the_others_are_held() {
        let sorted = sort(vec![message(1, 0, None), message(2, 2, None), message(3, 2, None)]);
        assert_eq!(ids(sorted.together), [1]);
        assert_eq!(ids(sorted.alone), [2]);
        assert_eq!(sorted.held, [3]);
    }

    #[test]
    fn what_stands_behind_a_suspect_in_its_group_is_held() {
        let group = Some("g");
        let sorted = sort(vec![message(1, 0, group), message(2, 2, group), message(3, 0, group)]);
        assert_eq!(ids(sorted.together), [1]);
        assert_eq!(ids(sorted.alone), [2]);
        assert_eq!(sorted.held, [3]);
    }
}

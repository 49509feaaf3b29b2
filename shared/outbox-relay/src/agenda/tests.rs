use outbox::{ClaimToken, Message};
use uuid::Uuid;

use super::*;

fn due(destination: &str, has_ungrouped: bool, has_groups: bool) -> DueDestination {
    DueDestination {
        destination: destination.into(),
        oldest_due_seconds: 1.0,
        has_ungrouped,
        has_groups,
        has_suspects: false,
        held_groups: 0,
        paused: false,
        failed_requests: 0,
        breaker: Breaker::Closed,
    }
}

fn agenda(due: Vec<DueDestination>) -> Agenda {
    let mut agenda = Agenda::default();
    agenda.looked(due, Instant::now());
    agenda
}

/// A search that finds these groups, all free.
fn find(agenda: &mut Agenda, groups: &[&str]) {
    let (from, _) = agenda.search();
    let destination = from[0].destination.clone();
    let visited = groups.iter().map(|group| Visited {
        destination: destination.clone(),
        message_group: (*group).to_owned(),
        lost_claims: Some(0),
    });
    agenda.searched(from, 1_000, visited.collect(), Instant::now());
}

fn n_wanted(wanted: &Wanted) -> u32 {
    let ungrouped = wanted.ungrouped.iter().map(|quota| quota.n_messages).sum::<u32>();
    ungrouped + wanted.groups.iter().map(|quota| quota.n_messages).sum::<u32>()
}

fn claim_of(n: i64, destination: &str) -> Claim {
    let message = |id| Message {
        id,
        message_id: Uuid::nil(),
        destination: destination.into(),
        message_type: "t".into(),
        message_group: None,
        payload: "{}".into(),
        content_type: "application/json".into(),
        headers: "{}".into(),
        correlation_id: None,
        traceparent: None,
        attempts: 1,
        lost_claims: 0,
        was_alone: false,
        has_failed: false,
    };
    let (token, messages) = (ClaimToken::new(Uuid::nil()), (1..=n).map(message).collect());
    Claim { token, messages, probes: Vec::new(), leased_until: Instant::now() }
}

#[test]
fn shares_are_even_and_add_up() {
    assert_eq!(shares(500, 3).collect::<Vec<_>>(), [167, 167, 166]);
    assert_eq!(shares(2, 3).collect::<Vec<_>>(), [1, 1, 0]);
    assert_eq!(shares(2, 0).count(), 0);
}

#[test]
fn a_batch_is_shared_among_destinations_and_within_one_among_both_kinds() {
    let mut agenda = agenda(vec![due("a", true, true), due("b", true, false)]);
    find(&mut agenda, &["g", "h", "i"]);
    let wanted = agenda.wanted(100, &Traffic::new(16));
    assert_eq!(n_wanted(&wanted), 100);
    let of_a = wanted.ungrouped.iter().find(|quota| quota.destination == "a").unwrap();
    assert_eq!((of_a.n_messages, wanted.groups.len()), (25, 3));
}

#[test]
fn more_destinations_than_messages_get_one_each_as_far_as_it_goes() {
    let many = (0..10).map(|i| due(&format!("d{i}"), true, false)).collect();
    assert_eq!(n_wanted(&agenda(many).wanted(3, &Traffic::new(16))), 3);
}

#[test]
fn a_destination_that_gave_less_than_its_share_is_not_asked_again() {
    let mut agenda = agenda(vec![due("a", true, false), due("b", true, false)]);
    let wanted = agenda.wanted(10, &Traffic::new(16));
    agenda.claimed(&wanted, &claim_of(5, "a"));
    let wanted = agenda.wanted(10, &Traffic::new(16));
    assert_eq!((wanted.ungrouped.len(), wanted.ungrouped[0].destination.as_str()), (1, "a"));
}

#[test]
fn a_search_goes_on_where_it_ended_until_the_round_is_over() {
    let mut agenda = agenda(vec![due("a", false, true)]);
    let (from, _) = agenda.search();
    assert_eq!(from[0].group, "");
    let blocked = |group: &str| Visited {
        destination: "a".into(),
        message_group: group.into(),
        lost_claims: None,
    };
    agenda.searched(from, 2, vec![blocked("h"), blocked("g")], Instant::now());
    let (from, _) = agenda.search();
    assert_eq!(from[0].group, "h\u{1}", "behind the last one");
    let now = Instant::now();
    agenda.searched(from, 2, vec![blocked("i")], now);
    assert!(agenda.search().0.is_empty(), "the round is over");

    agenda.looked(vec![due("a", false, true)], now);
    assert!(agenda.search().0.is_empty(), "three groups for nothing: a pause");
    agenda.looked(vec![due("a", false, true)], now + Duration::from_secs(1));
    assert_eq!(agenda.search().0[0].group, "");
}

#[test]
fn the_next_run_goes_on_where_the_last_one_ended() {
    let mut first = agenda(vec![due("a", false, true)]);
    let (from, _) = first.search();
    let visited =
        Visited { destination: "a".into(), message_group: "g".into(), lost_claims: Some(0) };
    first.searched(from, 1, vec![visited], Instant::now());
    let mut next = Agenda::going_on(first.into_positions());
    next.looked(vec![due("a", false, true)], Instant::now());
    let (from, _) = next.search();
    assert_eq!(from[0].group, "g\u{1}");
    next.searched(from, 1_000, vec![], Instant::now());
    assert_eq!(next.search().0[0].group, "", "and then through all from the first");
}

#[test]
fn a_destination_whose_breaker_is_open_is_asked_for_one_message_when_a_probe_is_due() {
    let open = DueDestination { breaker: Breaker::Open, ..due("a", true, false) };
    assert!(agenda(vec![open.clone()]).wanted(10, &Traffic::new(16)).is_empty());
    let mut agenda = agenda(vec![DueDestination { breaker: Breaker::ProbeDue, ..open }]);
    let wanted = agenda.wanted(10, &Traffic::new(16));
    assert_eq!((n_wanted(&wanted), wanted.probes.as_slice()), (1, &["a".to_owned()][..]));
    agenda.claimed(&wanted, &claim_of(0, "a"));
    assert!(agenda.wanted(10, &Traffic::new(16)).is_empty(), "once");
}

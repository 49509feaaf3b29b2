use outbox::{Failure, FailureClass, Scope};
use outbox_store::Breaker;

use super::*;

fn failed(class: FailureClass) -> Outcome {
    let (code, detail) = ("Code".to_owned(), String::new());
    Outcome::Failed(Failure { class, scope: Scope::Request, code, detail })
}

fn accepted() -> Outcome {
    Outcome::Accepted { broker_message_id: "b".into() }
}

/// Starts and ends a request.
fn request(traffic: &Traffic, outcomes: &[Outcome]) {
    assert_eq!(traffic.start("orders", false), Start::Now);
    traffic.finish("orders", outcomes, None);
}

#[test]
fn a_breaker_opens_after_three_failed_requests_in_a_row() {
    let traffic = Traffic::new(16);
    for _ in 0..3 {
        request(&traffic, &[failed(FailureClass::DestinationFault)]);
    }
    assert_eq!(traffic.start("orders", false), Start::Not);
    assert_eq!(traffic.start("events", false), Start::Now);
    let news = traffic.news().unwrap();
    assert_eq!((news.failed[0].n_requests, news.failed[0].code.as_str()), (3, "Code"));
    assert!(traffic.news().is_none(), "told once");
    traffic.told(&news);

    assert_eq!(traffic.start("orders", true), Start::Now, "a probe may go");
    traffic.finish("orders", &[accepted()], None);
    assert_eq!(traffic.start("orders", false), Start::Now);
    assert_eq!(traffic.news().unwrap().recovered, ["orders"]);
}

#[test]
fn what_failed_after_an_accepted_request_is_told_as_a_new_row() {
    let traffic = Traffic::new(16);
    let down = failed(FailureClass::DestinationFault);
    request(&traffic, std::slice::from_ref(&down));
    request(&traffic, std::slice::from_ref(&down));
    traffic.told(&traffic.news().unwrap());
    request(&traffic, &[accepted()]);
    request(&traffic, &[down]);
    let News { recovered, failed } = traffic.news().unwrap();
    assert_eq!((recovered, failed[0].n_requests), (vec!["orders".to_owned()], 1));
    assert!(traffic.news().is_none(), "told once");
}

#[test]
fn an_accepted_entry_or_a_messages_own_failure_ends_the_row() {
    for outcome in [accepted(), failed(FailureClass::Permanent)] {
        let traffic = Traffic::new(16);
        let down = failed(FailureClass::DestinationFault);
        request(&traffic, std::slice::from_ref(&down));
        request(&traffic, std::slice::from_ref(&down));
        request(&traffic, &[down.clone(), outcome]);
        request(&traffic, &[down]);
        assert_eq!(traffic.start("orders", false), Start::Now);
    }
}

#[test]
fn a_destination_that_has_not_answered_yet_gets_three_requests_at_once() {
    let traffic = Traffic::new(16);
    for _ in 0..3 {
        assert_eq!(traffic.start("orders", false), Start::Now);
    }
    assert_eq!(traffic.start("orders", false), Start::Later);
    assert!(traffic.is_held_up("orders"));
    traffic.finish("orders", &[accepted()], None);
    for _ in 0..14 {
        assert_eq!(traffic.start("orders", false), Start::Now);
    }
    assert_eq!(traffic.start("orders", false), Start::Later);
    assert!(!traffic.is_held_up("orders"), "busy is not held up");
}

#[test]
fn one_of_several_destinations_does_not_get_all_requests() {
    let traffic = Traffic::new(16);
    request(&traffic, &[accepted()]);
    assert_eq!(traffic.start("events", false), Start::Now);
    let n_started = (0..20).filter(|_| traffic.start("orders", false) == Start::Now).count();
    assert_eq!(n_started, 12);
}

fn due(breaker: Breaker, failed_requests: i32) -> DueDestination {
    DueDestination {
        destination: "orders".into(),
        oldest_due_seconds: 1.0,
        has_ungrouped: true,
        has_groups: false,
        has_suspects: false,
        held_groups: 0,
        paused: false,
        failed_requests,
        breaker,
    }
}

/// It may have accepted something minutes ago; what another relay has found since is as true.
#[test]
fn a_breaker_that_another_relay_opened_is_not_closed_by_what_was_accepted_before() {
    let traffic = Traffic::new(16);
    request(&traffic, &[accepted()]);
    traffic.observe(&[due(Breaker::Open, 3)], Instant::now());
    assert_eq!(traffic.start("orders", false), Start::Not);
    assert_eq!(traffic.news(), None);
    assert_eq!(traffic.start("orders", true), Start::Now);
    traffic.finish("orders", &[failed(FailureClass::Permanent)], None);
    assert_eq!(traffic.news(), None, "a message's own failure proves little");
}

#[test]
fn an_answer_of_the_database_from_before_a_failure_or_its_telling_opens_no_breaker_again() {
    let traffic = Traffic::new(16);
    let asked_at = Instant::now();
    for _ in 0..3 {
        request(&traffic, &[failed(FailureClass::DestinationFault)]);
    }
    traffic.observe(&[due(Breaker::Closed, 0)], asked_at);
    assert_eq!(traffic.start("orders", false), Start::Not);
    let (asked_at, news) = (Instant::now(), traffic.news().unwrap());
    traffic.observe(&[due(Breaker::Closed, 0)], Instant::now());
    assert_eq!(traffic.start("orders", false), Start::Not, "it is being told");
    traffic.told(&news);
    traffic.observe(&[due(Breaker::Closed, 0)], asked_at);
    assert_eq!(traffic.start("orders", false), Start::Not, "it was asked before");
}

#[test]
fn a_destination_stands_by_what_it_has_accepted_lately() {
    let traffic = Traffic::new(16);
    assert_eq!(traffic.standing("orders"), Standing::Unknown);
    request(&traffic, &[failed(FailureClass::Permanent)]);
    assert_eq!(traffic.standing("orders"), Standing::Unknown);
    request(&traffic, &[accepted()]);
    assert_eq!(traffic.standing("orders"), Standing::Works);
}

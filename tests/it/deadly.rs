//! A message that ends every relay that sends it, as by the memory its answer takes: real processes, which are killed
//! whenever it is on the wire.

use std::collections::HashSet;

use outbox_tests::endpoint::{Answer, Endpoint, Received, Request};
use outbox_tests::{Database, Process, eventually};

use crate::function::set_up;

const DEADLY: &str = r#"{"n": 4}"#;

/// The default settings, but that a cap of ten would take ten relays.
fn start(db: &Database, endpoint: &Endpoint) -> Process {
    let mut command = set_up("outbox", &db.url(), endpoint);
    command.arg("relay").env("OUTBOX_MAX_ATTEMPTS", "5");
    Process::start(command)
}

fn is_deadly(request: &Request) -> bool {
    request.entries.iter().any(|entry| entry.body == DEADLY)
}

/// Ten messages of that group, of which the fourth is deadly. Relays are killed until it is dead; the others are then
/// through, or on their way. Returns what was accepted, without copies.
async fn until_it_is_dead(message_group: &str) -> Vec<Received> {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let ids = db.insert(10, "'orders'", message_group).await;
    endpoint
        .answer_always(|request| if is_deadly(request) { Answer::Hang } else { Answer::Accept });
    let on_the_wire = || endpoint.requests().iter().filter(|request| is_deadly(request)).count();
    let mut n_killed = 0;
    loop {
        let relay = start(&db, &endpoint);
        let is_dead = async || match () {
            () if on_the_wire() > n_killed => Some(false),
            () if db.status(ids[3]).await == "dead" => Some(true),
            () => None,
        };
        if eventually("the deadly message to be sent, or dead", is_dead).await {
            let through = async || (db.count("dispatched").await == 9).then_some(());
            eventually("the other nine", through).await;
            break;
        }
        relay.kill().await;
        n_killed += 1;
        assert!(n_killed <= 6, "killed once too often");
        db.expire_leases().await;
    }
    let reason = "SELECT dead_reason || ' ' || last_error_code FROM outbox.dead_letter";
    assert_eq!(db.value::<String>(reason).await, "attempts_exhausted no_outcome");
    let mut seen = HashSet::new();
    let accepted = endpoint.accepted().into_iter();
    accepted.filter(|entry| seen.insert(entry.message_id().to_owned())).collect()
}

fn in_order_but_the_deadly() -> Vec<String> {
    (1..=10).filter(|n| *n != 4).map(|n| format!("{{\"n\": {n}}}")).collect()
}

fn bodies(accepted: Vec<Received>) -> Vec<String> {
    accepted.into_iter().map(|entry| entry.body).collect()
}

#[tokio::test]
async fn a_message_that_kills_its_processes_is_dead_at_the_cap_and_its_neighbours_go_out() {
    let mut sent = bodies(until_it_is_dead("NULL").await);
    sent.sort_unstable();
    let mut all = in_order_but_the_deadly();
    all.sort_unstable();
    assert_eq!(sent, all);
}

#[tokio::test]
async fn a_message_that_kills_its_processes_in_the_middle_of_a_group_is_dead_at_the_cap() {
    assert_eq!(bodies(until_it_is_dead("'g'").await), in_order_but_the_deadly());
}

/// The fourth message is the first of its group.
#[tokio::test]
async fn a_message_that_kills_its_processes_at_the_head_of_a_group_is_dead_at_the_cap() {
    let sent = until_it_is_dead("CASE WHEN i < 4 THEN 'g' ELSE 'h' END").await;
    for group in ["g", "h"] {
        let of_group = sent.iter().filter(|entry| entry.group_id.as_deref() == Some(group));
        let of_group: Vec<_> = of_group.map(|entry| entry.body.clone()).collect();
        let range = if group == "g" { 0..3 } else { 3..9 };
        assert_eq!(of_group, in_order_but_the_deadly()[range]);
    }
}

//! Who does what in the middle of a group: claims of one relay beside another's, locks, an operator's redrive.

use std::time::{Duration, Instant};

use outbox::{DeadReason, Mark, RunPolicy};
use outbox_store::{Claim, Marks, Redrive, Selection, Store};
use outbox_tests::endpoint::{Answer, Endpoint, Gate};
use outbox_tests::{Database, destinations, queue_at, relay};
use tokio_util::sync::CancellationToken;

use crate::claim::{claim, claim_of, ids, quota};

fn dead(holds_group: bool) -> Mark {
    let (code, detail) = ("Code".to_owned(), String::new());
    Mark::Dead { reason: DeadReason::Refused, code, detail, holds_group }
}

async fn mark(store: &Store, claim: &Claim, marks: impl IntoIterator<Item = (i64, Mark)>) {
    let mut all = Marks::default();
    all.extend(marks);
    store.mark(claim.token, &all).await.unwrap();
}

async fn redrive(store: &Store, id: i64) {
    let selection = Selection { ids: Some(vec![id]), ..Selection::default() };
    let redrive = Redrive {
        selection,
        actor: "test".to_owned(),
        reason: "fixed".to_owned(),
        rate: None,
        new_dedup_id: false,
    };
    assert_eq!(store.redrive(&redrive).await.unwrap().n_messages, 1);
}

/// Case R27, held.
#[tokio::test]
async fn a_dead_message_that_holds_its_group_holds_no_other_until_it_is_redriven() {
    let db = Database::fresh().await;
    let store = db.store();
    let group = db.insert(3, "'orders'", "'g'").await;
    let first = claim_of(&store, &[quota("orders", 1)]).await;
    mark(&store, &first, [(group[0], dead(true))]).await;
    let others = db.insert(2, "'orders'", "'g' || i").await;
    let namesake = db.insert(1, "'events'", "'g'").await;

    let claimed = ids(&claim(&store, &[quota("orders", 9), quota("events", 9)]).await);
    assert_eq!(claimed, [others, namesake].concat());
    redrive(&store, group[0]).await;
    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), group);
}

/// Case R27, continued: the redriven message goes out beside its followers in flight, and what is behind those waits for it.
#[tokio::test]
async fn a_message_redriven_while_its_followers_are_in_flight_goes_before_all_that_are_not() {
    let db = Database::fresh().await;
    let store = db.store();
    let group = db.insert(5, "'orders'", "'g'").await;
    let first = claim_of(&store, &[quota("orders", 1)]).await;
    mark(&store, &first, [(group[0], dead(false))]).await;
    let followers = claim_of(&store, &[quota("orders", 2)]).await;
    assert_eq!(ids(&followers.messages), group[1..3]);

    redrive(&store, group[0]).await;
    let redriven = claim_of(&store, &[quota("orders", 9)]).await;
    assert_eq!(ids(&redriven.messages), group[..1]);
    let dispatched = Mark::Dispatched { broker_message_id: "b".to_owned() };
    mark(&store, &followers, group[1..3].iter().map(|id| (*id, dispatched.clone()))).await;
    assert!(claim(&store, &[quota("orders", 9)]).await.is_empty(), "the head is leased");
    mark(&store, &redriven, [(group[0], dispatched)]).await;
    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), group[3..]);
}

/// Leases that run out one by one, as those of several claims do.
#[tokio::test]
async fn a_lease_that_ran_out_behind_one_that_holds_frees_nothing() {
    let db = Database::fresh().await;
    let store = db.store();
    let group = db.insert(4, "'orders'", "'g'").await;
    assert_eq!(claim(&store, &[quota("orders", 3)]).await.len(), 3);
    let expire = async |id: i64| {
        let lease = "locked_until = now() - interval '1 second'";
        db.run(&format!("UPDATE outbox.message SET {lease} WHERE id = {id}")).await;
    };
    expire(group[1]).await;
    assert!(claim(&store, &[quota("orders", 9)]).await.is_empty());
    expire(group[0]).await;
    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), group[..2]);
}

/// The session may be that of another relay's claim, of a mark or of a person.
#[tokio::test]
async fn a_row_that_a_session_has_locked_within_a_group_ends_what_is_claimed_of_it() {
    let db = Database::fresh().await;
    let store = db.store();
    let group = db.insert(4, "'orders'", "'g'").await;
    let mut other = db.connect().await;
    let held = other.transaction().await.unwrap();
    held.query("SELECT FROM outbox.message WHERE id = $1 FOR UPDATE", &[&group[2]]).await.unwrap();

    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), group[..2]);
    held.rollback().await.unwrap();
    assert!(claim(&store, &[quota("orders", 9)]).await.is_empty());
}

/// The deadline comes while the fourth message is on its way, accepted and not answered: those behind it are handed back, and
/// must not overtake it.
#[tokio::test]
async fn what_a_run_hands_back_at_its_deadline_stays_behind_what_it_had_sent() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    db.insert(12, "'orders'", "'g'").await;
    let unanswered = Answer::Accept.behind(&Gate::closed());
    endpoint.answer_next([Answer::Accept, Answer::Accept, Answer::Accept, unanswered]);
    let margin = Duration::from_secs(2);
    let policy = RunPolicy { deadline_margin: margin, ..RunPolicy::default() };
    let to = || destinations([queue_at("orders", &endpoint.queue_url("orders.fifo"))]);
    let [first, other] = [(); 2].map(|()| relay(&db, &endpoint.sdk_config(), to(), policy.clone()));
    let stop = CancellationToken::new();
    let deadline = Instant::now() + 2 * margin;
    let meanwhile = async {
        endpoint.calls_reached(4).await;
        other.run(None, &stop).await.unwrap()
    };
    let (ended, beside) = tokio::join!(first.run(Some(deadline), &stop), meanwhile);
    let ended = ended.unwrap();
    assert_eq!((ended.dispatched, ended.retried, ended.released), (3, 1, 8));
    assert_eq!(beside.claimed, 0);

    let report = other.run(None, &stop).await.unwrap();
    assert_eq!(report.claimed, 0, "the fourth waits for its retry, and all others for the fourth");
    db.everything_is_due().await;
    assert_eq!(other.run(None, &stop).await.unwrap().dispatched, 9);
    let mut bodies = endpoint.bodies();
    assert_eq!(bodies.remove(4), r#"{"n": 4}"#, "the only copy");
    assert_eq!(bodies, (1..=12).map(|n| format!("{{\"n\": {n}}}")).collect::<Vec<_>>());
}

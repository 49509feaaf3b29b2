//! Everything at once: relays that are killed and restarted, beside a destination that fails in every way it knows.
//!
//! Each run has a seed of its own, which it prints; `CHAOS_SEED` repeats one. Kills follow the count of messages, not the
//! clock, and only the leases of killed relays run out: those of the living hold.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;

use fastrand::Rng;
use outbox_tests::endpoint::{Answer, Endpoint, Gate, Received, Request};
use outbox_tests::{Database, Process, eventually};

use crate::function::set_up;

const GROUPS: usize = 100;
const OF_EACH: usize = 50;
const RELAYS: usize = 3;
const KILLS: usize = 10;

/// Messages that are dispatched between one kill and the next.
const TO_A_KILL: usize = GROUPS * OF_EACH / (KILLS + 1);

/// `outbox relay`, which goes on until it is killed.
fn start(db: &Database, endpoint: &Endpoint) -> Process {
    let mut command = set_up("outbox", &db.url(), endpoint);
    command.arg("relay").envs([
        ("OUTBOX_BATCH_SIZE", "200"),
        ("OUTBOX_LEASE_SECONDS", "10"),
        ("OUTBOX_BACKOFF_BASE_MS", "5"),
        ("OUTBOX_BACKOFF_MAX_MS", "50"),
        ("OUTBOX_POLL_MS", "50"),
        // Lost claims count as attempts; the cap is another test's subject.
        ("OUTBOX_MAX_ATTEMPTS", "100"),
    ]);
    Process::start(command)
}

/// A destination that mostly works.
fn answers(seed: u64) -> impl Fn(&Request) -> Answer + Send + Sync {
    let random = Mutex::new((Rng::with_seed(seed), 0));
    move |request| {
        let (rng, n_unanswered) = &mut *random.lock().unwrap();
        let answer = match rng.u32(..100) {
            0..10 => {
                let failing = request.ids().into_iter().filter(|_| rng.bool());
                let failing: Vec<&str> = failing.collect();
                Answer::fail(failing, ["InternalError", "ServiceUnavailable"][rng.usize(..2)])
            }
            10..14 => Answer::Drop,
            14..16 => Answer::error(500, "InternalFailure", "for now"),
            16..18 => Answer::error(403, "RequestThrottled", "too fast"),
            18..20 => Answer::error(400, "QueueDoesNotExist", "for now"),
            20 => Answer::raw(502, "<html>bad gateway</html>"),
            // It is accepted, and the relay waits for its time-out.
            21 if *n_unanswered < 1 && request.number < 200 => {
                *n_unanswered += 1;
                Answer::Accept.behind(&Gate::closed())
            }
            _ => Answer::Accept,
        };
        answer.after(Duration::from_millis(rng.u64(..20)))
    }
}

/// Lets the leases of dead relays run out, and the pause of a destination that was left alone.
async fn expire(db: &Database, killed: &[i32]) {
    let claimers = killed.iter().map(|id| format!("'%/{id}'")).collect::<Vec<_>>().join(", ");
    db.run(&format!(
        "UPDATE outbox.message SET locked_until = now() - interval '1 second'
         WHERE locked_until > now() AND dispatched_at IS NULL AND claimed_by LIKE ANY (ARRAY[{claimers}]::text[]);
         UPDATE outbox.destination SET probe_at = now() WHERE probe_at > now() AND probe_token IS NULL"
    ))
    .await;
}

/// Message id, group and body of all messages, in order of their ids.
async fn enqueued(db: &Database) -> Vec<(String, String, String)> {
    let sql = "SELECT message_id::text, message_group, payload FROM outbox.message ORDER BY id";
    let rows = db.client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

/// The first delivery of each message in order, by group. Copies say the same.
fn first_deliveries(accepted: &[Received]) -> HashMap<&str, Vec<(&str, &str)>> {
    let mut bodies = HashMap::new();
    let mut first: HashMap<&str, Vec<(&str, &str)>> = HashMap::new();
    for entry in accepted {
        let (id, group) = (entry.message_id(), entry.group_id.as_deref().unwrap());
        let content = (group, entry.body.as_str(), entry.deduplication_id.as_deref());
        match bodies.insert(id, content) {
            None => first.entry(group).or_default().push((id, &entry.body)),
            Some(before) => assert_eq!(before, content, "a copy differs"),
        }
    }
    first
}

#[tokio::test]
async fn killed_relays_and_a_failing_destination_lose_nothing_and_keep_every_groups_order() {
    let seed =
        std::env::var("CHAOS_SEED").map_or_else(|_| fastrand::u64(..), |s| s.parse().unwrap());
    let _ = writeln!(std::io::stdout(), "CHAOS_SEED={seed}");
    let mut rng = Rng::with_seed(seed);
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    endpoint.answer_always(answers(seed));
    let n_messages = i64::try_from(GROUPS * OF_EACH).unwrap();
    db.insert(n_messages, "'orders'", &format!("'g' || i % {GROUPS}")).await;

    let mut relays: Vec<Process> = (0..RELAYS).map(|_| start(&db, &endpoint)).collect();
    let mut killed = Vec::new();
    for n_kills in 1..=KILLS {
        let dispatched = i64::try_from(n_kills * TO_A_KILL).unwrap();
        let reached = async || (db.count("dispatched").await >= dispatched).then_some(());
        eventually("the next kill", reached).await;
        let victim = &mut relays[rng.usize(..RELAYS)];
        victim.kill().await;
        killed.push(victim.id());
        *victim = start(&db, &endpoint);
        expire(&db, &killed).await;
    }
    // The server may still carry out what a dead relay had asked for.
    let all = async || {
        expire(&db, &killed).await;
        (db.count("dispatched").await == n_messages).then_some(())
    };
    eventually("all to be dispatched", all).await;

    assert_eq!(db.count("dead").await, 0);
    let accepted = endpoint.accepted();
    let deliveries = first_deliveries(&accepted);
    let enqueued = enqueued(&db).await;
    assert_eq!(enqueued.len(), GROUPS * OF_EACH);
    for group in enqueued.iter().map(|(_, group, _)| group.as_str()).collect::<HashSet<_>>() {
        let of_group = enqueued.iter().filter(|(_, of, _)| of == group);
        let in_order: Vec<_> = of_group.map(|(id, _, body)| (id.as_str(), body.as_str())).collect();
        assert_eq!(deliveries[group], in_order, "seed {seed}, group {group}");
    }
    assert!(accepted.len() > GROUPS * OF_EACH, "no copy: no claim was lost and no answer");
}

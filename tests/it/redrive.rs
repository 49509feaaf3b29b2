//! Redrive: back to pending, everything reset that must be, and written down.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::time::Duration;

use outbox::{NewMessage, RunPolicy};
use outbox_store::{Discard, Redrive, Selection};
use outbox_tests::endpoint::{Answer, Endpoint};
use outbox_tests::{Database, destinations, queue_at, relay};
use tokio_util::sync::CancellationToken;

use crate::claim::{claim, ids, quota};

pub(crate) fn redrive(selection: Selection) -> Redrive {
    Redrive {
        selection,
        actor: "ops@example.com".into(),
        reason: "the queue is back".into(),
        ..Redrive::default()
    }
}

pub(crate) fn of(destination: &str) -> Selection {
    Selection { destination: Some(destination.into()), ..Selection::default() }
}

pub(crate) fn with_ids(ids: &[i64]) -> Selection {
    Selection { ids: Some(ids.to_vec()), ..Selection::default() }
}

/// Dead messages; the group is an expression of SQL over `i`.
pub(crate) async fn dead_of(
    db: &Database,
    n: i64,
    destination: &str,
    message_group: &str,
    code: &str,
) -> Vec<i64> {
    let ids = db.insert(n, &format!("'{destination}'"), message_group).await;
    let sql = format!(
        "UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused', attempts = 10, lost_claims = 2,
                last_error_code = '{code}', last_error = 'no', claimed_by = 'a relay', claim_token = gen_random_uuid(),
                locked_until = now() + interval '1 minute', first_failed_at = now(),
                available_at = now() + interval '1 hour'
         WHERE id BETWEEN {} AND {}",
        ids[0],
        ids[ids.len() - 1]
    );
    db.run(&sql).await;
    ids
}

pub(crate) async fn dead(db: &Database, n: i64, destination: &str, code: &str) -> Vec<i64> {
    dead_of(db, n, destination, "NULL", code).await
}

/// Case R12: everything that a claim or a mark wrote is as on the first day, and nothing that the producer wrote has
/// changed; the next run delivers it.
#[tokio::test]
async fn a_redriven_message_starts_anew_and_keeps_its_identity() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let of = dead_of(&db, 1, "orders", "'customer-7'", "x").await;
    let kept = "SELECT to_jsonb(m) - ARRAY['available_at', 'first_failed_at', 'last_error_code', 'last_error', 'attempts',
                       'lost_claims', 'locked_until', 'claim_token', 'claimed_by', 'dead_at', 'dead_reason', 'holds_group']
                FROM outbox.message AS m";
    let before: serde_json::Value = db.value(kept).await;

    let store = db.store();
    assert_eq!(store.redrive(&redrive(with_ids(&of))).await.unwrap().n_messages, 1);
    let again = store.redrive(&redrive(with_ids(&of))).await.unwrap();
    assert_eq!((again.n_messages, again.n_skipped), (0, Some(0)), "it is dead no more");

    let anew = "SELECT format('%s|%s|%s|%s', attempts, lost_claims, available_at <= now(),
                              num_nonnulls(first_failed_at, last_error_code, last_error, locked_until, claim_token,
                                           claimed_by, dead_at, dead_reason)) FROM outbox.message";
    assert_eq!(db.value::<String>(anew).await, "0|0|t|0");
    assert_eq!(db.value::<serde_json::Value>(kept).await, before);

    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    assert_eq!(relay.run(None, &CancellationToken::new()).await.unwrap().dispatched, 1);
    assert_eq!(endpoint.accepted()[0].message_id(), before["message_id"].as_str().unwrap());
}

#[tokio::test]
async fn a_redrive_takes_what_matches_every_part_of_its_selection_and_only_dead_messages() {
    let db = Database::fresh().await;
    let store = db.store();
    let orders = dead(&db, 2, "orders", "too_large").await;
    dead(&db, 1, "orders", "no_route").await;
    dead(&db, 1, "events", "too_large").await;
    let pending = db.pending(1).await;
    let selected = Selection {
        code: Some("too_large".into()),
        ids: Some(vec![orders[0], orders[1], orders[1] + 1, pending[0]]),
        ..of("orders")
    };
    assert_eq!(store.redrive(&redrive(selected)).await.unwrap().n_messages, 2);
    let everything_else = store.redrive(&redrive(Selection::default())).await.unwrap();
    assert_eq!(everything_else.n_messages, 2);
    assert_eq!(db.count("dead").await, 0);
}

#[tokio::test]
async fn a_redrive_selects_by_group_and_by_age() {
    let db = Database::fresh().await;
    let store = db.store();
    let ids = dead_of(&db, 6, "orders", "CASE WHEN i <= 3 THEN 'g' ELSE 'h' END", "x").await;
    db.run("UPDATE outbox.message SET dead_at = now() - id % 3 * interval '1 hour' - interval '30 minutes'").await;
    let age = |hours: u64| Some(Duration::from_hours(hours));
    let group = |group: &str| Some(group.to_owned());
    for (selection, n_messages) in [
        (Selection { dead_before: age(3), ..Selection::default() }, 0_i64),
        (Selection { dead_before: age(2), message_group: group("g"), ..Selection::default() }, 1),
        (Selection { dead_before: age(1), dead_after: age(2), ..Selection::default() }, 2),
        (Selection { dead_after: age(1), ..of("orders") }, 2),
        (Selection { dead_after: age(9), message_group: group("g"), ..with_ids(&ids) }, 0),
        (Selection { message_group: group("h"), ..Selection::default() }, 1),
    ] {
        let matched = store.dead_summary(&selection).await.unwrap();
        assert_eq!(matched.iter().map(|count| count.messages).sum::<i64>(), n_messages);
        let done = store.redrive(&redrive(selection.clone())).await.unwrap();
        assert_eq!(done.n_messages, n_messages.unsigned_abs(), "{selection:?}");
    }
}

#[tokio::test]
async fn the_dead_are_counted_by_destination_and_code_and_nothing_is_changed() {
    let db = Database::fresh().await;
    dead(&db, 3, "orders", "too_large").await;
    dead(&db, 2, "orders", "no_route").await;
    dead(&db, 1, "events", "no_route").await;
    db.run("UPDATE outbox.message SET dead_at = dead_at - interval '2 hours' WHERE id = 1").await;
    db.run("UPDATE outbox.message SET last_error_code = NULL WHERE destination = 'events'").await;
    let counts = db.store().dead_summary(&Selection::default()).await.unwrap();
    let shown: Vec<_> = counts
        .iter()
        .map(|count| (count.destination.as_str(), count.code.as_deref(), count.messages))
        .collect();
    let expected =
        [("events", None, 1), ("orders", Some("no_route"), 2), ("orders", Some("too_large"), 3)];
    assert_eq!(shown, expected);
    assert!((7_200.0..7_230.0).contains(&counts[2].oldest_dead_seconds), "{counts:?}");
    assert_eq!(db.count("dead").await, 6);
    assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.audit").await, 0);
}

/// One of the rows is taken by another session in the middle of its own business: nobody waits for it, and it is told.
#[tokio::test]
async fn a_message_whose_row_somebody_else_holds_is_skipped_and_told() {
    let db = Database::fresh().await;
    let ids = dead(&db, 3, "orders", "x").await;
    let mut other = db.connect().await;
    let lock = Database::hold(&mut other, ids[1]).await;
    let store = db.store();
    let done = store.redrive(&redrive(of("orders"))).await.unwrap();
    assert_eq!((done.n_messages, done.n_skipped), (2, Some(1)));
    assert_eq!(db.status(ids[1]).await, "dead");
    lock.rollback().await.unwrap();
    let done = store.redrive(&redrive(of("orders"))).await.unwrap();
    assert_eq!((done.n_messages, done.n_skipped), (1, Some(0)));
}

/// More than one batch, so that the two meet in the middle of it.
#[tokio::test]
async fn of_two_operators_who_redrive_the_same_each_message_is_redriven_by_one() {
    let db = Database::fresh().await;
    dead(&db, 12_000, "orders", "x").await;
    let (one, two) = (db.store(), db.store());
    let redrive = redrive(of("orders"));
    let (one, two) = tokio::join!(one.redrive(&redrive), two.redrive(&redrive));
    assert_eq!(one.unwrap().n_messages + two.unwrap().n_messages, 12_000);
    assert_eq!(db.count("pending").await, 12_000);
    let written = "SELECT sum(n_messages)::bigint FROM outbox.audit";
    assert_eq!(db.value::<i64>(written).await, 12_000);
}

#[tokio::test]
async fn of_a_redrive_and_a_discard_of_the_same_each_message_has_one_fate() {
    let db = Database::fresh().await;
    dead(&db, 12_000, "orders", "x").await;
    let (one, two) = (db.store(), db.store());
    let redrive = redrive(of("orders"));
    let discard = Discard { selection: of("orders"), actor: "ops".into(), reason: "void".into() };
    let (redriven, discarded) = tokio::join!(one.redrive(&redrive), two.discard(&discard));
    let (redriven, discarded) = (redriven.unwrap().n_messages, discarded.unwrap().n_messages);
    assert_eq!(redriven + discarded, 12_000);
    assert_eq!(db.count("pending").await.unsigned_abs(), redriven);
    assert_eq!(db.count("dead").await, 0);
}

/// What is redriven dies again at once, and again; the operation takes each message once all the same.
#[tokio::test]
async fn a_redrive_while_the_relay_runs_ends_and_takes_nothing_twice() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    endpoint.answer_always(|request| Answer::fail(request.ids(), "InvalidMessageContents"));
    dead(&db, 6_000, "orders", "x").await;
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    let policy = RunPolicy { linger: Duration::from_mins(1), ..RunPolicy::default() };
    let relay = relay(&db, &endpoint.sdk_config(), to, policy);
    let (store, redrive) = (db.store(), redrive(of("orders")));
    let stop = CancellationToken::new();
    let operator = async {
        let done = store.redrive(&redrive).await.unwrap();
        let died_again = async || (db.count("dead").await == 6_000).then_some(());
        outbox_tests::eventually("the second death of all", died_again).await;
        stop.cancel();
        done
    };
    let (report, done) = tokio::join!(relay.run(None, &stop), operator);
    assert_eq!((done.n_messages, done.n_skipped), (6_000, Some(0)));
    assert_eq!(report.unwrap().dead, 6_000);
}

/// Case R12, in bulk: 50 a second of each destination, over the border of two batches, in order of id.
#[tokio::test]
async fn at_a_rate_messages_fall_due_evenly_in_order_and_per_destination() {
    let db = Database::fresh().await;
    dead(&db, 5_010, "orders", "x").await;
    dead(&db, 3, "events", "x").await;
    let redrive = Redrive { rate: NonZeroU32::new(50), ..redrive(Selection::default()) };
    let done = db.store().redrive(&redrive).await.unwrap();
    assert_eq!(done.n_messages, 5_013);
    let steps = "SELECT count(*) FROM (
            SELECT available_at - lag(available_at) OVER (PARTITION BY destination ORDER BY id) AS step
            FROM outbox.message
        ) AS each WHERE step <> interval '20 milliseconds'";
    assert_eq!(db.value::<i64>(steps).await, 0);
    let lasts = "SELECT string_agg(last::text, ' ') FROM (
            SELECT max(available_at) - min(available_at) AS last FROM outbox.message GROUP BY destination ORDER BY destination
        ) AS each";
    assert_eq!(db.value::<String>(lasts).await, "00:00:00.04 00:01:40.18");
    let first =
        "SELECT count(DISTINCT available_at) FROM outbox.message WHERE available_at <= now()
                 AND id IN (SELECT min(id) FROM outbox.message GROUP BY destination)";
    assert_eq!(db.value::<i64>(first).await, 1, "both begin at once");
}

/// The rows' times differ, and still none overtakes another: the group waits for its head's time.
#[tokio::test]
async fn at_a_rate_a_group_keeps_its_order_and_new_messages_wait_behind() {
    let db = Database::fresh().await;
    let store = db.store();
    let mut group = dead_of(&db, 3, "orders", "'g'", "x").await;
    let redrive = Redrive { rate: NonZeroU32::new(1), ..redrive(Selection::default()) };
    store.redrive(&redrive).await.unwrap();
    group.extend(db.insert(1, "'orders'", "'g'").await);
    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), group[..1]);
    assert!(claim(&store, &[quota("orders", 9)]).await.is_empty());
    db.expire_leases().await;
    db.everything_is_due().await;
    assert_eq!(ids(&claim(&store, &[quota("orders", 9)]).await), group);
}

/// A thousand of yesterday's messages stand in line, and today's go out beside them.
#[tokio::test]
async fn redriven_messages_take_turns_with_new_ones() {
    let db = Database::fresh().await;
    let store = db.store();
    let dead = dead(&db, 1_000, "orders", "x").await;
    store.redrive(&redrive(of("orders"))).await.unwrap();
    let new = db.pending(20).await;
    let claimed = ids(&claim(&store, &[quota("orders", 10)]).await);
    assert_eq!(claimed, [&dead[..5], &new[..5]].concat());
}

#[tokio::test]
async fn a_fresh_message_id_is_given_only_when_asked_for_and_the_audit_keeps_the_old_one() {
    let db = Database::fresh().await;
    let ids = dead(&db, 2, "orders", "x").await;
    let message_id = async |id: i64| -> String {
        db.value(&format!("SELECT message_id::text FROM outbox.message WHERE id = {id}")).await
    };
    let old = message_id(ids[0]).await;
    let as_admin = db.store_as(&db.url_as("outbox_admin").await);
    let fresh = Redrive { new_dedup_id: true, ..redrive(with_ids(&ids[..1])) };
    assert_eq!(as_admin.redrive(&fresh).await.unwrap().n_messages, 1);
    let new = message_id(ids[0]).await;
    assert_ne!(new, old);
    let details: serde_json::Value = db.value("SELECT details FROM outbox.audit").await;
    let key = ids[0].to_string();
    assert_eq!(details, serde_json::json!({ key: { "old": old, "new": new } }));

    let old = message_id(ids[1]).await;
    as_admin.redrive(&redrive(with_ids(&ids[1..]))).await.unwrap();
    assert_eq!(message_id(ids[1]).await, old);
}

/// Each batch is written down in its own transaction, so that what the audit says is true whenever the operation ends.
#[tokio::test]
async fn a_redrive_is_written_down_with_who_and_why_batch_by_batch() {
    let db = Database::fresh().await;
    dead(&db, 5_003, "orders", "x").await;
    let done = db.store().redrive(&redrive(of("orders"))).await.unwrap();
    let audit = "SELECT string_agg(format('%s|%s|%s|%s|%s', actor, action, selection - 'operation', n_messages, reason),
                                   E'\\n' ORDER BY id) FROM outbox.audit";
    let expected = |n_messages| {
        format!(
            r#"ops@example.com|redrive|{{"destination": "orders"}}|{n_messages}|the queue is back"#
        )
    };
    assert_eq!(db.value::<String>(audit).await, [expected(5_000), expected(3)].join("\n"));
    let operation = "SELECT DISTINCT selection ->> 'operation' FROM outbox.audit";
    assert_eq!(db.value::<String>(operation).await, done.operation.to_string());

    db.store().redrive(&redrive(of("orders"))).await.unwrap();
    assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.audit").await, 2, "nothing, no row");
}

/// The database refuses the second batch: the first one stays redriven and written down, and the error tells how far it
/// came; the same redrive then takes the rest.
#[tokio::test]
async fn an_interrupted_redrive_keeps_what_it_did_and_goes_on_when_asked_again() {
    let db = Database::fresh().await;
    let ids = dead(&db, 5_100, "orders", "x").await;
    db.refuse(&format!("NEW.id = {}", ids[5_050]), "53100").await;
    let store = db.store();
    let interrupted = store.redrive(&redrive(of("orders"))).await.unwrap_err();
    assert_eq!((interrupted.n_messages, interrupted.source.code()), (5_000, "53100"));
    assert_eq!(db.count("pending").await, 5_000);
    let written = "SELECT sum(n_messages)::bigint FROM outbox.audit";
    assert_eq!(db.value::<i64>(written).await, 5_000);

    db.refuse_nothing().await;
    assert_eq!(store.redrive(&redrive(of("orders"))).await.unwrap().n_messages, 100);
    assert_eq!(db.value::<i64>(written).await, 5_100);
}

/// Case R11: everything that a person needs is in one view, of a message that died on its way.
#[tokio::test]
async fn a_dead_letter_carries_its_context() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let message = NewMessage::new("orders", "order.placed.v1", r#"{"id":42}"#)
        .with_message_id(uuid::Uuid::from_u128(42))
        .in_group("customer-7");
    db.enqueue([message]).await;
    endpoint.answer_always(|_| Answer::fail(["0"], "InvalidMessageContents"));
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    assert_eq!(relay.run(None, &CancellationToken::new()).await.unwrap().dead, 1);

    let columns = "SELECT array_agg(attname::text) FROM pg_attribute
                   WHERE attrelid = 'outbox.dead_letter'::regclass AND attnum > 0";
    let columns: BTreeSet<String> = db.value::<Vec<String>>(columns).await.into_iter().collect();
    let all = "SELECT array_agg(attname::text) FROM pg_attribute
               WHERE attrelid = 'outbox.message'::regclass AND attnum > 0";
    let all: BTreeSet<String> = db.value::<Vec<String>>(all).await.into_iter().collect();
    let left_out = [
        "available_at",
        "broker_message_id",
        "claim_token",
        "claimed_by",
        "dispatched_at",
        "locked_until",
        "lost_claims",
        "tracestate",
    ];
    assert_eq!(all.difference(&columns).collect::<Vec<_>>(), left_out, "of no use to a person");

    let shown = "SELECT format('%s|%s|%s|%s|%s|%s|%s|%s|%s', message_id, destination, message_type, message_group,
                               attempts, dead_reason, last_error_code, payload, dead_at = first_failed_at)
                 FROM outbox.dead_letter";
    assert_eq!(
        db.value::<String>(shown).await,
        r#"00000000-0000-0000-0000-00000000002a|orders|order.placed.v1|customer-7|1|refused|InvalidMessageContents|{"id":42}|t"#
    );
    let text: i32 = db.value("SELECT octet_length(last_error) FROM outbox.dead_letter").await;
    assert!((1..=4_096).contains(&text), "{text} bytes");
}

/// Case P26: ids over 32 bits on every way that a message can go.
#[tokio::test]
async fn ids_beyond_32_bits_are_dispatched_dead_redriven_discarded_and_purged() {
    let db = Database::fresh().await;
    let endpoint = Endpoint::start();
    let store = db.store();
    db.run("ALTER TABLE outbox.message ALTER COLUMN id RESTART WITH 2147483640").await;
    let all = db.insert(20, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i END").await;
    assert!(all[0] < i64::from(i32::MAX) && all[19] > i64::from(i32::MAX));
    endpoint.answer_next([
        Answer::fail(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"], "InvalidMessageContents"),
        Answer::fail(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"], "InvalidMessageContents"),
    ]);
    let to = destinations([queue_at("orders", &endpoint.queue_url("orders"))]);
    let relay = relay(&db, &endpoint.sdk_config(), to, RunPolicy::default());
    let run = async || relay.run(None, &CancellationToken::new()).await.unwrap();
    assert_eq!(run().await.dead, 20);

    let discard =
        Discard { selection: with_ids(&all[18..]), actor: "ops".into(), reason: "void".into() };
    assert_eq!(store.discard(&discard).await.unwrap().n_messages, 2);
    let by_id = Redrive { rate: NonZeroU32::new(10_000), ..redrive(with_ids(&all[..9])) };
    assert_eq!(store.redrive(&by_id).await.unwrap().n_messages, 9);
    assert_eq!(store.redrive(&redrive(of("orders"))).await.unwrap().n_messages, 9);
    db.everything_is_due().await;
    assert_eq!(run().await.dispatched, 18);
    assert_eq!(store.purge(Duration::ZERO, 100).await.unwrap(), 18);
}

#[tokio::test]
async fn the_backlog_counts_each_message_once() {
    let db = Database::fresh().await;
    let store = db.store();
    assert!(store.backlog().await.unwrap().is_empty());
    dead(&db, 2, "orders", "x").await;
    db.pending(6).await;
    claim(&store, &[quota("orders", 1)]).await;
    let ids = db.pending(3).await;
    db.run(&format!(
        "UPDATE outbox.message SET available_at = now() + interval '1 day' WHERE id = {}",
        ids[0]
    ))
    .await;
    db.run(&format!(
        "UPDATE outbox.message SET created_at = now() - interval '2 days', available_at = now() - interval '1 day' WHERE id = {}",
        ids[1]
    ))
    .await;
    let backlog = store.backlog().await.unwrap();
    let [orders] = &backlog[..] else { panic!("{backlog:?}") };
    assert_eq!((orders.due, orders.scheduled, orders.claimed, orders.dead), (7, 1, 1, 2));
    assert!(orders.oldest_due_seconds >= 86_400.0);
}

/// What is skipped cannot be counted, because somebody locks the table behind the last batch: that batch is done all the same.
#[tokio::test]
async fn a_redrive_whose_skipped_messages_cannot_be_counted_is_done() {
    let db = Database::fresh().await;
    dead(&db, 3, "orders", "x").await;
    let (mut one, mut other) = (db.connect().await, db.connect().await);
    let audit = one.transaction().await.unwrap();
    audit.batch_execute("LOCK TABLE outbox.audit IN EXCLUSIVE MODE").await.unwrap();
    let table = other.transaction().await.unwrap();
    let store = db.store();
    let locks = async {
        db.lock_waits(1).await;
        let ask = table.batch_execute("LOCK TABLE outbox.message");
        let release = async {
            db.lock_waits(2).await;
            audit.rollback().await.unwrap();
        };
        let (asked, ()) = tokio::join!(ask, release);
        asked.unwrap();
    };
    let (done, ()) = tokio::join!(async { store.redrive(&redrive(of("orders"))).await }, locks);
    let done = done.unwrap();
    assert_eq!((done.n_messages, done.n_skipped), (3, None));
    table.rollback().await.unwrap();
    assert_eq!(db.count("pending").await, 3);
}

//! Plans and storage: a claim touches no index, and no statistics can lead a statement astray.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use outbox_store::{Store, queries};
use outbox_tests::Database;

use crate::claim::{claim, claim_of_both, quota};
use crate::statement;

mod blocked;

/// A message is written three times: inserted, claimed, marked. The second is a HOT update.
#[tokio::test]
async fn a_claim_is_a_hot_update_that_touches_no_index() {
    let db = Database::fresh().await;
    db.insert(2_000, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i END").await;
    // What a session did is told to others when it reports; a claim's own connection does so when it ends.
    let store = db.store();
    for _ in 0..4 {
        assert_eq!(claim_of_both(&store, 250).await.len(), 500);
    }
    drop(store);
    let hot_of_all = "SELECT n_tup_hot_upd || ' of ' || n_tup_upd FROM pg_stat_all_tables
                      WHERE relid = 'outbox.message'::regclass";
    let seen = outbox_tests::eventually("the statistics of 2000 updates", async || {
        let seen: String = db.value(hot_of_all).await;
        seen.ends_with("of 2000").then_some(seen)
    });
    assert_eq!(seen.await, "2000 of 2000");
}

/// The statistics of a drained outbox say that the table is empty. Both kinds of lie are told here: a table that was
/// empty when it was analysed, and one that kept its pages and lost its rows.
#[tokio::test]
async fn a_claim_right_after_a_burst_into_a_drained_table_is_as_quick_as_with_fresh_statistics() {
    let db = Database::fresh().await;
    let store = db.store();
    db.run("ALTER TABLE outbox.message SET (autovacuum_enabled = off)").await;
    db.run("VACUUM ANALYZE outbox.message").await;
    db.insert(10_000, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i % 4000 END").await;
    let on_empty_statistics = quickest_claim(&store).await;

    db.run("ANALYZE outbox.message").await;
    let on_fresh_statistics = quickest_claim(&store).await;

    db.run("UPDATE outbox.message SET dispatched_at = now()").await;
    db.run("VACUUM ANALYZE outbox.message").await;
    db.run("DELETE FROM outbox.message WHERE id % 100 <> 0").await;
    db.run("VACUUM ANALYZE outbox.message").await;
    db.insert(10_000, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i % 4000 END").await;
    let on_drained_statistics = quickest_claim(&store).await;

    let allowed = on_fresh_statistics * 20;
    assert!(
        on_empty_statistics < allowed,
        "{on_empty_statistics:?}, fresh {on_fresh_statistics:?}"
    );
    assert!(
        on_drained_statistics < allowed,
        "{on_drained_statistics:?}, fresh {on_fresh_statistics:?}"
    );
}

/// The quickest of three, so that a busy machine does not decide.
async fn quickest_claim(store: &Store) -> Duration {
    let mut quickest = Duration::MAX;
    for _ in 0..3 {
        let started = Instant::now();
        assert_eq!(claim_of_both(store, 250).await.len(), 500);
        quickest = quickest.min(started.elapsed());
    }
    quickest
}

const TOKEN: &str = "'6f1c9f0e-0b1f-4c55-9d59-0f6d1a2b3c4d'";

/// In microseconds since 1970, in the year 2100.
const NOW: &str = "4102444800000000";

/// Statements that the store runs in a guarded transaction, with arguments for each way of using them.
fn guarded() -> Vec<(&'static str, Vec<String>)> {
    let ids = "ARRAY[1, 2]";
    vec![
        ("claim", vec![format!("{TOKEN}, 'test', 1000, 0, 1, ARRAY['orders'], ARRAY[5]")]),
        (
            "claim_groups",
            vec![format!("{TOKEN}, 'test', 1000, 0, 1, ARRAY['orders'], ARRAY['g2'], ARRAY[5]")],
        ),
        ("groups", vec!["ARRAY['orders'], ARRAY[''], 100".to_owned()]),
        ("mark_dispatched", vec![format!("{TOKEN}, {ids}, ARRAY['a', 'b']")]),
        (
            "mark_retry",
            vec![format!(
                "{TOKEN}, {ids}, ARRAY[1, 2], ARRAY[true, false], ARRAY['a', 'b'], ARRAY['a', 'b']"
            )],
        ),
        (
            "mark_dead",
            vec![format!(
                "{TOKEN}, {ids}, ARRAY['refused', 'defect'], ARRAY['a', 'b'], ARRAY['a', 'b'], \
                 ARRAY[true, false]"
            )],
        ),
        ("release", vec![format!("{TOKEN}, {ids}")]),
        ("unlocked", vec![ids.to_owned()]),
        ("isolate", vec![format!("{TOKEN}, 1")]),
        ("due", vec![String::new()]),
        ("purge", vec!["1000, 10".to_owned()]),
        ("purge_preview", vec!["1000, 10".to_owned()]),
        ("purgeable", vec!["1000, 10, 1000000".to_owned()]),
        ("destination_status", vec!["300000".to_owned()]),
        ("knows_destination", vec!["'orders'".to_owned()]),
        ("purge_archived", vec![format!("1000, {ids}, ARRAY['7', '8']")]),
        ("next_dead", vec![format!("'orders', NULL, NULL, {NOW}, NULL, 'orders', 7, 100")]),
        ("dead_among", vec![format!("{ids}, 'orders', NULL, NULL, {NOW}, NULL")]),
        (
            "dead_summary",
            vec![
                format!("NULL, 'orders', NULL, NULL, {NOW}, NULL"),
                format!("{ids}, NULL, NULL, NULL, {NOW}, NULL"),
            ],
        ),
        ("redrive", vec![format!("{ids}, {NOW}, 10, 0, true, 'test', '{{}}', 'test'")]),
        ("discard", vec![format!("{ids}, {NOW}, 'test', '{{}}', 'test'")]),
        ("resume_group", vec!["'orders', 'g', 'test', 'test'".to_owned()]),
        (
            "list",
            vec![
                format!("'dispatched', {LIST_PARTS}, true, 9000000, 50, 2000"),
                format!("NULL, {LIST_PARTS}, false, 7, 50, 2000"),
            ],
        ),
        ("list_dead", both_ways("NULL")),
        ("list_unfinished", both_ways("'pending'")),
        ("show", vec!["7, NULL, false, false".to_owned(), format!("NULL, {TOKEN}, true, true")]),
        ("tail", vec![format!("7, {ids}, ARRAY['', 'dead'], 1000")]),
    ]
}

/// Destination, type, group, correlation id, code and times of a list.
const LIST_PARTS: &str = "'orders', NULL, NULL, 'order-42', NULL, 4102444800000, 0";

/// From one end of all destinations, and from somewhere of one.
fn both_ways(state: &str) -> Vec<String> {
    vec![
        format!("{state}, NULL, NULL, NULL, NULL, NULL, NULL, NULL, true, 9223372036854775807, 50"),
        format!("{state}, {LIST_PARTS}, false, 50100, 50"),
    ]
}

/// Statements for people, which are planned as the planner likes.
fn unguarded() -> Vec<(&'static str, Vec<String>)> {
    vec![
        ("backlog", vec![String::new()]),
        ("list_copies", vec![TOKEN.to_owned()]),
        ("enqueued_before", vec![format!("ARRAY[{TOKEN}::uuid], ARRAY['orders']")]),
    ]
}

/// Case P34: each statement goes through the indexes that its file names, and through nothing larger; the guarded ones
/// without statistics, too.
#[tokio::test]
async fn each_statement_uses_the_indexes_that_its_file_names() {
    let db = Database::fresh().await;
    db.run("ALTER TABLE outbox.message SET (autovacuum_enabled = off)").await;
    db.insert(50_000, "'orders'", "NULL").await;
    db.run("UPDATE outbox.message SET dispatched_at = now()").await;
    db.run("UPDATE outbox.message SET dispatched_at = NULL, dead_at = now(), dead_reason = 'refused' WHERE id % 50 = 0")
        .await;
    db.insert(200, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i END").await;
    db.run("UPDATE outbox.message SET available_at = now() WHERE id > 50000 AND id % 10 = 0").await;

    for (name, ways) in guarded() {
        uses_the_indexes_that_its_file_names(&db, name, &ways, true).await;
    }
    db.run("ANALYZE outbox.message").await;
    for (name, ways) in guarded() {
        uses_the_indexes_that_its_file_names(&db, name, &ways, true).await;
    }
    for (name, ways) in unguarded() {
        uses_the_indexes_that_its_file_names(&db, name, &ways, false).await;
    }
}

#[test]
fn every_statement_whose_file_names_indexes_is_explained_here() {
    let explained: Vec<_> =
        guarded().into_iter().chain(unguarded()).map(|(name, _)| name).collect();
    for query in queries::ALL {
        let names_any = !named_indexes(query.sql).is_empty();
        assert_eq!(names_any, explained.contains(&query.name), "{}", query.name);
    }
}

async fn uses_the_indexes_that_its_file_names(
    db: &Database,
    name: &str,
    ways: &[String],
    is_guarded: bool,
) {
    let session = db.connect().await;
    statement::prepare(&session, name).await;
    let query = queries::ALL.iter().find(|query| query.name == name).unwrap();
    let mut used = BTreeSet::new();
    for arguments in ways {
        let begin = if is_guarded { queries::BEGIN_GUARDED } else { "BEGIN" };
        session.batch_execute(begin).await.unwrap();
        let plan = statement::explain(&session, "COSTS OFF", name, arguments).await;
        session.batch_execute("COMMIT").await.unwrap();
        assert!(!plan.contains("Seq Scan on message"), "{name}:\n{plan}");
        // A walk for people says so in its file, and ends after as many rows as it is told.
        let may_walk = query.sql.contains("Walks it on purpose");
        let walks = if may_walk { walks_without_end(&plan) } else { walks_the_primary_key(&plan) };
        assert!(!walks, "{name}:\n{plan}");
        let indexes = indexes_in(&plan);
        assert!(!indexes.is_empty(), "{name} uses no index:\n{plan}");
        used.extend(indexes);
    }
    let named = named_indexes(query.sql);
    // "This, or that for ids": PostgreSQL 18 skips through an index where others take the second one.
    let is_as_named = if says_or(query.sql) { used.is_subset(&named) } else { used == named };
    assert!(is_as_named, "{name} uses {used:?} and names {named:?}");
}

/// Whether the plan reads the primary key's index otherwise than by given ids.
fn walks_the_primary_key(plan: &str) -> bool {
    let scans = plan.lines().filter(|line| line.contains("message_pkey")).count();
    let probes = plan.lines().filter(|line| line.contains("Index Cond: (id = ")).count();
    scans > probes
}

/// Whether the plan reads the primary key's index otherwise than by given ids, and not straight below a limit.
fn walks_without_end(plan: &str) -> bool {
    let lines: Vec<&str> = plan.lines().collect();
    let scans = (0..lines.len()).filter(|&n| lines[n].contains("message_pkey"));
    let mut walks = scans.filter(|&n| {
        let is_probe = lines.get(n + 1).is_some_and(|next| next.contains("Index Cond: (id = "));
        let is_limited = n > 0 && lines[n - 1].contains("Limit");
        !is_probe && !is_limited
    });
    walks.next().is_some()
}

/// The indexes that a file's header names.
fn named_indexes(sql: &str) -> BTreeSet<String> {
    indexes_in(&uses(sql))
}

fn says_or(sql: &str) -> bool {
    uses(sql).contains(" or ")
}

/// The sentence of a file's header that begins with "Uses".
fn uses(sql: &str) -> String {
    let header: Vec<_> = sql.lines().map_while(|line| line.strip_prefix("--")).collect();
    let header = header.join("");
    let sentence = header.split(" Uses ").nth(1).and_then(|uses| uses.split('.').next());
    sentence.unwrap_or_default().to_owned()
}

/// The indexes of the table of messages that a text names.
fn indexes_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let indexes = words.filter(|word| word.ends_with("_idx") || word.ends_with("_pkey"));
    indexes.filter(|word| word.starts_with("message_")).map(str::to_owned).collect()
}

/// A burst into a small table: there are no statistics, or none that know of the claim that holds it all. Marks that
/// walked the table for each outcome would take the square of their number: 20 s for 10,000, over the time-out.
#[tokio::test]
async fn the_marks_of_a_burst_are_found_by_their_ids() {
    let db = Database::fresh().await;
    db.run("ALTER TABLE outbox.message SET (autovacuum_enabled = off)").await;
    db.insert(1_000, "'orders'", "NULL").await;
    assert_eq!(claim(&db.store(), &[quota("orders", 1_000)]).await.len(), 1_000);
    let ids = "SELECT quote_literal(array_agg(id ORDER BY id)) FROM outbox.message";
    let ids: String = db.value(ids).await;
    let each = |value: &str| format!("array_fill({value}, ARRAY[1000])");
    let text = each("'x'::text");
    let session = db.connect().await;
    for (name, columns) in [
        ("mark_dispatched", vec![text.clone()]),
        ("mark_retry", vec![each("1::bigint"), each("true"), text.clone(), text.clone()]),
        ("mark_dead", vec![text.clone(), text.clone(), text, each("false")]),
        ("release", vec![]),
    ] {
        let arguments = [vec![TOKEN.to_owned(), ids.clone()], columns].concat().join(", ");
        statement::prepare(&session, name).await;
        session.batch_execute(queries::BEGIN_GUARDED).await.unwrap();
        let plan = statement::explain(&session, "COSTS OFF", name, &arguments).await;
        session.batch_execute("COMMIT").await.unwrap();
        assert!(!walks_the_primary_key(&plan), "{name}:\n{plan}");
    }
}

/// What a message costs in WAL: the figures of docs/adr/0003, each with a tenth for what varies.
#[tokio::test]
async fn a_message_costs_no_more_wal_than_the_layout_was_chosen_for() {
    let db = Database::fresh().await;
    // The cheapest of some rounds: somebody else's snapshot can keep a page from being pruned, which adds to one.
    let mut cheapest = [u64::MAX; 3];
    for _ in 0..5 {
        for (cheapest, bytes) in cheapest.iter_mut().zip(wal_of_a_message(&db).await) {
            *cheapest = bytes.min(*cheapest);
        }
    }
    let allowed = [683, 181, 349].map(|bytes| bytes + bytes / 10);
    assert!(cheapest.iter().zip(allowed).all(|(&bytes, most)| bytes <= most), "{cheapest:?}");
}

/// What an insert, a claim and a mark of one message write to the WAL, on average of 500.
async fn wal_of_a_message(db: &Database) -> [u64; 3] {
    db.run("TRUNCATE outbox.message").await;
    let insert = "EXPLAIN (ANALYZE, WAL)
        INSERT INTO outbox.message (destination, message_type, payload)
        SELECT 'orders', 'order.placed.v1', repeat('x', 288) FROM generate_series(1, 500)";
    let rows = db.client.query(insert, &[]).await.unwrap();
    let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let inserted = wal_bytes(&plan.join("\n"));

    let arguments = format!("{TOKEN}, 'relay/1f3a9c2e', 120000, 0, 1, ARRAY['orders'], ARRAY[500]");
    let claimed = wal_of(db, "claim", &arguments).await;
    assert_eq!(db.count("claimed").await, 500);

    let literals = "SELECT quote_literal(array_agg(id ORDER BY id)) || ', ' ||
                           quote_literal(array_agg(gen_random_uuid())) FROM outbox.message";
    let arguments = format!("{TOKEN}, {}", db.value::<String>(literals).await);
    let marked = wal_of(db, "mark_dispatched", &arguments).await;
    assert_eq!(db.count("dispatched").await, 500);
    [inserted, claimed, marked].map(|bytes| bytes / 500)
}

/// What a statement writes to the WAL when it is run as the store does.
async fn wal_of(db: &Database, name: &str, arguments: &str) -> u64 {
    let session = db.connect().await;
    statement::prepare(&session, name).await;
    session.batch_execute(queries::BEGIN_GUARDED).await.unwrap();
    let plan = statement::explain(&session, "ANALYZE, WAL", name, arguments).await;
    session.batch_execute("COMMIT").await.unwrap();
    wal_bytes(&plan)
}

/// The bytes of the top node, which include those below it.
fn wal_bytes(plan: &str) -> u64 {
    let bytes = plan.lines().filter_map(|line| line.split("bytes=").nth(1));
    bytes.map(|bytes| bytes.trim().parse().unwrap()).max().unwrap()
}

//! Plans and storage: a claim touches no index, and no statistics can lead a statement astray.

use std::time::{Duration, Instant};

use outbox_store::{Schema, Store, queries};
use outbox_tests::Database;

use crate::claim::{claim, quota};

/// A message is written three times: inserted, claimed, marked. The second is a HOT update.
#[tokio::test]
async fn a_claim_is_a_hot_update_that_touches_no_index() {
    let db = Database::fresh().await;
    db.insert(2_000, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i END").await;
    // What a session did is told to others when it reports; a claim's own connection does so when it ends.
    let store = db.store();
    for _ in 0..4 {
        assert_eq!(claim(&store, &[quota("orders", 500)]).await.len(), 500);
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
    db.insert(10_000, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i % 1000 END").await;
    let on_empty_statistics = quickest_claim(&store).await;

    db.run("ANALYZE outbox.message").await;
    let on_fresh_statistics = quickest_claim(&store).await;

    db.run("UPDATE outbox.message SET dispatched_at = now()").await;
    db.run("VACUUM ANALYZE outbox.message").await;
    db.run("DELETE FROM outbox.message WHERE id % 100 <> 0").await;
    db.run("VACUUM ANALYZE outbox.message").await;
    db.insert(10_000, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i % 1000 END").await;
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
        assert_eq!(claim(store, &[quota("orders", 500)]).await.len(), 500);
        quickest = quickest.min(started.elapsed());
    }
    quickest
}

/// Case P34: each statement goes through the index that its file names, and through nothing larger.
#[tokio::test]
async fn each_statement_uses_the_indexes_that_its_file_names() {
    let db = Database::fresh().await;
    db.run("ALTER TABLE outbox.message SET (autovacuum_enabled = off)").await;
    db.insert(50_000, "'orders'", "NULL").await;
    db.run("UPDATE outbox.message SET dispatched_at = now()").await;
    db.insert(200, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i END").await;
    db.run("UPDATE outbox.message SET available_at = now() WHERE dispatched_at IS NULL AND id % 10 = 0").await;

    let token = "'6f1c9f0e-0b1f-4c55-9d59-0f6d1a2b3c4d'";
    for (statistics, name, arguments) in ["none", "fresh"].into_iter().flat_map(|statistics| {
        [
            (
                statistics,
                "claim",
                format!("ARRAY['orders'], ARRAY[5], {token}, 'test', 1000, 0, 1"),
            ),
            (statistics, "mark_dispatched", format!("{token}, ARRAY[1, 2], ARRAY['a', 'b']")),
            (statistics, "release", format!("{token}, ARRAY[1, 2]")),
            (statistics, "due", String::new()),
            (statistics, "purge", "1000, 10".to_owned()),
        ]
    }) {
        if statistics == "fresh" {
            db.run("ANALYZE outbox.message").await;
        }
        let plan = plan(&db, name, &arguments).await;
        assert!(!plan.contains("Seq Scan on message"), "{name}, {statistics} statistics:\n{plan}");
        let walks = plan.lines().filter(|line| line.contains("message_pkey")).count();
        let probes = plan.lines().filter(|line| line.contains("Index Cond: (id = ")).count();
        assert!(walks <= probes, "{name} walks the primary key, {statistics} statistics:\n{plan}");
    }
}

async fn plan(db: &Database, name: &str, arguments: &str) -> String {
    let given = if arguments.is_empty() { String::new() } else { format!("({arguments})") };
    let rows = explain(db, name, &given, "").await;
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

/// Explains a statement of the store as it is run, in a guarded transaction.
async fn explain(
    db: &Database,
    name: &str,
    arguments: &str,
    options: &str,
) -> Vec<tokio_postgres::Row> {
    let query = queries::ALL.iter().find(|query| query.name == name).unwrap();
    // An array type's own name is that of its element with an underscore before it.
    let types = query.params.iter().map(|t| match t.name().strip_prefix('_') {
        Some(element) => format!("{element}[]"),
        None => t.name().to_owned(),
    });
    let types: Vec<String> = types.collect();
    let declared = if types.is_empty() { String::new() } else { format!("({})", types.join(", ")) };
    let sql = query.render(&Schema::default());
    let client = db.connect().await;
    client.batch_execute(&format!("PREPARE q{declared} AS {sql}")).await.unwrap();
    client.batch_execute(queries::BEGIN_GUARDED).await.unwrap();
    let rows = client.query(&format!("EXPLAIN {options} EXECUTE q{arguments}"), &[]).await.unwrap();
    client.batch_execute("COMMIT").await.unwrap();
    rows
}

/// What a message costs in WAL: the figures of docs/adr/0003, each with a tenth for what varies.
#[tokio::test]
async fn a_message_costs_no_more_wal_than_the_layout_was_chosen_for() {
    let db = Database::fresh().await;
    let insert = "EXPLAIN (ANALYZE, WAL)
        INSERT INTO outbox.message (destination, message_type, payload)
        SELECT 'orders', 'order.placed.v1', repeat('x', 288) FROM generate_series(1, 500)";
    let inserted = wal_bytes(&db.client.query(insert, &[]).await.unwrap()) / 500;

    let token = "'6f1c9f0e-0b1f-4c55-9d59-0f6d1a2b3c4d'";
    let arguments =
        format!("(ARRAY['orders'], ARRAY[500], {token}, 'relay/1f3a9c2e', 120000, 0, 1)");
    let claimed = wal_bytes(&explain(&db, "claim", &arguments, "(ANALYZE, WAL)").await) / 500;
    assert_eq!(db.count("claimed").await, 500);

    let literals = "SELECT quote_literal(array_agg(id ORDER BY id)) || ', ' ||
                           quote_literal(array_agg(gen_random_uuid())) FROM outbox.message";
    let arguments = format!("({token}, {})", db.value::<String>(literals).await);
    let marked =
        wal_bytes(&explain(&db, "mark_dispatched", &arguments, "(ANALYZE, WAL)").await) / 500;
    assert_eq!(db.count("dispatched").await, 500);

    let per_message = [inserted, claimed, marked];
    let allowed = [683, 181, 349].map(|bytes| bytes + bytes / 10);
    assert!(per_message.iter().zip(allowed).all(|(&bytes, most)| bytes <= most), "{per_message:?}");
}

/// The bytes of the top node, which include those below it.
fn wal_bytes(explained: &[tokio_postgres::Row]) -> u64 {
    let lines = explained.iter().map(|row| row.get::<_, String>(0));
    let wal = lines.filter_map(|line| line.split("bytes=").nth(1).map(str::to_owned));
    wal.map(|bytes| bytes.trim().parse::<u64>().unwrap()).max().unwrap()
}

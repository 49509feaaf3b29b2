//! What waits in a group costs those that look for work nothing, however much it is.

use outbox_store::queries;
use outbox_tests::Database;

use crate::statement;

/// The statements that look for work, for a batch of 500.
fn statements() -> [(&'static str, String); 4] {
    let common = "gen_random_uuid(), 'test', 60000, 0, 1";
    let groups: Vec<_> = (1..=50).map(|n| format!("'g{}'", 2 * n - 1)).collect();
    let groups = groups.join(", ");
    let of_groups = "array_fill('orders'::text, ARRAY[50])";
    [
        ("claim", format!("{common}, ARRAY['orders'], ARRAY[250]")),
        (
            "claim_groups",
            format!("{common}, {of_groups}, ARRAY[{groups}], array_fill(5, ARRAY[50])"),
        ),
        ("groups", "ARRAY['orders'], ARRAY[''], 2000".to_owned()),
        ("due", String::new()),
    ]
}

/// Pages that each statement touches, run as the store does.
async fn pages(db: &Database) -> Vec<u64> {
    let mut pages = Vec::new();
    for (name, arguments) in statements() {
        // A session of its own: the first run of a statement also reads the catalogue.
        let session = db.connect().await;
        statement::prepare(&session, name).await;
        let mut fewest = u64::MAX;
        for _ in 0..3 {
            session.batch_execute(queries::BEGIN_GUARDED).await.unwrap();
            let plan =
                statement::explain(&session, "ANALYZE, BUFFERS, COSTS OFF", name, &arguments).await;
            session.batch_execute("ROLLBACK").await.unwrap();
            fewest = fewest.min(touched(&plan));
        }
        pages.push(fewest);
    }
    pages
}

/// The pages of the top node, which include those below it.
fn touched(plan: &str) -> u64 {
    let line = plan.lines().find(|line| line.contains("Buffers: ")).unwrap();
    let of = |kind: &str| -> u64 {
        let words = line.split([' ', ',']);
        let number = words.filter_map(|word| word.strip_prefix(kind)?.strip_prefix('=')).next();
        number.map_or(0, |number| number.parse().unwrap())
    };
    of("hit") + of("read")
}

/// Ten thousand others, half of them in groups, beside a hundred thousand behind a head that waits for its retry.
#[tokio::test]
async fn a_hundred_thousand_messages_behind_a_failing_head_are_touched_by_no_statement() {
    let db = Database::fresh().await;
    db.run("ALTER TABLE outbox.message SET (autovacuum_enabled = off)").await;
    // Their ids and names come first: they stand in the way, if anything does.
    db.run("ALTER TABLE outbox.message ALTER COLUMN id RESTART WITH 1000000").await;
    db.insert(10_000, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i % 500 + 1 END").await;
    let without = pages(&db).await;

    db.run(
        "INSERT INTO outbox.message (id, destination, message_type, payload, message_group, available_at, first_failed_at)
         SELECT i, 'orders', 't', 'p', 'blocked',
                CASE WHEN i = 1 THEN now() + interval '1 hour' END, CASE WHEN i = 1 THEN now() END
         FROM generate_series(1, 100000) AS i",
    )
    .await;
    let with = pages(&db).await;
    for ((name, _), (without, with)) in statements().iter().zip(without.into_iter().zip(with)) {
        // A few more for an index that has a level more.
        let most = without + without / 5 + 10;
        assert!(with <= most, "{name} touches {with} pages, and {without} without what is blocked");
    }
}

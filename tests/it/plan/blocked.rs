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

/// Pages that each statement touches, run as the store does, in an outbox with ten thousand messages of all kinds for
/// `orders`, and with a hundred thousand for that destination behind a head that waits for its retry.
async fn pages_beside_blocked(destination: &str) -> Vec<u64> {
    let db = Database::fresh().await;
    db.run("ALTER TABLE outbox.message SET (autovacuum_enabled = off)").await;
    // Their ids come first, and the name of their group: they stand in the way, if anything does.
    db.insert(100_000, &format!("'{destination}'"), "'blocked'").await;
    db.run("UPDATE outbox.message SET available_at = now() + interval '1 hour' WHERE id = 1").await;
    db.insert(10_000, "'orders'", "CASE WHEN i % 2 = 0 THEN 'g' || i % 500 + 1 END").await;
    let mut pages = Vec::new();
    for (name, arguments) in statements() {
        // The first run of a statement in a session also reads the catalogue.
        let session = db.connect().await;
        statement::prepare(&session, name).await;
        session.batch_execute(queries::BEGIN_GUARDED).await.unwrap();
        let options = "ANALYZE, BUFFERS, COSTS OFF";
        let plan = statement::explain(&session, options, name, &arguments).await;
        session.batch_execute("COMMIT").await.unwrap();
        pages.push(touched(&plan));
    }
    pages
}

/// The pages of the top node, which include those below it.
fn touched(plan: &str) -> u64 {
    let line = plan.lines().find(|line| line.contains("Buffers: ")).unwrap();
    let of = |kind: &str| -> u64 {
        let words = line.split([' ', ',']);
        let mut words = words;
        let number = words.find_map(|word| word.strip_prefix(kind)?.strip_prefix('='));
        number.map_or(0, |number| number.parse().unwrap())
    };
    of("hit") + of("read")
}

#[tokio::test]
async fn a_hundred_thousand_messages_behind_a_failing_head_are_touched_by_no_statement() {
    // The indexes are as deep in both cases.
    let without = pages_beside_blocked("elsewhere").await;
    let with = pages_beside_blocked("orders").await;
    for ((name, _), (without, with)) in statements().iter().zip(without.into_iter().zip(with)) {
        let most = without + without / 5;
        assert!(with <= most, "{name} touches {with} pages, and {without} without what is blocked");
    }
}

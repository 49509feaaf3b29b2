//! What the outbox lives on: a database that takes no writes, and transactions that hold back vacuum.

use outbox_tests::{Database, eventually};

use super::{codes, ran, status};
use crate::cli::{outbox, sentence};

/// As on a replica, or as an operator sets it.
async fn set_read_only(db: &Database, is_read_only: bool) {
    let name: String = db.value("SELECT current_database()::text").await;
    let value = if is_read_only { "on" } else { "off" };
    db.run(&format!("ALTER DATABASE {name} SET default_transaction_read_only = {value}")).await;
}

#[tokio::test]
async fn a_database_that_takes_no_writes_is_a_problem() {
    let db = Database::fresh().await;
    ran(&db, "relay", 20, "NULL").await;
    assert!(status(&db).await.1.is_empty());
    set_read_only(&db, true).await;
    let (status, problems) = status(&db).await;
    assert_eq!(
        (problems, &status["database"]["takes_writes"]),
        (vec!["read_only".into()], &false.into())
    );
}

#[tokio::test]
async fn a_run_on_a_database_that_takes_no_writes_leaves_no_row_and_does_not_fail_for_that() {
    let db = Database::fresh().await;
    set_read_only(&db, true).await;
    let endpoint = outbox_tests::endpoint::Endpoint::start();
    let command = crate::function::set_up("relay", &db.url(), &endpoint);
    let relay = outbox_tests::Function::start(command).await;
    let report = relay.invoke(&serde_json::json!({}), crate::function::MINUTE).await.unwrap();
    assert_eq!(report["drained"], true);
    relay.process.terminate();
    let output = relay.process.ended().await.output;
    assert!(!output.contains("not written down"), "{output}");
    assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.run").await, 0);
}

/// It tried again for two minutes, and then named an error that says nothing.
#[tokio::test]
async fn a_purge_on_a_database_that_takes_no_writes_fails_at_once_with_a_sentence() {
    let db = Database::fresh().await;
    set_read_only(&db, true).await;
    let ended = outbox(&db.url(), &["purge"]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    assert!(sentence(&ended).contains("takes no writes"), "{}", ended.output);
    assert_eq!(outbox(&db.url(), &["purge", "--dry-run"]).await.code, Some(0));
    set_read_only(&db, false).await;
    assert_eq!(outbox(&db.url(), &["purge"]).await.code, Some(0));
}

#[tokio::test]
async fn an_open_transaction_of_another_role_is_seen_by_an_operator() {
    let db = Database::fresh().await;
    let mut config = db.config();
    config.application_name("report builder");
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("BEGIN; SELECT txid_current()").await.unwrap();
    let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);

    let operator = db.store_as(&db.url_as("outbox_admin").await);
    let seen = eventually("the idle transaction", async || {
        let seen = operator.database_status().await.unwrap();
        let open = seen.oldest_transaction.clone();
        open.filter(|open| open.state.as_deref() == Some("idle in transaction")).map(|_| seen)
    });
    let seen = seen.await;
    let open = seen.oldest_transaction.unwrap();
    assert_eq!((open.pid, open.application_name.as_deref()), (pid, Some("report builder")));
    assert!(open.age_seconds > 0.0 && open.age_seconds < 600.0, "{open:?}");
    assert_eq!(seen.hidden_sessions, 0, "the owner of the schema is a superuser here");

    client.batch_execute("COMMIT").await.unwrap();
    eventually("no open transaction", async || {
        let seen = operator.database_status().await.unwrap();
        seen.oldest_transaction.is_none().then_some(())
    })
    .await;
}

/// The owner has no right to look at other roles' sessions. That nothing is seen is then no good news.
#[tokio::test]
async fn what_the_owner_of_the_schema_may_not_see_is_counted_and_told() {
    let db = Database::fresh().await;
    let url = db.url_as("outbox_admin").await;
    let owner = url::Url::parse(&url).unwrap().username().to_owned();
    db.run(&format!("ALTER FUNCTION outbox.oldest_transaction OWNER TO {owner}")).await;
    let other = db.connect().await;
    other.batch_execute("BEGIN; SELECT txid_current()").await.unwrap();
    let seen = db.store_as(&url).database_status().await.unwrap();
    assert!(seen.oldest_transaction.is_none(), "{seen:?}");
    assert!(seen.hidden_sessions >= 1, "{seen:?}");
    let (status, problems) = status(&db).await;
    assert!(problems.is_empty(), "{status}");
    assert!(codes(&status["notes"]).contains(&"hidden_sessions".to_owned()), "{status}");
}

#[tokio::test]
async fn the_size_of_the_table_is_told_and_when_it_was_vacuumed() {
    let db = Database::fresh().await;
    db.run("ALTER TABLE outbox.message SET (autovacuum_enabled = off)").await;
    db.pending(1_000).await;
    let before = db.store().database_status().await.unwrap().storage;
    assert!(before.table_bytes > 100_000 && before.index_bytes > 10_000, "{before:?}");
    assert_eq!(before.vacuumed_seconds_ago, None);
    db.run("VACUUM outbox.message").await;
    let after = eventually("the vacuum in the statistics", async || {
        let storage = db.store().database_status().await.unwrap().storage;
        storage.vacuumed_seconds_ago.is_some().then_some(storage)
    });
    assert_eq!(after.await.live_rows, 1_000);
}

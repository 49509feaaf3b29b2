//! `outbox bench`

use outbox_tests::{Database, Ended, Process, eventually};
use serde_json::{Value, json};

use super::{command, outbox, sentence};

/// Small, and quick.
const SMALL: [&str; 6] = ["bench", "--yes", "--messages", "2000", "--rounds", "1"];

/// One that lasts until it is ended.
const LONG: [&str; 6] = ["bench", "--yes", "--messages", "20000", "--rounds", "100"];

/// The report in JSON of a bench that went well.
async fn report(url: &str, args: &[&str]) -> Value {
    let ended = outbox(url, &[args, &["--output", "json"]].concat()).await;
    assert_eq!(ended.code, Some(0), "{}", ended.output);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// The schemas of benches that are there.
async fn schemas(db: &Database) -> Vec<String> {
    let sql = "SELECT nspname::text FROM pg_namespace WHERE nspname LIKE 'outbox\\_bench\\_%'";
    db.client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

/// A long bench whose first round is on.
async fn started(db: &Database) -> Process {
    let bench = Process::start(command(&db.url(), &LONG));
    let is_on =
        || async { bench.output().contains("round 1 of 100: database alone").then_some(()) };
    eventually("the first round", is_on).await;
    assert_eq!(schemas(db).await.len(), 1);
    bench
}

/// It ended early, said so, and left nothing behind.
async fn ended_early(db: &Database, ended: &Ended, said: &str) {
    assert_eq!(ended.stdout, "", "{}", ended.output);
    let last = ended.output.lines().last().unwrap();
    assert!(last.contains(said) && last.ends_with("was dropped"), "{}", ended.output);
    assert_eq!(schemas(db).await, Vec::<String>::new());
}

fn assert_plausible(report: &Value) {
    let number = |pointer: &str| {
        report
            .pointer(pointer)
            .and_then(Value::as_f64)
            .unwrap_or_else(|| panic!("{pointer}: {report}"))
    };
    for rate in ["/database/messages_per_second", "/relay/messages_per_second"] {
        assert!((100.0..10_000_000.0).contains(&number(rate)), "{rate}: {report}");
    }
    for (half, nearly_all) in [
        ("/database/claim_p50_ms", "/database/claim_p99_ms"),
        ("/database/mark_p50_ms", "/database/mark_p99_ms"),
    ] {
        assert!(number(half) > 0.0 && number(half) <= number(nearly_all), "{half}: {report}");
    }
    for wal in ["/database/wal_bytes_per_message", "/relay/wal_bytes_per_message"] {
        assert!(number(wal) > 100.0, "{wal}: {report}");
    }
    assert!(number("/server/round_trip_p50_ms") > 0.0, "{report}");
    // One round: its ratio is that of the two figures.
    let ratio = number("/relay/messages_per_second") / number("/database/messages_per_second");
    assert!((number("/relay_over_database") - ratio).abs() < 0.01, "{report}");
}

#[tokio::test]
async fn a_bench_reports_both_parts_leaves_nothing_and_does_not_touch_the_outbox() {
    let db = Database::fresh().await;
    db.pending(3).await;
    let report = report(&db.url(), &SMALL).await;
    assert_plausible(&report);
    let server: String = db.value("SHOW server_version").await;
    let commit: String = db.value("SHOW synchronous_commit").await;
    assert_eq!(report["server"]["version"], server);
    assert_eq!(report["server"]["synchronous_commit"], commit);
    let load = json!({
        "messages": 2000, "payload_bytes": 300, "groups": 0, "batch_size": 500, "rounds": 1,
    });
    assert_eq!(report["load"], load);
    let rounds = report["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 1);
    assert_eq!(rounds[0]["database"]["dispatched"], 2000);
    assert_eq!(rounds[0]["relay"]["dispatched"], 2000);
    assert!(report["notes"].to_string().contains("not measured: SQS and SNS"), "{report}");
    assert_eq!(report["left_over"], json!([]));

    assert_eq!(schemas(&db).await, Vec::<String>::new());
    assert_eq!(db.count("pending").await, 3);
    let touched = "SELECT (SELECT count(*) FROM outbox.run) + (SELECT count(*) FROM outbox.message WHERE attempts > 0)";
    assert_eq!(db.value::<i64>(touched).await, 0);
}

#[tokio::test]
async fn message_groups_payload_batch_size_and_rounds_are_as_asked_for_and_no_outbox_is_needed() {
    let db = Database::empty().await;
    let args = ["--groups", "70", "--payload-bytes", "5000", "--batch-size", "64", "--rounds", "2"];
    let report = report(&db.url(), &[&SMALL[..4], &args].concat()).await;
    let load = json!({
        "messages": 2000, "payload_bytes": 5000, "groups": 70, "batch_size": 64, "rounds": 2,
    });
    assert_eq!(report["load"], load);
    for round in report["rounds"].as_array().unwrap() {
        assert_eq!(round["database"]["dispatched"], 2000, "{report}");
        assert_eq!(round["relay"]["dispatched"], 2000, "{report}");
    }
    assert_eq!(report["rounds"].as_array().unwrap().len(), 2);
    assert_eq!(schemas(&db).await, Vec::<String>::new());
}

#[tokio::test]
async fn people_see_a_table_and_programs_a_line() {
    let db = Database::fresh().await;
    let ended = outbox(&db.url(), &SMALL).await;
    assert_eq!(ended.code, Some(0), "{}", ended.output);
    for shown in [
        "messages/s",
        "database alone",
        "relay/database: ",
        "2000 messages of 300 bytes",
        "not measured",
    ] {
        assert!(ended.stdout.contains(shown), "{shown}: {}", ended.output);
    }
    assert!(ended.output.contains("round 1 of 1: relay\n"), "{}", ended.output);

    let ended = outbox(&db.url(), &[&SMALL[..], &["--output", "ndjson"]].concat()).await;
    assert_eq!(ended.stdout.lines().count(), 1, "{}", ended.output);
    assert_plausible(&serde_json::from_str(&ended.stdout).unwrap());
}

#[tokio::test]
async fn a_signal_ends_a_bench_without_its_schema() {
    for signal in [Process::terminate, Process::interrupt] {
        let db = Database::fresh().await;
        let bench = started(&db).await;
        signal(&bench);
        let ended = bench.ended().await;
        assert_eq!(ended.code, Some(1), "{}", ended.output);
        ended_early(&db, &ended, "stopped by a signal").await;
    }
}

#[tokio::test]
async fn a_bench_that_loses_its_connections_drops_its_schema_on_a_new_one() {
    let db = Database::fresh().await;
    let bench = started(&db).await;
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name LIKE 'outbox-%'";
    db.run(kill).await;
    let ended = bench.ended().await;
    assert_eq!(ended.code, Some(3), "{}", ended.output);
    ended_early(&db, &ended, "outbox: ").await;
}

#[tokio::test]
async fn a_bench_whose_migration_fails_drops_what_there_is_of_its_schema() {
    let db = Database::empty().await;
    db.run(
        "CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE 'no views here'; END $$;
         CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE VIEW') EXECUTE FUNCTION refuse()",
    )
    .await;
    let ended = outbox(&db.url(), &SMALL).await;
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    ended_early(&db, &ended, "no views here").await;
}

#[tokio::test]
async fn what_a_killed_bench_leaves_is_named_with_the_statement_that_drops_it_and_one_at_work_is_not()
 {
    let db = Database::fresh().await;
    let bench = started(&db).await;
    let schema = schemas(&db).await.remove(0);
    assert_eq!(report(&db.url(), &SMALL).await["left_over"], json!([]), "it is at work");

    bench.kill().await;
    let locks = "SELECT count(*) FROM pg_locks
                 WHERE locktype = 'advisory'
                   AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let is_gone = || async { (db.value::<i64>(locks).await == 0).then_some(()) };
    eventually("the end of the killed bench's sessions", is_gone).await;

    let ended = outbox(&db.url(), &[&SMALL[..], &["--output", "json"]].concat()).await;
    let left_over = &serde_json::from_str::<Value>(&ended.stdout).unwrap()["left_over"];
    assert_eq!(left_over[0]["schema"], schema);
    assert!(left_over[0]["bytes"].as_u64() > Some(0), "{left_over}");
    let statement = left_over[0]["drop_statement"].as_str().unwrap();
    assert_eq!(statement, format!("DROP SCHEMA {schema} CASCADE"));
    assert!(ended.output.contains(&format!("drop it with {statement}\n")), "{}", ended.output);
    assert_eq!(schemas(&db).await, [schema], "nobody but a person drops it");
    db.run(statement).await;
    assert_eq!(schemas(&db).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_login_that_may_make_no_schema_is_told_the_grant_with_which_it_may() {
    let db = Database::fresh().await;
    let url = db.url_as("outbox_relay").await;
    let ended = outbox(&url, &SMALL).await;
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    let (_, grant) = sentence(&ended).split_once("let its owner run ").unwrap();
    assert!(grant.starts_with("GRANT CREATE ON DATABASE test_"), "{grant}");
    db.run(grant).await;
    assert_plausible(&report(&url, &SMALL).await);
    assert_eq!(schemas(&db).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_database_that_takes_no_writes_is_told_at_once() {
    let db = Database::fresh().await;
    let name: String = db.value("SELECT current_database()::text").await;
    db.run(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
    let ended = outbox(&db.url(), &SMALL).await;
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    assert!(sentence(&ended).contains("takes no writes"), "{}", ended.output);
}

#[tokio::test]
async fn bad_values_are_refused_with_the_range_and_an_example() {
    let nowhere = "postgres://nobody@127.0.0.1:1/nothing";
    for (option, value, range) in [
        ("--messages", "99", "100 to 10000000, for example 100000"),
        ("--messages", "-5", "100 to 10000000"),
        ("--messages", "1e6", "100 to 10000000"),
        ("--payload-bytes", "0", "1 to 262144, for example 300"),
        ("--groups", "0", "1 to 1000000, for example 1000"),
        ("--batch-size", "10001", "1 to 10000, for example 500"),
        ("--rounds", "0", "1 to 100, for example 3"),
        ("--rounds", "many", "1 to 100, for example 3"),
    ] {
        let ended = outbox(nowhere, &["bench", "--yes", option, value]).await;
        assert_eq!(ended.code, Some(2), "{}", ended.output);
        for said in [option, &format!("'{value}'"), range] {
            assert!(ended.output.contains(said), "{said}: {}", ended.output);
        }
    }
    let together = ["bench", "--yes", "--payload-bytes", "262144", "--batch-size", "500"];
    let ended = outbox(nowhere, &together).await;
    assert_eq!(ended.code, Some(2), "{}", ended.output);
    assert!(sentence(&ended).contains("for example --payload-bytes 262144 --batch-size 256"));
}

#[tokio::test]
async fn where_nobody_can_be_asked_a_bench_wants_yes_and_says_how_much_it_writes() {
    let nowhere = "postgres://nobody@127.0.0.1:1/nothing";
    let ended = outbox(nowhere, &["bench"]).await;
    assert_eq!(ended.code, Some(2), "{}", ended.output);
    let said = sentence(&ended);
    assert!(said.contains("MiB of WAL") && said.contains("say --yes"), "{said}");
}

//! `outbox doctor`

use outbox_tests::endpoint::Endpoint;
use outbox_tests::{Database, Ended, Process, Queue, Topic};
use serde_json::{Value, json};

use super::{command, sentence};

mod database;

/// Runs it with these destinations on the SQS and SNS there.
async fn doctor(database_url: &str, aws_url: &str, destinations: &Value, args: &[&str]) -> Ended {
    let mut command = command(database_url, &[&["doctor"], args].concat());
    command.env("OUTBOX_DESTINATIONS", destinations.to_string());
    command.env("AWS_ENDPOINT_URL", aws_url);
    Process::start(command).ended().await
}

/// Its findings on the local stack: severity, subject and advice of each.
async fn findings(database_url: &str, destinations: &Value) -> (Vec<[String; 3]>, Option<i32>) {
    findings_as("relay", database_url, destinations).await
}

/// The same with the login judged as that.
async fn findings_as(
    role: &str,
    database_url: &str,
    destinations: &Value,
) -> (Vec<[String; 3]>, Option<i32>) {
    let args = ["--output", "ndjson", "--as", role];
    let ended = doctor(database_url, &Queue::endpoint_url(), destinations, &args).await;
    (read(&ended), ended.code)
}

/// The findings of an answer in lines of JSON.
fn read(ended: &Ended) -> Vec<[String; 3]> {
    let findings = ended.stdout.lines().map(|line| {
        let finding: Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("{}", ended.output));
        ["severity", "subject", "advice"].map(|name| finding[name].as_str().unwrap().to_owned())
    });
    findings.collect()
}

/// Those of a subject: severities in order.
fn severities<'a>(findings: &'a [[String; 3]], of: &str) -> Vec<&'a str> {
    let found = findings.iter().filter(|[_, subject, _]| subject == of);
    found.map(|[severity, _, _]| severity.as_str()).collect()
}

/// The advice of the only problem of that subject.
fn problem<'a>(findings: &'a [[String; 3]], of: &str) -> &'a str {
    let mut problems =
        findings.iter().filter(|[severity, subject, _]| severity == "problem" && subject == of);
    let [_, _, advice] = problems.next().unwrap_or_else(|| panic!("{findings:?}"));
    assert!(problems.next().is_none(), "{findings:?}");
    advice
}

#[tokio::test]
async fn a_healthy_outbox_with_its_queues_and_topics_has_no_problem() {
    let db = Database::fresh().await;
    db.pending(3).await;
    let (queue, fifo, small) =
        (Queue::standard().await, Queue::fifo().await, Queue::of_at_most(2_048).await);
    let (topic, fifo_topic) = (Topic::standard().await, Topic::fifo().await);
    topic.deliver_to(&queue).await;
    let destinations = json!({
        "orders": { "target": queue.url(), "max_bytes": 262_144 },
        "ledger": { "target": fifo.url(), "max_bytes": 262_144 },
        "small": { "target": small.url(), "max_bytes": 2_048 },
        "events": topic.arn(),
        "audit": fifo_topic.arn(),
    });
    let (findings, code) = findings(&db.url_as("outbox_relay").await, &destinations).await;
    assert_eq!(code, Some(0), "{findings:?}");
    for subject in ["database", "clock", "outbox", "role", "plans", "pooler"] {
        assert_eq!(severities(&findings, subject), ["ok"], "{findings:?}");
    }
    for name in ["orders", "ledger", "small", "events", "audit"] {
        let of = severities(&findings, &format!("destination {name}"));
        assert_eq!(of[0], "ok", "{findings:?}");
        assert!(of[1..].iter().all(|severity| *severity == "note"), "{findings:?}");
    }
    let told = |text: &str| findings.iter().any(|[_, _, advice]| advice.contains(text));
    assert!(told("no redrive policy") && told("raw delivery to queues (1)"), "{findings:?}");
    assert!(told("no confirmed subscription"), "{findings:?}");
    assert_eq!(db.count("pending").await, 3);
}

/// Cases A06 and B09.
#[tokio::test]
async fn settings_that_the_queues_do_not_bear_out_are_problems_with_the_value_to_set() {
    let db = Database::fresh().await;
    db.insert(5, "CASE i WHEN 1 THEN 'small' ELSE 'fax' END", "NULL").await;
    let small = Queue::of_at_most(2_048).await;
    let missing = small.url().replace("test-", "missing-");
    let no_topic = "arn:aws:sns:us-east-1:000000000000:no-such-topic";
    let destinations = json!({ "small": small.url(), "missing": missing, "topic": no_topic });
    let (findings, code) = findings(&db.url_as("outbox_relay").await, &destinations).await;
    assert_eq!(code, Some(1), "{findings:?}");
    assert!(problem(&findings, "destination small").contains("\"max_bytes\": 2048"));
    assert!(problem(&findings, "destination missing").contains("does not exist"));
    assert!(problem(&findings, "destination topic").contains("does not exist"));
    assert!(problem(&findings, "destination fax").contains("4 messages would die with no_route"));
}

/// Case B11: the endpoint lets nobody look, as the relay's role in the template, and then nobody send.
#[tokio::test]
async fn a_target_that_may_not_be_asked_is_a_problem_that_names_the_permissions() {
    let db = Database::fresh().await;
    db.pending(2).await;
    let endpoint = Endpoint::start();
    let destinations =
        json!({ "orders": endpoint.queue_url("orders"), "events": endpoint.topic_arn("events") });
    let url = db.url_as("outbox_relay").await;
    let looks = ["allow sqs:GetQueueAttributes", "allow sns:GetTopicAttributes"];
    let ended = doctor(&url, endpoint.url(), &destinations, &["--output", "ndjson"]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.output);
    let found = read(&ended);
    for (name, look) in ["orders", "events"].into_iter().zip(looks) {
        let of = severities(&found, &format!("destination {name}"));
        assert_eq!(of, ["ok", "note"], "{found:?}");
        assert!(ended.stdout.contains(look), "{}", ended.output);
    }
    let requests = endpoint.requests();
    assert_eq!(requests.len(), 2, "one request to send to each");
    assert!(requests.iter().all(|request| request.entries.is_empty()), "{requests:?}");

    endpoint.deny();
    let ended = doctor(&url, endpoint.url(), &destinations, &["--output", "json"]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    for allow in looks.into_iter().chain(["allow sqs:SendMessage", "allow sns:Publish"]) {
        assert!(ended.stdout.contains(allow), "{}", ended.output);
    }
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["healthy"], false);
    assert!(endpoint.accepted().is_empty(), "nothing is sent");
    assert_eq!(db.count("pending").await, 2);

    endpoint.down().await;
    let ended = doctor(&url, endpoint.url(), &destinations, &[]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    assert!(ended.stdout.contains("did not answer (connect_failed)"), "{}", ended.output);
    assert!(ended.stdout.ends_with("\n2 problems, 0 notes\n"), "{}", ended.output);
}

#[tokio::test]
async fn a_role_that_cannot_do_a_relays_work_is_a_problem_that_names_what_it_lacks() {
    let db = Database::fresh().await;
    let queue = Queue::of_at_most(1_024).await;
    let destinations = json!({ "orders": { "target": queue.url(), "max_bytes": 1_024 } });
    let (found, code) = findings(&db.url_as("outbox_admin").await, &destinations).await;
    assert_eq!(code, Some(1), "{found:?}");
    let lacks = problem(&found, "role");
    assert!(
        lacks.contains("UPDATE (dispatched_at, broker_message_id) ON outbox.message"),
        "{lacks}"
    );
    assert!(lacks.contains("GRANT outbox_relay TO login_"), "{lacks}");

    let (found, _) = findings(&db.url_as("outbox_producer").await, &destinations).await;
    assert!(problem(&found, "role").contains("SELECT ON outbox.message"), "{found:?}");
    assert!(problem(&found, "outbox").contains("42501"), "{found:?}");

    for (database, said) in [
        (Database::empty().await, "there is no outbox"),
        (
            Database::with("TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'")
                .await,
            "there is no outbox",
        ),
    ] {
        let (found, code) = findings(&database.url(), &destinations).await;
        assert_eq!(code, Some(1), "{found:?}");
        assert!(problem(&found, "outbox").contains(said), "{found:?}");
        assert!(severities(&found, "role").is_empty(), "{found:?}");
    }
}

#[tokio::test]
async fn without_a_database_or_destinations_there_is_nothing_to_examine() {
    let nowhere = "postgres://nobody@127.0.0.1:1/nothing";
    let destinations = json!({ "orders": "arn:aws:sqs:us-east-1:000000000000:orders" });
    let ended = doctor(nowhere, "http://127.0.0.1:1", &destinations, &["--output", "json"]).await;
    assert_eq!(ended.code, Some(3), "{}", ended.output);
    assert!(sentence(&ended).contains("127.0.0.1:1"), "{}", ended.output);

    let ended = super::outbox(nowhere, &["doctor"]).await;
    assert_eq!(ended.code, Some(2), "{}", ended.output);
    assert!(sentence(&ended).contains("OUTBOX_DESTINATIONS"), "{}", ended.output);
}

#[tokio::test]
async fn what_can_harm_though_every_statement_works_is_found_with_what_mends_it() {
    let db = Database::fresh().await;
    let url = db.url_as("outbox_relay").await;
    let queue = Queue::of_at_most(1_024).await;
    let destinations = json!({ "orders": { "target": queue.url(), "max_bytes": 1_024 } });
    let (found, _) = findings(&url, &destinations).await;
    for subject in ["indexes", "settings", "connection"] {
        assert_eq!(severities(&found, subject), ["ok"], "{found:?}");
    }
    let n_indexes = "SELECT count(*) FROM pg_index WHERE indrelid = 'outbox.message'::regclass";
    let n_indexes = db.value::<i64>(n_indexes).await;
    let said = format!("the {n_indexes} indexes");
    assert!(found.iter().any(|[_, _, advice]| advice.contains(&said)), "{found:?}");

    for sql in [
        "DROP INDEX outbox.message_fresh_idx",
        "ALTER TABLE outbox.message ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE outbox.message SET (autovacuum_enabled = off)",
        "ALTER TABLE outbox.message DISABLE TRIGGER message_redrive",
        "CREATE RULE swallow AS ON DELETE TO outbox.message DO INSTEAD NOTHING",
        "GRANT DELETE ON outbox.message TO PUBLIC",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', \
         current_database()); END $$",
    ] {
        db.run(sql).await;
    }
    let (found, code) = findings(&url, &destinations).await;
    assert_eq!(code, Some(1), "{found:?}");
    for (subject, said) in [
        ("indexes", "message_fresh_idx is missing"),
        ("row security", "DISABLE ROW LEVEL SECURITY"),
        ("autovacuum", "RESET (autovacuum_enabled)"),
        ("triggers", "ENABLE TRIGGER message_redrive"),
        ("rules", "DROP RULE swallow"),
        ("settings", "synchronous_commit is off"),
    ] {
        assert!(problem(&found, subject).contains(said), "{found:?}");
    }
    assert_eq!(severities(&found, "rights"), ["note"], "{found:?}");

    let (found, _) = findings(&db.url(), &destinations).await;
    assert_eq!(severities(&found, "login"), ["note"], "{found:?}");
}

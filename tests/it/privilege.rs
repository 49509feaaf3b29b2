//! Least privilege: each function does its job as its role of Postgres and with the policy of its role in AWS, and as
//! either it can do nothing else.
//!
//! Each runs as Lambda runs it, signed in with a secret, against the local stack. What it asks of AWS is recorded, and held
//! to the policy that `infra/template.yaml` gives it.

use outbox_tests::{Bucket, Call, Database, Function, Queue, Recorder, Secret, Topic, program};
use outbox_tests::{Ended, Process};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio_postgres::{Client, NoTls};
use url::Url;

use crate::function::MINUTE;
use crate::roles::refused;
use policy::{Role, Stack};

mod policy;

const KEY: &str = "arn:aws:kms:us-east-1:000000000000:key/destinations";
const OTHER_KEY: &str = "arn:aws:kms:us-east-1:000000000000:key/other";
const SECRET_KEY: &str = "arn:aws:kms:us-east-1:000000000000:key/secrets";
const ARCHIVE_KEY: &str = "arn:aws:kms:us-east-1:000000000000:key/archive";
const OTHER_SECRET: &str = "arn:aws:secretsmanager:us-east-1:000000000000:secret:other-AbCdEf";
const OTHER_QUEUE: &str = "arn:aws:sqs:us-east-1:000000000000:other";
const OTHER_TOPIC: &str = "arn:aws:sns:us-east-1:000000000000:other";

/// What none of them may do, on any resource of theirs or of others.
const NEVER: [(&str, &str); 16] = [
    ("iam:PassRole", "arn:aws:iam::000000000000:role/admin"),
    ("iam:CreateAccessKey", "arn:aws:iam::000000000000:user/admin"),
    ("sts:AssumeRole", "arn:aws:iam::000000000000:role/admin"),
    ("rds:ModifyDBInstance", "arn:aws:rds:us-east-1:000000000000:db:shop"),
    ("rds:DeleteDBInstance", "arn:aws:rds:us-east-1:000000000000:db:shop"),
    ("lambda:InvokeFunction", "arn:aws:lambda:us-east-1:000000000000:function:outbox-admin"),
    ("lambda:InvokeFunction", "arn:aws:lambda:us-east-1:000000000000:function:outbox-relay"),
    ("lambda:UpdateFunctionCode", "arn:aws:lambda:us-east-1:000000000000:function:outbox-relay"),
    ("scheduler:UpdateSchedule", "arn:aws:scheduler:us-east-1:000000000000:schedule/default/x"),
    ("secretsmanager:GetSecretValue", OTHER_SECRET),
    ("secretsmanager:PutSecretValue", OTHER_SECRET),
    ("sqs:SendMessage", OTHER_QUEUE),
    ("sns:Publish", OTHER_TOPIC),
    ("kms:Decrypt", OTHER_KEY),
    ("s3:PutObject", "arn:aws:s3:::other/outbox/x"),
    ("rds-db:connect", "arn:aws:rds-db:us-east-1:000000000000:dbuser:db-ABC/postgres"),
];

fn cannot(role: &Role, calls: &[(&str, &str)]) {
    for (action, resource) in calls {
        // Not even as a service would ask on its behalf.
        for via in ["sqs", "sns", "s3", "secretsmanager"] {
            let context = [("kms:ViaService", &*format!("{via}.us-east-1.amazonaws.com"))];
            assert!(!role.allows(&Call::new(action, resource), &context), "{action} {resource}");
        }
    }
}

fn can(role: &Role, action: &str, resource: &str, via: &str) -> bool {
    let via = format!("{via}.us-east-1.amazonaws.com");
    role.allows(&Call::new(action, resource), &[("kms:ViaService", &via)])
}

/// The program signed in with that secret, and on its way to AWS through the recorder.
fn set_up(name: &str, url: &str, secret: &Secret, recorder: &Recorder) -> Command {
    let url = Url::parse(url).unwrap();
    let mut command = program(name);
    command
        .env("OUTBOX_DATABASE_HOST", url.host_str().unwrap())
        .env("OUTBOX_DATABASE_PORT", url.port().unwrap_or(5432).to_string())
        .env("OUTBOX_DATABASE_NAME", url.path().trim_start_matches('/'))
        .env("OUTBOX_DATABASE_AUTH", "secret")
        .env("OUTBOX_DATABASE_SECRET_ARN", secret.arn())
        .env("AWS_ENDPOINT_URL", recorder.url());
    command
}

async fn secret(url: &str) -> Secret {
    let user = Url::parse(url).unwrap().username().to_owned();
    Secret::holding(&json!({ "username": user, "password": "secret" }).to_string()).await
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// What neither login may do to the schema, to the server or to itself.
const NEVER_IN_SQL: [&str; 15] = [
    "SELECT outbox.enqueue('d', 't', 'p')",
    "INSERT INTO outbox.message (destination, message_type, payload) VALUES ('d', 't', 'p')",
    "UPDATE outbox.message SET payload = 'other'",
    "UPDATE outbox.message SET headers = '{}'",
    "UPDATE outbox.message SET destination = 'other'",
    "UPDATE outbox.message SET message_type = 'other'",
    "UPDATE outbox.message SET message_group = 'other'",
    "TRUNCATE outbox.message",
    "ALTER TABLE outbox.message ADD COLUMN x int",
    "DROP TABLE outbox.audit",
    "CREATE TABLE outbox.mine (x int)",
    "CREATE FUNCTION outbox.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "ALTER FUNCTION outbox.schema_version() OWNER TO CURRENT_USER",
    "COPY outbox.message TO PROGRAM 'true'",
    "SELECT pg_read_file('/etc/passwd')",
];

#[tokio::test]
async fn the_relay_sends_and_marks_and_can_do_nothing_else() {
    let db = Database::fresh().await;
    let (queue, topic) = (Queue::standard().await, Topic::standard().await);
    let recorder = Recorder::before(&Queue::endpoint_url()).await;
    let url = db.url_as("outbox_relay").await;
    let secret = secret(&url).await;
    let mut command = set_up("relay", &url, &secret, &recorder);
    let destinations = json!({ "orders": queue.url(), "events": topic.arn() });
    command.env("OUTBOX_DESTINATIONS", destinations.to_string());
    let relay = Function::start(command).await;
    db.insert(
        6,
        "CASE WHEN i <= 3 THEN 'orders' WHEN i < 6 THEN 'events' ELSE 'nowhere' END",
        "NULL",
    )
    .await;
    let report = relay.invoke(&json!({}), MINUTE).await.unwrap();
    assert_eq!((&report["dispatched"], &report["dead"]), (&json!(5), &json!(1)), "{report}");

    let queue_arn = queue.url().rsplit('/').next().unwrap();
    let queue_arn = format!("arn:aws:sqs:us-east-1:000000000000:{queue_arn}");
    let expected = [
        Call::new("secretsmanager:GetSecretValue", secret.arn()),
        Call::new("sns:Publish", topic.arn()),
        Call::new("sqs:SendMessage", &queue_arn),
    ];
    assert_eq!(recorder.calls(), expected);
    let parameters = json!({
        "DatabaseAuth": "secret", "RelaySecretArn": secret.arn(), "AdminSecretArn": OTHER_SECRET,
        "SecretKmsKeyArn": SECRET_KEY, "QueueArns": [queue_arn], "TopicArns": [topic.arn()],
        "DestinationKmsKeyArns": [KEY], "ArchiveLocation": "s3://archive/outbox",
    });
    let role = Stack::with(&parameters).role_of("RelayFunction");
    for call in recorder.calls() {
        assert!(role.allows(&call, &[]), "{call:?}");
    }
    for (key, via) in [(KEY, "sqs"), (KEY, "sns"), (SECRET_KEY, "secretsmanager")] {
        assert!(can(&role, "kms:Decrypt", key, via), "{key} {via}");
    }
    assert!(!role.allows(&Call::new("kms:Decrypt", KEY), &[]), "with the key itself");
    assert!(!can(&role, "kms:Decrypt", KEY, "s3") && !can(&role, "kms:Decrypt", SECRET_KEY, "sqs"));
    cannot(&role, &NEVER);
    cannot(
        &role,
        &[
            ("sqs:ReceiveMessage", &queue_arn),
            ("sqs:DeleteMessage", &queue_arn),
            ("sqs:PurgeQueue", &queue_arn),
            ("sns:Subscribe", topic.arn()),
            ("s3:PutObject", "arn:aws:s3:::archive/outbox/x"),
            ("secretsmanager:PutSecretValue", secret.arn()),
        ],
    );

    let client = connect(&url).await;
    for sql in NEVER_IN_SQL.into_iter().chain([
        "UPDATE outbox.message SET message_id = gen_random_uuid()",
        "UPDATE outbox.message SET dead_at = NULL, dead_reason = NULL WHERE dead_at IS NOT NULL",
        "UPDATE outbox.message SET dispatched_at = NULL WHERE dispatched_at IS NOT NULL",
        "DELETE FROM outbox.message",
        "UPDATE outbox.destination SET paused_at = NULL, paused_by = NULL",
        "INSERT INTO outbox.destination (name, paused_at, paused_by) VALUES ('d', now(), 'relay')",
        "DELETE FROM outbox.destination",
        "SELECT * FROM outbox.audit",
        "INSERT INTO outbox.audit (actor, action, n_messages, reason) VALUES ('a', 'redrive', 1, 'r')",
        "SELECT * FROM outbox.inbox",
        "SELECT outbox.receive('c', gen_random_uuid())",
        "SELECT * FROM outbox.dead_letter",
        "SET ROLE outbox_admin",
        "SET ROLE outbox_producer",
    ]) {
        refused(&client, sql).await;
    }
    assert_eq!(db.count("dead").await, 1);
    for verb in [
        &["redrive", "--all", "--yes", "--reason", "r"][..],
        &["discard", "--all", "--yes", "--reason", "r"],
        &["pause", "orders", "--reason", "r"],
        &["resume", "--reason", "r"],
    ] {
        assert_refused(&url, verb).await;
    }
    assert_eq!(db.count("dead").await, 1, "and nobody has redriven or discarded it");
}

/// An operator's verb, signed in so: the server refuses it.
async fn assert_refused(url: &str, verb: &[&str]) {
    let mut command = program("outbox");
    command.args(verb).env("OUTBOX_DATABASE_URL", url);
    let Ended { code, output, .. } = Process::start(command).ended().await;
    assert_ne!(code, Some(0), "{verb:?}: {output}");
    assert!(output.contains("42501"), "{verb:?}: {output}");
}

/// What the login of purge and admin may not do.
async fn assert_admin_is_bound(url: &str) {
    let client = connect(url).await;
    for sql in NEVER_IN_SQL.into_iter().chain([
        "UPDATE outbox.message SET dispatched_at = now()",
        "UPDATE outbox.message SET dispatched_at = NULL",
        "UPDATE outbox.message SET created_at = now()",
        "DELETE FROM outbox.message WHERE dispatched_at IS NULL AND dead_at IS NULL",
        "UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused' WHERE dispatched_at IS NULL AND dead_at IS NULL",
        "UPDATE outbox.audit SET reason = 'other'",
        "DELETE FROM outbox.audit",
        "TRUNCATE outbox.audit",
        "INSERT INTO outbox.inbox (consumer, message_id) VALUES ('c', gen_random_uuid())",
        "SELECT outbox.receive('c', gen_random_uuid())",
        "SET ROLE outbox_relay",
        "SET ROLE outbox_producer",
    ]) {
        refused(&client, sql).await;
    }
}

/// Parameters of purge and admin.
fn parameters(secret: &Secret, queue: &str, archive: &str) -> Value {
    json!({
        "DatabaseAuth": "secret", "RelaySecretArn": OTHER_SECRET, "AdminSecretArn": secret.arn(),
        "SecretKmsKeyArn": SECRET_KEY, "QueueArns": [queue], "TopicArns": [OTHER_TOPIC],
        "DestinationKmsKeyArns": [KEY], "ArchiveLocation": archive, "ArchiveKmsKeyArn": ARCHIVE_KEY,
    })
}

const QUEUE: &str = "arn:aws:sqs:us-east-1:000000000000:orders";

#[tokio::test]
async fn the_purge_archives_and_deletes_and_can_do_nothing_else() {
    let db = Database::fresh().await;
    let bucket = Bucket::create().await;
    let recorder = Recorder::before(&Queue::endpoint_url()).await;
    let url = db.url_as("outbox_admin").await;
    let secret = secret(&url).await;
    let mut command = set_up("purge", &url, &secret, &recorder);
    command.env("OUTBOX_ARCHIVE", bucket.archive_url());
    let purge = Function::start(command).await;
    let kept = crate::purge::one_to_purge_and_four_to_keep(&db).await;
    let report = purge.invoke(&json!({}), MINUTE).await.unwrap();
    assert_eq!((&report["purged"], &report["archived"]), (&json!(1), &json!(1)), "{report}");
    assert_eq!(crate::purge::left(&db).await, kept);

    let calls = recorder.calls();
    let actions: Vec<_> = calls.iter().map(|call| call.action.as_str()).collect();
    assert_eq!(actions, ["s3:PutObject", "secretsmanager:GetSecretValue"], "{calls:?}");
    let stack = Stack::with(&parameters(&secret, QUEUE, &bucket.archive_url()));
    let role = stack.role_of("PurgeFunction");
    for call in calls {
        assert!(role.allows(&call, &[]), "{call:?}");
    }
    assert!(can(&role, "kms:GenerateDataKey", ARCHIVE_KEY, "s3"));
    let place = bucket.archive_url().replace("s3://", "arn:aws:s3:::");
    cannot(&role, &NEVER);
    cannot(
        &role,
        &[
            ("sqs:SendMessage", QUEUE),
            ("sns:Publish", "arn:aws:sns:us-east-1:000000000000:events"),
            ("s3:GetObject", &format!("{place}/x")),
            ("s3:DeleteObject", &format!("{place}/x")),
            ("s3:PutObject", &format!("{place}-other/x")),
            ("s3:PutBucketPolicy", place.split('/').next().unwrap()),
            ("kms:Decrypt", ARCHIVE_KEY),
            ("kms:GenerateDataKey", KEY),
        ],
    );
    assert_admin_is_bound(&url).await;
}

#[tokio::test]
async fn the_admin_function_redrives_and_can_do_nothing_else() {
    let db = Database::fresh().await;
    let recorder = Recorder::before(&Queue::endpoint_url()).await;
    let url = db.url_as("outbox_admin").await;
    let secret = secret(&url).await;
    let admin = Function::start(set_up("admin", &url, &secret, &recorder)).await;
    db.pending(2).await;
    db.run("UPDATE outbox.message SET dead_at = now(), dead_reason = 'refused'").await;
    for (command, field, value) in [
        (json!({ "command": "status" }), "dead", json!(2)),
        (json!({ "command": "redrive", "ids": [1], "reason": "r" }), "redriven", json!(1)),
        (json!({ "command": "discard", "ids": [2], "reason": "r" }), "discarded", json!(1)),
    ] {
        let answer = admin.invoke(&command, MINUTE).await.unwrap();
        assert_eq!(answer[field], value, "{answer}");
    }
    for command in ["pause", "resume"] {
        let command = json!({ "command": command, "destination": "orders", "reason": "r" });
        admin.invoke(&command, MINUTE).await.unwrap();
    }
    assert_eq!(db.value::<i64>("SELECT count(*) FROM outbox.audit").await, 4);

    let expected = [Call::new("secretsmanager:GetSecretValue", secret.arn())];
    assert_eq!(recorder.calls(), expected);
    let stack = Stack::with(&parameters(&secret, QUEUE, "s3://archive/outbox"));
    let role = stack.role_of("AdminFunction");
    assert!(role.allows(&expected[0], &[]));
    cannot(&role, &NEVER);
    cannot(
        &role,
        &[
            ("sqs:SendMessage", QUEUE),
            ("sns:Publish", "arn:aws:sns:us-east-1:000000000000:events"),
            ("s3:PutObject", "arn:aws:s3:::archive/outbox/x"),
            ("kms:GenerateDataKey", KEY),
            ("kms:Decrypt", ARCHIVE_KEY),
        ],
    );
    assert_admin_is_bound(&url).await;
}

/// With IAM in the place of a secret: each signs in as its own user, and reads no secret.
#[test]
fn each_function_signs_in_as_its_own_user_and_as_no_other() {
    let parameters = json!({
        "DatabaseAuth": "iam", "DatabaseResourceId": "db-ABC", "RelaySecretArn": OTHER_SECRET,
        "AdminSecretArn": OTHER_SECRET, "QueueArns": [QUEUE],
    });
    let stack = Stack::with(&parameters);
    let users = ["outbox_relay_login", "outbox_admin_login"];
    for (function, own) in
        [("RelayFunction", users[0]), ("PurgeFunction", users[1]), ("AdminFunction", users[1])]
    {
        let role = stack.role_of(function);
        for user in users {
            let place = format!("arn:aws:rds-db:us-east-1:000000000000:dbuser:db-ABC/{user}");
            assert_eq!(role.allows(&Call::new("rds-db:connect", &place), &[]), user == own);
            let elsewhere = place.replace("db-ABC", "db-OTHER");
            assert!(!role.allows(&Call::new("rds-db:connect", &elsewhere), &[]), "{function}");
        }
        cannot(&role, &NEVER);
    }
}

/// Lambda acts as the role too: it writes the logs, attaches to the subnets and reports failed runs.
#[test]
fn each_role_lets_lambda_write_its_own_logs_and_report_failed_runs() {
    let stack = Stack::with(&json!({ "QueueArns": [QUEUE] }));
    let logs = |name: &str| {
        format!(
            "arn:aws:logs:us-east-1:000000000000:log-group:/aws/lambda/outbox-{name}:log-stream:x"
        )
    };
    let failures = "arn:aws:sqs:us-east-1:000000000000:outbox-failures";
    for (function, own, other) in [
        ("RelayFunction", "relay", "admin"),
        ("PurgeFunction", "purge", "relay"),
        ("AdminFunction", "admin", "purge"),
    ] {
        let role = stack.role_of(function);
        for action in ["logs:CreateLogStream", "logs:PutLogEvents"] {
            assert!(role.allows(&Call::new(action, &logs(own)), &[]), "{function} {action}");
            assert!(!role.allows(&Call::new(action, &logs(other)), &[]), "{function} {action}");
        }
        assert!(role.allows(&Call::new("sqs:SendMessage", failures), &[]), "{function}");
        assert!(role.allows(&Call::new("ec2:CreateNetworkInterface", "*"), &[]), "{function}");
        cannot(&role, &[("logs:DeleteLogGroup", &logs(own)), ("sqs:ReceiveMessage", failures)]);
    }
}

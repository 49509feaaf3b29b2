//! Every setting, once: its name, unit, default, range, example and meaning.
//!
//! A new setting starts with an entry here, one in `.env.example` and one in the README's table; tests
//! compare them.

use crate::settings::setting::Setting;

pub(super) const DATABASE_URL: Setting = Setting::text(
    "OUTBOX_DATABASE_URL",
    "postgres://USER:PASSWORD@HOST:PORT/NAME, an @ inside as %40",
)
.about("Where the database is and who signs in, as a URL; give this or the parts.")
.default_is("the parts below; without those, DATABASE_URL")
.example("postgres://outbox_relay:PASSWORD@db.example.com:5432/shop")
.secret();

/// What other tools read too; not listed, because it is none of ours.
pub(super) const PLAIN_DATABASE_URL: Setting = Setting { name: "DATABASE_URL", ..DATABASE_URL };

pub(super) const DATABASE_HOST: Setting = Setting::text(
    "OUTBOX_DATABASE_HOST",
    "a host name, an IP address or the directory of a socket",
)
.about("Host of the database, if no URL is given.")
.example("db.example.com");

pub(super) const DATABASE_PORT: Setting = Setting::whole("OUTBOX_DATABASE_PORT", 1..=65_535)
    .about("Port of the database, if no URL is given.")
    .default("5432");

pub(super) const DATABASE_NAME: Setting =
    Setting::text("OUTBOX_DATABASE_NAME", "the name of a database")
        .about("Name of the database, if no URL is given.")
        .example("shop");

pub(super) const DATABASE_USER: Setting =
    Setting::text("OUTBOX_DATABASE_USER", "the name of a role")
        .about("Role that signs in, if no URL is given.")
        .example("outbox_relay");

pub(super) const DATABASE_AUTH: Setting =
    Setting::one_of("OUTBOX_DATABASE_AUTH", &["password", "iam", "secret"])
        .about("How the role signs in: a password of these settings, a token of IAM, or a secret of Secrets Manager.")
        .default("password");

pub(super) const DATABASE_SECRET_ARN: Setting = Setting::text(
    "OUTBOX_DATABASE_SECRET_ARN",
    "the ARN of a secret of Secrets Manager",
)
.about("The secret to sign in with: its username and password; its host, port and dbname where they are not set here.")
.example("arn:aws:secretsmanager:eu-west-1:123456789012:secret:outbox-relay-AbCdEf");

pub(super) const DATABASE_PASSWORD: Setting =
    Setting::text("OUTBOX_DATABASE_PASSWORD", "the password as it is, nothing escaped")
        .about("Password of the role, beside the parts or a URL that holds none.")
        .example("PASSWORD")
        .secret();

pub(super) const DATABASE_SSLMODE: Setting = Setting::one_of(
    "OUTBOX_DATABASE_SSLMODE",
    &["disable", "require", "verify-full"],
)
.about("Whether the connection is encrypted; require verifies all that verify-full does.")
.default_is(
    "disable for loopback and sockets without a CA file, but not with iam; else verify-full",
)
.example("verify-full");

pub(super) const DATABASE_CA_FILE: Setting =
    Setting::text("OUTBOX_DATABASE_CA_FILE", "the path of a PEM file")
        .about("The only authorities that may sign the server's certificate.")
        .default_is("those of RDS, Aurora and RDS Proxy, built in")
        .example("/opt/rds/global-bundle.pem");

pub(super) const CONNECT_TIMEOUT: Setting =
    Setting::whole("OUTBOX_DATABASE_CONNECT_TIMEOUT_SECONDS", 1..=30)
        .about("Longest time to open one connection: name lookup, network, TLS and sign-in.")
        .unit("seconds")
        .default("5");

pub(super) const SCHEMA: Setting = Setting::text("OUTBOX_SCHEMA", "1 to 63 bytes")
    .about("Schema of the outbox tables and functions.")
    .default("outbox");

pub(super) const DESTINATIONS: Setting = Setting::text(
    "OUTBOX_DESTINATIONS",
    "a JSON object of names and SQS queue URLs or ARNs or SNS topic ARNs",
)
.about("Where each destination's messages go; the relay needs this or the file.")
.example(r#"{"orders": "arn:aws:sqs:eu-west-1:123456789012:orders"}"#);

pub(super) const DESTINATIONS_FILE: Setting =
    Setting::text("OUTBOX_DESTINATIONS_FILE", "the path of a JSON file")
        .about("The same object in a file, for more than an environment holds.")
        .example("/opt/outbox/destinations.json");

pub(super) const BATCH_SIZE: Setting = Setting::whole("OUTBOX_BATCH_SIZE", 1..=10_000)
    .about("Most messages of one claim.")
    .unit("messages")
    .default("500");

pub(super) const CONCURRENCY: Setting = Setting::whole("OUTBOX_CONCURRENCY", 1..=256)
    .about("Requests to SQS and SNS in flight at once.")
    .unit("requests")
    .default("16");

pub(super) const LEASE: Setting = Setting::whole("OUTBOX_LEASE_SECONDS", 10..=3_600)
    .about("How long a claim keeps its messages from other relays; no less than a run may last.")
    .unit("seconds")
    .default("120");

pub(super) const MAX_ATTEMPTS: Setting = Setting::whole("OUTBOX_MAX_ATTEMPTS", 1..=1_000)
    .about("Attempts after which a message that keeps failing is dead.")
    .unit("attempts")
    .default("10");

pub(super) const BACKOFF_BASE: Setting = Setting::whole("OUTBOX_BACKOFF_BASE_MS", 1..=3_600_000)
    .about("Longest wait after a message's first failure; each further failure doubles it.")
    .unit("milliseconds")
    .default("1000");

pub(super) const BACKOFF_MAX: Setting = Setting::whole("OUTBOX_BACKOFF_MAX_MS", 1..=86_400_000)
    .about("Longest wait after any failure; no less than the base.")
    .unit("milliseconds")
    .default("300000");

pub(super) const LINGER: Setting = Setting::whole("OUTBOX_LINGER_SECONDS", 0..=850)
    .about("How long a drained run goes on polling for new messages; 0 leaves at once.")
    .unit("seconds")
    .default("0");

pub(super) const POLL: Setting = Setting::whole("OUTBOX_POLL_MS", 10..=60_000)
    .about("Pause between polls while lingering.")
    .unit("milliseconds")
    .default("200");

pub(super) const DEADLINE_MARGIN: Setting =
    Setting::whole("OUTBOX_DEADLINE_MARGIN_MS", 500..=60_000)
        .about("Time before its deadline at which a run stops sending, to mark and to answer.")
        .unit("milliseconds")
        .default("3000");

pub(super) const ENABLED: Setting = Setting::one_of("OUTBOX_ENABLED", &["true", "false"])
    .about("Kill switch: false ends every relay run at once, while producers go on writing.")
    .default("true");

pub(super) const FUNCTION_TIMEOUT: Setting =
    Setting::whole("OUTBOX_FUNCTION_TIMEOUT_SECONDS", 1..=900)
        .about("The relay function's own timeout, so that a lease shorter than a run is refused.")
        .unit("seconds")
        .default_is("none; set it to the function's timeout")
        .example("60");

pub(super) const RETENTION: Setting = Setting::whole("OUTBOX_RETENTION_HOURS", 0..=87_600)
    .about("How long a dispatched message is kept before it is purged.")
    .unit("hours")
    .default("168");

pub(super) const PURGE_BATCH_SIZE: Setting = Setting::whole("OUTBOX_PURGE_BATCH_SIZE", 1..=100_000)
    .about("Most messages of one purge statement.")
    .unit("messages")
    .default("2000");

pub(super) const ARCHIVE: Setting =
    Setting::text("OUTBOX_ARCHIVE", "s3://BUCKET or s3://BUCKET/PREFIX")
        .about("Where dispatched messages are archived before they are purged.")
        .default_is("none; they are only deleted")
        .example("s3://my-archive/outbox");

pub(super) const LOG_LEVEL: Setting =
    Setting::one_of("OUTBOX_LOG_LEVEL", &["error", "warn", "info", "debug", "trace"])
        .about("Least severity that is logged; libraries stay at warn, so that no secret shows.")
        .default("info");

pub(super) const LOG_FORMAT: Setting = Setting::one_of("OUTBOX_LOG_FORMAT", &["json", "text"])
    .about("Form of a log line.")
    .default("json");

pub(super) const METRICS_NAMESPACE: Setting = Setting::text(
    "OUTBOX_METRICS_NAMESPACE",
    "off, or 1 to 255 letters, digits and . - _ / # : that begin with neither : nor AWS/",
)
.about("CloudWatch namespace of the functions' metrics; off writes none.")
.default("Outbox");

/// All settings, in the order of `.env.example`.
pub(super) const ALL: &[&Setting] = &[
    &DATABASE_URL,
    &DATABASE_HOST,
    &DATABASE_PORT,
    &DATABASE_NAME,
    &DATABASE_USER,
    &DATABASE_AUTH,
    &DATABASE_SECRET_ARN,
    &DATABASE_PASSWORD,
    &DATABASE_SSLMODE,
    &DATABASE_CA_FILE,
    &CONNECT_TIMEOUT,
    &SCHEMA,
    &DESTINATIONS,
    &DESTINATIONS_FILE,
    &BATCH_SIZE,
    &CONCURRENCY,
    &LEASE,
    &MAX_ATTEMPTS,
    &BACKOFF_BASE,
    &BACKOFF_MAX,
    &LINGER,
    &POLL,
    &DEADLINE_MARGIN,
    &ENABLED,
    &FUNCTION_TIMEOUT,
    &RETENTION,
    &PURGE_BATCH_SIZE,
    &ARCHIVE,
    &LOG_LEVEL,
    &LOG_FORMAT,
    &METRICS_NAMESPACE,
];

//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// The transactional outbox: what waits, what is dead, and what to do about it.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, after_help = SETTINGS_AND_EXIT_CODES)]
pub(crate) struct Args {
    /// Form of the answer: a table for people, one JSON document, or one JSON object a line
    #[arg(long, global = true, value_enum, value_name = "FORM", default_value_t = Form::Table)]
    pub(crate) output: Form,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const SETTINGS_AND_EXIT_CODES: &str = "\
Settings come from the environment, as for the functions: OUTBOX_DATABASE_URL (or DATABASE_URL),
OUTBOX_SCHEMA, and for `relay` OUTBOX_DESTINATIONS. `.env.example` lists all of them.

Exit codes: 0 ok, 1 a problem was found, 2 wrong usage or settings, 3 the database cannot be reached.";

/// Form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    Table,
    Json,
    Ndjson,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Create the outbox in the database, or bring it up to date
    Migrate(Migrate),
    /// Enqueue messages from a file, one JSON object a line
    Enqueue(Enqueue),
    /// Publish what is due, until stopped; a first SIGTERM or SIGINT lets requests in flight finish
    Relay(Relay),
    /// Delete dispatched messages past OUTBOX_RETENTION_HOURS
    Purge,
    /// Show how much waits where; exits 1 if messages are dead or one has been due for over 5 minutes
    Status,
    /// Make dead messages pending again
    Redrive(Redrive),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Migrate {
    /// Print the SQL of all migrations instead, without connecting to anything
    #[arg(long, conflicts_with = "check")]
    pub(crate) print_sql: bool,
    /// Name the migrations that are missing instead, and exit 1 if there are any
    #[arg(long)]
    pub(crate) check: bool,
}

/// Each line is an object with destination, message_type and payload, and any further argument of
/// outbox.enqueue. Lines are committed 1,000 at a time; a bad line is named and nothing of its 1,000
/// is kept. Give every line its message_id, and a file can be enqueued again without harm.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Enqueue {
    /// The file; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Skip the lines before this one, which were committed by an earlier call
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) from_line: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Relay {
    /// Stop as soon as nothing is left to send: exits 0 then, even if messages died (it says how
    /// many), and 1 if some are still waiting for another attempt after 30 s without any success
    #[arg(long)]
    pub(crate) until_drained: bool,
}

/// Which dead messages: ids, or a destination or a code or both, or all. Ids need no confirmation; the
/// others ask for it, or for --yes where nobody can be asked. Exits 1 if nothing was redriven, or fewer
/// messages than ids.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Redrive {
    /// Ids of messages, as in outbox.dead_letter
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<i64>,
    /// Only messages of this destination
    #[arg(long, value_name = "NAME")]
    pub(crate) destination: Option<String>,
    /// Only messages whose last error has this code
    #[arg(long)]
    pub(crate) code: Option<String>,
    /// All dead messages that the other options leave
    #[arg(long)]
    pub(crate) all: bool,
    /// Why; it is kept in outbox.audit
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

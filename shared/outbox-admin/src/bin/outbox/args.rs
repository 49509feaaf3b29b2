//! What can be typed. The comments here are the program's help.

#![expect(clippy::doc_markdown, reason = "help shows names as they are, without backticks")]

mod bench;
mod doctor;
mod messages;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum, value_parser};
use outbox_admin::{Age, operator_name};

pub(crate) use bench::Bench;
pub(crate) use doctor::Doctor;
pub(crate) use messages::{Becomes, Completions, List, Man, Show, Tail, Which};

/// The transactional outbox: what waits, what is dead, and what to do about it
#[derive(Debug, Parser)]
#[command(name = "outbox", version, after_help = SETTINGS_AND_EXIT_CODES)]
pub(crate) struct Args {
    /// Form of the answer
    #[arg(long, global = true, value_enum, default_value_t = Form::Table)]
    pub(crate) output: Form,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const SETTINGS_AND_EXIT_CODES: &str = "\
Settings come from the environment, as for the functions: OUTBOX_DATABASE_URL (or
DATABASE_URL), OUTBOX_SCHEMA, for relay and doctor
OUTBOX_DESTINATIONS. .env.example has them all.

Exit codes: 0 ok, 1 a problem was found, 2 wrong usage or settings, 3 the database
cannot be reached.";

/// Form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people
    Table,
    /// One document
    Json,
    /// One object a line
    Ndjson,
}

#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub(crate) enum Verb {
    /// Create the outbox in the database, or bring it up to date
    ///
    /// Needs the server's own address: a transaction pooler is refused.
    Migrate(Migrate),
    /// Enqueue the messages of a file, one JSON object a line
    ///
    /// Each object has destination, message_type and payload, and any other argument of
    /// outbox.enqueue. A transaction holds 1,000 messages. A line that is no message, or
    /// that the database refuses, is named; nothing of its transaction is kept.
    ///
    /// A file whose lines have a message_id can be enqueued again: what is there stays.
    #[command(verbatim_doc_comment)]
    Enqueue(Enqueue),
    /// Publish what is due, again and again until stopped
    ///
    /// The first SIGTERM or SIGINT lets requests in flight finish and be marked, hands back
    /// the rest and exits 0; the second ends the program at once. While the database is
    /// away it tries again. A report is logged every minute.
    #[command(verbatim_doc_comment)]
    Relay(Relay),
    /// Delete dispatched messages past OUTBOX_RETENTION_HOURS
    ///
    /// Before that they are archived at OUTBOX_ARCHIVE, if that is set.
    #[command(verbatim_doc_comment)]
    Purge(Purge),
    /// Show how much waits where, what ran last, and whether anybody has to look
    ///
    /// Exits 1 if there is a problem, and says what to do about each: a message is dead or
    /// holds its group, one has been due for too long, a destination's requests fail so that
    /// its circuit breaker is open, no relay has run for ten minutes, a run failed, the
    /// database takes no writes, or a transaction has been open for an hour.
    #[command(verbatim_doc_comment)]
    Status(Status),
    /// Check the database, and every destination against the real queue or topic
    ///
    /// Run it with the relay's settings and credentials: it tells whether they may send, by a
    /// request without a message, which can't be carried out. To look at the destinations too it
    /// needs sqs:GetQueueAttributes, sns:GetTopicAttributes, and for the deliveries of a topic
    /// sns:ListSubscriptionsByTopic and sns:GetSubscriptionAttributes. Nothing is changed.
    /// Settings, indexes, triggers and rights that harm are told with what mends them.
    ///
    /// With another login, only the database: is it what --as says, with the rights for that?
    ///
    /// Exits 1 if there is a problem; a note is none.
    #[command(verbatim_doc_comment)]
    Doctor(Doctor),
    /// List messages, the newest first
    ///
    /// What is given must all match; without anything, the latest. A correlation id, a type or
    /// a code has no index: then messages are looked through for up to 10 s, and the answer says
    /// where to go on. A status, a message id or a limit that is soon reached is quick.
    ///
    /// Neither payloads nor headers are shown: outbox show has those, on request.
    #[command(verbatim_doc_comment)]
    List(List),
    /// Show all about a message: what happened, what it waits for, what to do
    ///
    /// Of a message that was enqueued to several destinations under one message id, all.
    /// Exits 1 if there is no such message; then it says where it may be.
    #[command(verbatim_doc_comment)]
    Show(Show),
    /// Follow messages as they are enqueued, fail, are dispatched or die, until interrupted
    ///
    /// Follows what is enqueued from now on, and the latest 500 that wait or are dead. One
    /// small statement a look; what comes and goes between two looks is told at the next.
    /// --output ndjson writes an object a line.
    #[command(verbatim_doc_comment)]
    Tail(Tail),
    /// Make dead messages pending again
    ///
    /// Give ids, a destination, a code, a group, an age, or --all; what is given must all
    /// match. Anything but ids asks for confirmation, or wants --yes where there is no
    /// terminal to ask at. Each 5,000 messages are a transaction with a row in outbox.audit;
    /// if it ends early, the same command takes the rest.
    ///
    /// Exits 1 if nothing was redriven, fewer messages than there were ids, or if some were
    /// skipped because somebody else held their rows.
    #[command(verbatim_doc_comment)]
    Redrive(Redrive),
    /// Delete dead messages for good
    ///
    /// Takes the same options as redrive, and always asks for confirmation, or wants --yes.
    /// Their message ids are kept in outbox.audit. A group that one of them held goes on.
    ///
    /// Exits 1 as redrive does.
    #[command(verbatim_doc_comment)]
    Discard(Discard),
    /// Stop publishing to a destination, or to all, from the next claim on
    ///
    /// Producers go on writing. Exits 1 if it was paused already.
    #[command(verbatim_doc_comment)]
    Pause(Pause),
    /// Go on publishing
    ///
    /// A destination that is paused, or whose circuit breaker is open because its requests
    /// failed. A pause of all and those of single destinations are kept apart.
    ///
    /// With --group, a message group that waits behind a dead message (on_dead: hold): it
    /// goes on without that message, which stays dead.
    ///
    /// Exits 1 if there was nothing to resume.
    #[command(verbatim_doc_comment)]
    Resume(Resume),
    /// Measure what the database and the relay can do, in a schema of its own
    ///
    /// Makes a schema outbox_bench_..., fills it, and drops it at the end, also after an error
    /// and at Ctrl-C or SIGTERM; the real outbox is not touched. A second signal, or kill -9,
    /// leaves it behind: then the next bench says how to drop it. The login needs CREATE on
    /// the database, and the server's own address: a transaction pooler is refused.
    ///
    /// In each round the same messages are claimed and marked by the statements alone, one
    /// after another, and then by the whole relay with a publisher that accepts everything
    /// at once. Neither SQS and SNS nor the way to them is measured. Whatever else the
    /// machine and the server do shows in the figures.
    ///
    /// It writes WAL, which replicas and archives get too, and asks before it does so, or
    /// wants --yes where there is no terminal to ask at.
    #[command(verbatim_doc_comment)]
    Bench(Bench),
    /// Print what a shell needs to complete verbs and options
    Completions(Completions),
    /// Print the manual page, or write one for each verb
    Man(Man),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Migrate {
    /// Only print the SQL of all migrations; connects to nothing
    #[arg(long, conflicts_with = "check")]
    pub(crate) print_sql: bool,
    /// Only name what is missing, and exit 1 if anything is
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Enqueue {
    /// The file; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Begin with this line: to go on where an earlier call ended
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u64).range(1..))]
    pub(crate) from_line: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Relay {
    /// Stop when nothing is left to send, and show what was done
    ///
    /// Exits 0 then, even if messages have died or are held by a pause, and 1 if after 30 s
    /// without any success some still wait for another attempt.
    #[arg(long, verbatim_doc_comment)]
    pub(crate) until_drained: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Purge {
    /// Only show how many there are, and where they would be archived
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// How long a message may be due before that is a problem, such as 90s or 15m; 5m if
    /// left out
    #[arg(long, value_name = "AGE", verbatim_doc_comment)]
    pub(crate) oldest_due_limit: Option<Age>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Pause {
    /// Logical name of the destination; all if left out
    #[arg(value_name = "DESTINATION")]
    pub(crate) destination: Option<String>,
    /// Why; it is kept in outbox.audit
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) who: Who,
}

/// Who asks.
#[derive(Debug, clap::Args)]
pub(crate) struct Who {
    /// Who asks, for outbox.audit, where the user of this machine does not tell
    #[arg(long, value_name = "NAME", value_parser = operator_name)]
    pub(crate) operator: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Resume {
    /// Logical name of the destination; the pause of all if left out
    #[arg(value_name = "DESTINATION")]
    pub(crate) destination: Option<String>,
    /// A message group of it, which a dead message holds
    #[arg(long, value_name = "GROUP")]
    pub(crate) group: Option<String>,
    /// Why; it is kept in outbox.audit
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) who: Who,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Redrive {
    #[command(flatten)]
    pub(crate) selected: Selected,
    /// Messages a second that fall due, of each destination, from 1 to 10000; all at once
    /// if left out
    ///
    /// A message group keeps its order, so that its later messages wait for those redriven.
    #[arg(long, value_name = "N", allow_negative_numbers = true, verbatim_doc_comment)]
    pub(crate) rate: Option<i64>,
    /// Give each a fresh message_id
    ///
    /// A FIFO target discards a message whose id it has accepted within five minutes. With a
    /// fresh one it takes it, and so does every consumer, even one that had it before. The
    /// old and the new ids are kept in outbox.audit.
    /// The old id is free then: a producer that repeats its enqueue with it makes a second
    /// message.
    #[arg(long, verbatim_doc_comment)]
    pub(crate) new_dedup_id: bool,
    #[command(flatten)]
    pub(crate) terms: Terms,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Discard {
    #[command(flatten)]
    pub(crate) selected: Selected,
    #[command(flatten)]
    pub(crate) terms: Terms,
}

/// Which dead messages.
#[derive(Debug, clap::Args)]
pub(crate) struct Selected {
    /// Ids of dead messages, as outbox.dead_letter shows them
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<i64>,
    /// Those of this destination
    #[arg(long, value_name = "NAME")]
    pub(crate) destination: Option<String>,
    /// Those whose last error has this code
    #[arg(long)]
    pub(crate) code: Option<String>,
    /// Those of this message group
    #[arg(long)]
    pub(crate) group: Option<String>,
    /// Those that died longer ago than this, such as 30m, 2h or "1day 12h"
    #[arg(long, value_name = "AGE")]
    pub(crate) dead_before: Option<Age>,
    /// Those that died no longer ago than this
    #[arg(long, value_name = "AGE")]
    pub(crate) dead_after: Option<Age>,
    /// All of them, or all that the other options leave
    #[arg(long)]
    pub(crate) all: bool,
}

/// On what terms something is done to them.
#[derive(Debug, clap::Args)]
pub(crate) struct Terms {
    /// Only show how many there are, by destination and code; needs no reason
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Why, for outbox.audit
    #[arg(long, value_name = "TEXT", required_unless_present = "dry_run")]
    pub(crate) reason: Option<String>,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) who: Who,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed_and_its_help_fits_a_terminal() {
        let mut command = Args::command();
        command.build();
        command.clone().debug_assert();
        let helps = command.get_subcommands_mut().map(|verb| verb.render_long_help().to_string());
        for help in helps.collect::<Vec<_>>() {
            for line in help.lines() {
                assert!(line.chars().count() <= 100, "{line}");
            }
        }
    }

    #[test]
    fn a_verb_takes_the_output_before_and_behind_it() {
        for args in
            [["outbox", "--output", "json", "status"], ["outbox", "status", "--output", "json"]]
        {
            assert_eq!(Args::try_parse_from(args).unwrap().output, Form::Json);
        }
    }

    #[test]
    fn a_redrive_or_a_discard_demands_a_reason_unless_it_only_looks() {
        for verb in ["redrive", "discard"] {
            let error = Args::try_parse_from(["outbox", verb, "7"]).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains("--reason"), "{error}");
            assert!(Args::try_parse_from(["outbox", verb, "7", "--dry-run"]).is_ok());
        }
    }

    #[test]
    fn an_age_that_is_none_is_refused_with_an_example() {
        let args = ["outbox", "redrive", "--dead-before", "2", "--dry-run"];
        let error = Args::try_parse_from(args).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("1s to 3650days, for example 30m"), "{error}");
    }
}

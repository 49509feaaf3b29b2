//! The program `outbox`: the operator's verbs on a command line.
//!
//! The database and everything else come from the same settings as the functions'. An answer goes to
//! standard output in the form asked for, everything else to standard error. However it ends, it ends
//! with one of four exit codes, and an error is one sentence.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed unwrap fails the test"))]

mod args;
mod bench;
mod colour;
mod context;
mod discard;
mod doctor;
mod drain;
mod enqueue;
mod exit;
mod list;
mod manual;
mod migrate;
mod ndjson;
mod operation;
mod output;
mod paint;
mod pause;
mod purge;
mod redrive;
mod relay;
mod show;
mod status;
mod tail;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Verb};
use crate::exit::{Exit, Failure};
use crate::output::Output;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Args { output, verb } = Args::parse();
    match carry_out(verb, Output(output)).await {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.tell();
            failure.exit.into()
        }
    }
}

async fn carry_out(verb: Verb, output: Output) -> Result<Exit, Failure> {
    match verb {
        Verb::Migrate(args) => migrate::run(&args, output).await,
        Verb::Enqueue(args) => enqueue::run(args, output).await,
        Verb::Relay(args) => relay::run(&args, output).await,
        Verb::Purge(args) => purge::run(&args, output).await,
        Verb::Doctor(args) => doctor::run(args, output).await,
        Verb::Status(args) => status::run(&args, output).await,
        Verb::List(args) => list::run(args, output).await,
        Verb::Show(args) => show::run(&args, output).await,
        Verb::Tail(args) => tail::run(&args, output).await,
        Verb::Redrive(args) => redrive::run(args, output).await,
        Verb::Discard(args) => discard::run(args, output).await,
        Verb::Pause(args) => pause::pause(args, output).await,
        Verb::Resume(args) => pause::resume(args, output).await,
        Verb::Bench(args) => bench::run(&args, output).await,
        Verb::Completions(args) => manual::completions(&args),
        Verb::Man(args) => manual::pages(&args),
    }
}

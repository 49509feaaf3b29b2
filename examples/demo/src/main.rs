//! `make demo`: the whole way of an order's event, from one transaction to its consumers.
//!
//! Nothing here is a stand-in: the database is made by the program `outbox`, the functions are those that are
//! deployed, run under the Lambda runtime protocol, and the messages travel through the local stack's SQS and SNS.
//! Whatever is claimed is checked; the first claim that is not true ends the demo with exit status 1.
//!
//! [`tell`] is the story, and each of its steps is a file of `steps`. Everything that a run makes has a name of its
//! own and is removed at the end, so that two demos can run at once and neither leaves anything.

mod console;
mod consumer;
mod database;
mod lambda;
mod logs;
mod operator;
mod order_service;
mod queues;
mod stage;
mod steps;

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use tokio::signal::unix::{SignalKind, signal};

use crate::console::Console;
use crate::stage::{Scratch, Stage};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut console = Console::new();
    let told = match Scratch::new().await {
        Ok(scratch) => tell_and_clear(&scratch, &mut console).await,
        Err(error) => Err(error),
    };
    match told {
        Ok(()) => console.close(),
        Err(error) => console.fail(&error),
    }
}

/// However the story ends, its processes are stopped and its database, queues and topic removed.
async fn tell_and_clear(scratch: &Scratch, console: &mut Console) -> Result<()> {
    let told = tokio::select! {
        biased; // A Ctrl-C also ends the children, and is the reason to tell.
        stopped = stop_signal() => stopped,
        told = tell(scratch, console) => told,
    };
    let cleared = scratch.clear().await;
    scratch.logs.close(told.is_ok());
    told.and(cleared)
}

async fn tell(scratch: &Scratch, console: &mut Console) -> Result<()> {
    let mut stage = Stage::set(scratch, console).await?;
    let orders = steps::orders::are_placed_with_their_events(&mut stage, console).await?;
    steps::orders::are_enqueued_once(&mut stage, &orders, console).await?;
    let waiting = steps::relay::publishes_what_is_due(&mut stage, console).await?;
    steps::relay::messages_arrive(&mut stage, &orders, console).await?;
    steps::dead_letter::is_redriven(&mut stage, &waiting, console).await?;
    steps::inbox::takes_copies_once(&mut stage, &orders, console).await?;
    steps::purge::deletes_what_is_old_and_sent(&mut stage, console).await
}

/// Returns when somebody wants this to stop.
async fn stop_signal() -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let name = tokio::select! {
        _ = interrupt.recv() => "Ctrl-C",
        _ = terminate.recv() => "SIGTERM",
        _ = hangup.recv() => "SIGHUP",
    };
    Err(anyhow!("stopped by {name}; what this run had made is removed"))
}

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
mod operator;
mod order_service;
mod programs;
mod queues;
mod stage;
mod steps;

use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, anyhow};
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

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
    let told = tell_unless_stopped(scratch, console).await;
    // From here on a further Ctrl-C changes nothing, so this must come to an end.
    let cleared = timeout(Duration::from_secs(20), scratch.clear()).await;
    let cleared = cleared.unwrap_or_else(|_| Err(anyhow!("no end of it after 20 s")));
    match &told {
        Err(error) if !error.is::<Stopped>() => {
            if let Some(logs) = scratch.logs.kept() {
                console.note(&format!("logs of this run: {logs}"));
            }
        }
        _ => scratch.logs.close(),
    }
    match (told, cleared) {
        (Err(error), Err(left)) => {
            Err(anyhow!("{error:#}\nand not all of this run is removed: {left:#}"))
        }
        (Err(error), Ok(())) if error.is::<Stopped>() => {
            Err(anyhow!("{error}, and all of this run is removed"))
        }
        (told, cleared) => told.and(cleared),
    }
}

async fn tell_unless_stopped(scratch: &Scratch, console: &mut Console) -> Result<()> {
    let mut stopped = pin!(stopped());
    let told = tokio::select! {
        stopped = &mut stopped => return Err(stopped.into()),
        told = tell(scratch, console) => told,
    };
    // A Ctrl-C stops the children too, and one of them may be seen to end first.
    let stopped_too = match told {
        Ok(()) => None,
        Err(_) => timeout(Duration::from_millis(100), stopped).await.ok(),
    };
    stopped_too.map_or(told, |stopped| Err(stopped.into()))
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

/// Somebody wants this to stop.
#[derive(Debug, Error)]
#[error("stopped by {0}")]
struct Stopped(&'static str);

async fn stopped() -> Stopped {
    let received = async |kind| match signal(kind) {
        Ok(mut signals) => signals.recv().await,
        // Then this signal ends the process as it always would.
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        _ = received(SignalKind::interrupt()) => Stopped("Ctrl-C"),
        _ = received(SignalKind::terminate()) => Stopped("SIGTERM"),
        _ = received(SignalKind::hangup()) => Stopped("SIGHUP"),
    }
}

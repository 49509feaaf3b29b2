//! `outbox relay`: the engine of the relay function as a process of its own.

use std::process;
use std::time::Duration;

use indicatif::ProgressBar;
use outbox::{Destination, Entry, Outcome, RunPolicy};
use outbox_lambda::{Program, aws_config, describe};
use outbox_publish::{AwsPublisher, Publish};
use outbox_relay::{Error, RunReport};
use outbox_store::Store;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing::level_filters::LevelFilter;

use crate::args::Relay;
use crate::context::{Context, process_name};
use crate::drain::drain;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) type Engine = outbox_relay::Relay<Counted<AwsPublisher>>;

/// A run is stopped after this, so that there is a report a minute.
const RUN: Duration = Duration::from_mins(1);

/// Between tries while the database is away; the pause doubles from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(30);

pub(crate) async fn run(args: &Relay, output: Output) -> Result<Exit, Failure> {
    let level = if args.until_drained { LevelFilter::ERROR } else { LevelFilter::INFO };
    let context = Context::new(Program::Relay, level)?;
    let stop = stop_at_signal()?;
    match (args.until_drained, context.settings.relay.enabled) {
        (true, true) => drain(&context, &stop, output).await,
        (true, false) => Err(Failure::problem("nothing is sent, because OUTBOX_ENABLED is false")),
        (false, true) => serve(&context, &stop).await,
        (false, false) => {
            tracing::warn!("nothing is sent, because OUTBOX_ENABLED is false");
            stop.cancelled().await;
            Ok(Exit::Ok)
        }
    }
}

/// Runs again and again until stopped, whether the database is there or not.
async fn serve(context: &Context, stop: &CancellationToken) -> Result<Exit, Failure> {
    let engine = engine(context, context.store()?, RUN, ProgressBar::hidden()).await;
    let mut pause = FIRST_PAUSE;
    while !stop.is_cancelled() {
        match run_for_a_minute(&engine, stop).await {
            Ok(_) => pause = FIRST_PAUSE,
            Err(error) if is_away(context, &error) => {
                let error = run_failure(context, &error).message;
                tracing::warn!(
                    error,
                    pause_seconds = pause.as_secs(),
                    "run failed and is tried again"
                );
                wait(pause, stop).await;
                pause = (pause * 2).min(LAST_PAUSE);
            }
            Err(error) => return Err(run_failure(context, &error)),
        }
    }
    Ok(Exit::Ok)
}

/// One run, which constant load would not let end by itself.
///
/// It is stopped and not given a deadline: that would cut off a claim about to be answered, whose messages
/// would then wait for their lease. What is in hand at a stop is marked or handed back.
async fn run_for_a_minute(engine: &Engine, stop: &CancellationToken) -> Result<RunReport, Error> {
    let stop = stop.child_token();
    let run = engine.run(None, &stop);
    tokio::pin!(run);
    tokio::select! {
        ended = &mut run => ended,
        () = tokio::time::sleep(RUN) => {
            stop.cancel();
            run.await
        }
    }
}

/// The engine, as the settings say but for how long it lingers.
pub(crate) async fn engine(
    context: &Context,
    store: Store,
    linger: Duration,
    progress: ProgressBar,
) -> Engine {
    let publisher = Counted { publisher: AwsPublisher::new(&aws_config().await), progress };
    let destinations = context.settings.relay.destinations.clone();
    let policy = RunPolicy { linger, ..context.settings.relay.policy.clone() };
    outbox_relay::Relay::new(store, publisher, destinations, policy, process_name())
}

/// A publisher that moves a progress bar.
pub(crate) struct Counted<P> {
    publisher: P,
    progress: ProgressBar,
}

impl<P: Publish> Publish for Counted<P> {
    async fn publish(&self, destination: &Destination, request: &[Entry]) -> Vec<Outcome> {
        let outcomes = self.publisher.publish(destination, request).await;
        let is_accepted = |outcome: &&Outcome| matches!(outcome, Outcome::Accepted { .. });
        self.progress.inc(outcomes.iter().filter(is_accepted).count() as u64);
        outcomes
    }
}

/// Waits that long, or until stopped.
pub(crate) async fn wait(pause: Duration, stop: &CancellationToken) {
    _ = tokio::time::timeout(pause, stop.cancelled()).await;
}

/// What a failed run means to the user.
pub(crate) fn run_failure(context: &Context, error: &Error) -> Failure {
    let failure = context.store_failure(error.store());
    match error {
        Error::Claim(_) => failure,
        Error::Mark { n_messages, .. } => {
            failure.and(&format!("{n_messages} messages are not marked and may go out again"))
        }
    }
}

/// Whether the database may be back in a moment, without anybody changing anything.
fn is_away(context: &Context, error: &Error) -> bool {
    describe(&context.settings.database, error.store()).is_transient()
}

/// Cancelled by the first SIGTERM or SIGINT; the second ends the process at once.
pub(crate) fn stop_at_signal() -> Result<CancellationToken, Failure> {
    let cannot_listen = |error| Failure::problem(format!("cannot listen to signals: {error}"));
    let mut sigterm = signal(SignalKind::terminate()).map_err(cannot_listen)?;
    let mut sigint = signal(SignalKind::interrupt()).map_err(cannot_listen)?;
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        tokio::select! { _ = sigterm.recv() => {} _ = sigint.recv() => {} }
        tracing::info!("stopping when requests in flight are answered and marked");
        stopping.cancel();
        tokio::select! { _ = sigterm.recv() => {} _ = sigint.recv() => {} }
        process::exit(Exit::Problem as i32);
    });
    Ok(stop)
}

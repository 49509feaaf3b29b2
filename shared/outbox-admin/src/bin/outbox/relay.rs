//! `outbox relay`: the engine of the relay function as a process of its own.

use std::process;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use outbox::{Destination, Entry, Outcome, RunPolicy};
use outbox_lambda::{Program, aws_config, explain};
use outbox_publish::{AwsPublisher, Publish};
use outbox_relay::{Error, RunReport};
use outbox_store::Store;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args::Relay;
use crate::context::{Context, host_name};
use crate::exit::{Exit, Failure};
use crate::output::{Output, table};

type Engine = outbox_relay::Relay<Counted<AwsPublisher>>;

/// A run lasts this long, so that there is a report a minute.
const RUN: Duration = Duration::from_secs(60);

/// Between tries while the database is away; it doubles from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// Between the runs of `--until-drained`, for what has to be tried again.
const NEXT_TRY: Duration = Duration::from_millis(500);

/// How long `--until-drained` goes on without any success.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn run(args: &Relay, output: Output) -> Result<Exit, Failure> {
    let context = Context::new(Program::Relay)?;
    let stop = stop_at_signal()?;
    if !context.settings.relay.enabled {
        tracing::warn!("nothing is sent, because OUTBOX_ENABLED is false");
    }
    match (args.until_drained, context.settings.relay.enabled) {
        (true, true) => drain(&context, &stop, output).await,
        (true, false) => Err(Failure::problem("OUTBOX_ENABLED is false, so nothing is sent")),
        (false, true) => serve(&context, &stop).await,
        (false, false) => {
            stop.cancelled().await;
            Ok(Exit::Ok)
        }
    }
}

/// Runs again and again, whatever becomes of the database, until stopped.
async fn serve(context: &Context, stop: &CancellationToken) -> Result<Exit, Failure> {
    let policy = RunPolicy { linger: RUN, ..context.settings.relay.policy.clone() };
    let engine = engine(context, context.store()?, policy, ProgressBar::hidden()).await;
    let mut pause = FIRST_PAUSE;
    while !stop.is_cancelled() {
        match engine.run(None, stop).await {
            Ok(_) => pause = FIRST_PAUSE,
            Err(error) if is_away(context, &error) => {
                let Failure { message, .. } = failure(context, &error);
                tracing::warn!(
                    error = message,
                    pause_seconds = pause.as_secs(),
                    "run failed and is tried again"
                );
                wait(pause, stop).await;
                pause = (pause * 2).min(LAST_PAUSE);
            }
            Err(error) => return Err(failure(context, &error)),
        }
    }
    Ok(Exit::Ok)
}

/// Runs until nothing is due, and nothing that failed here waits for another attempt.
async fn drain(
    context: &Context,
    stop: &CancellationToken,
    output: Output,
) -> Result<Exit, Failure> {
    let store = context.store()?;
    let progress = progress_bar(context, &store).await?;
    let policy = RunPolicy { linger: Duration::ZERO, ..context.settings.relay.policy.clone() };
    let engine = engine(context, store.clone(), policy, progress.clone()).await;

    let mut sum = RunReport::default();
    let mut last_success = Instant::now();
    let n_waiting = loop {
        let report = engine.run(None, stop).await.map_err(|error| failure(context, &error))?;
        if report.dispatched > 0 {
            last_success = Instant::now();
        }
        let is_drained = report.drained;
        add(&mut sum, report);
        // What was scheduled for later all along is no reason to wait; what failed is.
        let n_waiting = if sum.retried == 0 { 0 } else { scheduled(context, &store).await? };
        let is_done = is_drained && n_waiting == 0;
        if is_done || stop.is_cancelled() || last_success.elapsed() > PATIENCE {
            break n_waiting;
        }
        wait(NEXT_TRY, stop).await;
    };
    progress.finish_and_clear();
    output.show(&sum, || text(&sum, n_waiting))?;
    Ok(if sum.drained && n_waiting == 0 { Exit::Ok } else { Exit::Problem })
}

async fn engine(
    context: &Context,
    store: Store,
    policy: RunPolicy,
    progress: ProgressBar,
) -> Engine {
    let publisher = Counted { publisher: AwsPublisher::new(&aws_config().await), progress };
    let destinations = context.settings.relay.destinations.clone();
    // What people see on claimed rows. Of a long host name, as of a pod, the end tells more.
    let host: String = host_name().chars().rev().take(24).collect();
    let host: String = host.chars().rev().collect();
    let claimed_by = format!("{host}/{}", process::id());
    outbox_relay::Relay::new(store, publisher, destinations, policy, claimed_by)
}

/// A publisher that moves a progress bar.
struct Counted<P> {
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

/// Cancelled by the first SIGTERM or SIGINT; the second ends the process at once.
fn stop_at_signal() -> Result<CancellationToken, Failure> {
    let cannot_listen = |error| Failure::problem(format!("cannot listen to signals: {error}"));
    let mut sigterm = signal(SignalKind::terminate()).map_err(cannot_listen)?;
    let mut sigint = signal(SignalKind::interrupt()).map_err(cannot_listen)?;
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        tokio::select! { _ = sigterm.recv() => (), _ = sigint.recv() => () }
        tracing::info!("stopping when requests in flight are answered and marked");
        stopping.cancel();
        tokio::select! { _ = sigterm.recv() => (), _ = sigint.recv() => () }
        process::exit(Exit::Problem as i32);
    });
    Ok(stop)
}

/// Waits that long, or until stopped.
async fn wait(pause: Duration, stop: &CancellationToken) {
    _ = tokio::time::timeout(pause, stop.cancelled()).await;
}

/// Whether the database may be back in a moment, without anybody changing anything.
fn is_away(context: &Context, error: &Error) -> bool {
    explain(&context.settings.database, error)
        .map_or(error.store().is_transient(), |error| error.is_transient())
}

fn failure(context: &Context, error: &Error) -> Failure {
    let failure = context.failure(error.store());
    match error {
        Error::Claim(_) => failure,
        Error::Mark { n_messages, .. } => {
            let message = format!(
                "{n_messages} messages could not be marked, and those sent go out again: {}",
                failure.message
            );
            Failure { message, ..failure }
        }
    }
}

async fn progress_bar(context: &Context, store: &Store) -> Result<ProgressBar, Failure> {
    let backlog = store.backlog().await.map_err(|error| context.failure(&error))?;
    let n_due: i64 = backlog.iter().map(|backlog| backlog.due).sum();
    let style =
        ProgressStyle::with_template("{bar:32} {pos}/{len} dispatched, {per_sec}, {eta} left");
    Ok(ProgressBar::new(n_due.unsigned_abs())
        .with_style(style.expect("the template is well formed")))
}

async fn scheduled(context: &Context, store: &Store) -> Result<i64, Failure> {
    let backlog = store.backlog().await.map_err(|error| context.failure(&error))?;
    Ok(backlog.iter().map(|backlog| backlog.scheduled).sum())
}

fn add(sum: &mut RunReport, report: RunReport) {
    sum.claimed += report.claimed;
    sum.dispatched += report.dispatched;
    sum.retried += report.retried;
    sum.dead += report.dead;
    sum.fenced += report.fenced;
    sum.released += report.released;
    sum.duration_ms += report.duration_ms;
    (sum.drained, sum.oldest_due_seconds) = (report.drained, report.oldest_due_seconds);
}

fn text(sum: &RunReport, n_waiting: i64) -> String {
    let counts = [
        ("dispatched", sum.dispatched),
        ("retried", sum.retried),
        ("dead", sum.dead),
        ("fenced", sum.fenced),
        ("released", sum.released),
    ];
    let rows = counts.iter().map(|(name, count)| vec![(*name).to_owned(), count.to_string()]);
    let mut text = table(&["outcome", "messages"], rows);
    text += match (sum.drained, n_waiting) {
        (true, 0) => "\nnothing is left to send\n",
        (true, _) => "\nsome messages wait for another attempt; see `outbox status`\n",
        (false, _) => "\nstopped before everything was sent; see `outbox status`\n",
    };
    text
}

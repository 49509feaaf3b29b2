//! `outbox relay --until-drained`: runs until nothing is left to send, and shows what was done.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use outbox_relay::RunReport;
use outbox_store::{Backlog, Store};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Output, messages};
use crate::relay::{engine, run_failure, wait};
use crate::status::held_by_pause;

/// Between two runs, for what has to be tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// How long to go on without getting any further.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was done, and what is left.
#[derive(Serialize)]
struct Drained {
    #[serde(flatten)]
    sum: RunReport,
    /// Messages that failed and still wait for another attempt, but for those that a pause holds.
    retrying: u64,
    /// How much a pause or a dead message holds, and where.
    #[serde(skip)]
    held: Vec<String>,
}

/// Runs until nothing is due, and nothing that has failed waits for another attempt.
pub(crate) async fn drain(
    context: &Context,
    stop: &CancellationToken,
    output: Output,
) -> Result<Exit, Failure> {
    let store = context.store()?;
    store.check_version().await.map_err(|error| context.failure(error))?;
    let mut backlog = count(context, &store).await?;
    let progress = progress_bar(not_paused(&backlog, |backlog| backlog.due));
    let engine = engine(context, store.clone(), Duration::ZERO, progress.clone()).await;

    let mut sum = RunReport::default();
    let mut got_further_at = Instant::now();
    loop {
        let report = engine.run(None, stop).await.map_err(|error| run_failure(context, &error))?;
        if report.dispatched + report.dead > 0 {
            got_further_at = Instant::now();
        }
        add(&mut sum, &report);
        // What waits for a time of its own is no reason to stay; what failed is. The count is from before
        // the run: of a message whose wait ends between a run and a count, neither would know.
        let was_retrying = not_paused(&backlog, |backlog| backlog.retrying) > 0;
        let is_done = report.drained && report.retried == 0 && !was_retrying;
        backlog = count(context, &store).await?;
        if is_done || stop.is_cancelled() || got_further_at.elapsed() > PATIENCE {
            break;
        }
        wait(PAUSE, stop).await;
    }
    progress.finish_and_clear();
    let retrying = not_paused(&backlog, |backlog| backlog.retrying);
    let drained = Drained { sum, retrying, held: held(&backlog) };
    output.show(&drained, || text(&drained))?;
    Ok(if drained.sum.drained && retrying == 0 { Exit::Ok } else { Exit::Problem })
}

async fn count(context: &Context, store: &Store) -> Result<Vec<Backlog>, Failure> {
    store.backlog().await.map_err(|error| context.failure(error))
}

/// The sum over all destinations that are not paused.
fn not_paused(backlog: &[Backlog], count: fn(&Backlog) -> i64) -> u64 {
    backlog.iter().filter(|backlog| !backlog.paused).map(count).sum::<i64>().unsigned_abs()
}

/// What waits for a person, and not for a relay.
fn held(backlog: &[Backlog]) -> Vec<String> {
    let behind = backlog.iter().filter(|backlog| !backlog.paused && backlog.held > 0);
    let (n_held, names) = behind.fold((0, Vec::new()), |(n_held, mut names), backlog| {
        names.push(backlog.destination.as_str());
        (n_held + backlog.held.unsigned_abs(), names)
    });
    let by_the_dead = (n_held > 0).then(|| {
        format!(
            "held behind a dead message of their group: {} for {}; see outbox list --status dead",
            messages(n_held),
            names.join(", ")
        )
    });
    held_by_pause(backlog).into_iter().chain(by_the_dead).collect()
}

/// Shows on a terminal only.
fn progress_bar(n_due: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:32} {pos} of {len} dispatched, {eta} left");
    ProgressBar::new(n_due).with_style(style.expect("the template is well formed"))
}

fn add(sum: &mut RunReport, report: &RunReport) {
    sum.claimed += report.claimed;
    sum.dispatched += report.dispatched;
    sum.retried += report.retried;
    sum.dead += report.dead;
    sum.fenced += report.fenced;
    sum.released += report.released;
    sum.duration_ms += report.duration_ms;
    sum.drained = report.drained;
    sum.oldest_due_seconds = report.oldest_due_seconds;
}

fn text(Drained { sum, retrying, held }: &Drained) -> String {
    let seconds = Duration::from_millis(sum.duration_ms).as_secs_f64();
    let mut lines = vec![format!("dispatched {} in {seconds:.1} s", messages(sum.dispatched))];
    if sum.retried > 0 {
        let n_attempts = sum.retried;
        lines.push(format!("failed attempts: {n_attempts}; outbox show ID tells why"));
    }
    if sum.dead > 0 {
        lines.push(format!("dead: {}; see outbox list --status dead", messages(sum.dead)));
    }
    lines.extend_from_slice(held);
    lines.push(match (sum.drained, *retrying) {
        (true, 0) if !held.is_empty() => "nothing else is left to send".to_owned(),
        (true, 0) => "nothing is left to send".to_owned(),
        (true, n_retrying) => format!("waiting for another attempt: {}", messages(n_retrying)),
        (false, _) => "not all was sent; see outbox status".to_owned(),
    });
    lines.join("\n")
}

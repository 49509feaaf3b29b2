//! `outbox relay --until-drained`: runs until nothing is left to send, and shows what was done.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use outbox_relay::RunReport;
use outbox_store::{Backlog, Store};
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Output, messages};
use crate::relay::{engine, run_failure, wait};

/// Between two runs, for what has to be tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// How long to go on without getting any further.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs until nothing is due, and nothing that failed on the way waits for another attempt.
pub(crate) async fn drain(
    context: &Context,
    stop: &CancellationToken,
    output: Output,
) -> Result<Exit, Failure> {
    let store = context.store()?;
    store.check_version().await.map_err(|error| context.failure(error))?;
    let progress = progress_bar(count(context, &store, |backlog| backlog.due).await?);
    let engine = engine(context, store.clone(), Duration::ZERO, progress.clone()).await;

    let mut sum = RunReport::default();
    let mut got_further_at = Instant::now();
    let n_waiting = loop {
        let report = engine.run(None, stop).await.map_err(|error| run_failure(context, &error))?;
        if report.dispatched + report.dead > 0 {
            got_further_at = Instant::now();
        }
        add(&mut sum, &report);
        // What waits for a time of its own is no reason to stay; what failed is.
        let has_failed = sum.retried > 0;
        let n_waiting =
            if has_failed { count(context, &store, |backlog| backlog.scheduled).await? } else { 0 };
        let is_done = report.drained && n_waiting == 0;
        if is_done || stop.is_cancelled() || got_further_at.elapsed() > PATIENCE {
            break n_waiting;
        }
        wait(PAUSE, stop).await;
    };
    progress.finish_and_clear();
    output.show(&sum, || text(&sum, n_waiting))?;
    Ok(if sum.drained && n_waiting == 0 { Exit::Ok } else { Exit::Problem })
}

async fn count(context: &Context, store: &Store, of: fn(&Backlog) -> i64) -> Result<u64, Failure> {
    let backlog = store.backlog().await.map_err(|error| context.failure(error))?;
    Ok(backlog.iter().map(of).sum::<i64>().unsigned_abs())
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

fn text(sum: &RunReport, n_waiting: u64) -> String {
    let seconds = Duration::from_millis(sum.duration_ms).as_secs_f64();
    let mut lines = vec![format!("dispatched {} in {seconds:.1} s", messages(sum.dispatched))];
    if sum.retried > 0 {
        let n_attempts = sum.retried;
        lines.push(format!(
            "failed attempts: {n_attempts}; see last_error in outbox.message_status"
        ));
    }
    if sum.dead > 0 {
        lines.push(format!("dead: {}; see outbox.dead_letter for the reason", messages(sum.dead)));
    }
    lines.push(match (sum.drained, n_waiting) {
        (true, 0) => "nothing is left to send".to_owned(),
        (true, _) => format!("waiting for their time or another attempt: {}", messages(n_waiting)),
        (false, _) => "not all was sent; see outbox status".to_owned(),
    });
    lines.join("\n")
}

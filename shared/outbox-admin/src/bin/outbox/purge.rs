//! `outbox purge`

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use outbox_admin::{Purge, PurgeError, PurgeFailure, PurgePreview, PurgeReport, TimeLimits};
use outbox_archive::Archive;
use outbox_lambda::{Program, aws_config};

use crate::args;
use crate::context::{Context, process_name};
use crate::exit::{Exit, Failure};
use crate::output::{Output, messages, table};

pub(crate) async fn run(args: &args::Purge, output: Output) -> Result<Exit, Failure> {
    let context = Context::quiet(Program::CommandLine)?;
    let settings = context.settings.purge.clone();
    let archive = match settings.archive {
        Some(location) => Some(Archive::new(&aws_config().await, location)),
        None => None,
    };
    let store = context.store()?;
    let purge = Purge {
        store: &store,
        retention: settings.retention,
        batch_size: settings.batch_size,
        archive: archive.as_ref(),
        run_by: &process_name(),
    };
    if args.dry_run {
        let preview = purge.preview().await.map_err(|error| context.store_failure(&error))?;
        output.show(&preview, || preview_text(&preview, settings.retention))?;
        return Ok(Exit::Ok);
    }

    let (progress, started) = (progress_line(), Instant::now());
    let end = purge
        .run(TimeLimits::default(), |report| progress.set_message(so_far(report, started)))
        .await;
    progress.finish_and_clear();
    let (report, failure) = match end {
        Ok(report) => (report, None),
        Err(PurgeError { report, failure }) => (report, Some(failure)),
    };
    // A failure before anything was done has nothing to show.
    if failure.is_none() || report.purged + report.archived > 0 {
        output.show(&report, || text(&report, settings.retention, archive.as_ref()))?;
    }
    match failure {
        Some(PurgeFailure::Store(error)) => Err(context.store_failure(&error)),
        Some(PurgeFailure::Archive(error)) => Err(Failure::problem(error.to_string())),
        None => Ok(Exit::Ok),
    }
}

/// Shows on a terminal only. How many there are to purge nobody counts: it would take as long as to purge them.
fn progress_line() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg}").expect("it is well formed");
    let progress = ProgressBar::new_spinner().with_style(style);
    progress.enable_steady_tick(Duration::from_millis(200));
    progress
}

/// `purged 20000 messages, 8000 a second`.
fn so_far(report: &PurgeReport, since: Instant) -> String {
    let elapsed_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
    let rate = report.purged.saturating_mul(1_000) / elapsed_ms;
    format!("purged {}, {rate} a second", messages(report.purged))
}

fn text(report: &PurgeReport, retention: Duration, archive: Option<&Archive>) -> String {
    let hours = retention.as_secs() / 3_600;
    let mut lines =
        vec![format!("purged {} dispatched over {hours} h ago", messages(report.purged))];
    if let Some(archive) = archive {
        let (archived, n_objects) = (messages(report.archived), report.objects);
        lines.push(format!("archived {archived} in {n_objects} objects at {}", archive.location()));
    } else if report.purged > 0 {
        lines.push("nothing was archived, because OUTBOX_ARCHIVE is not set".to_owned());
    }
    if !report.drained {
        lines.push(
            "not all was purged; the rest is held by others, or left to the next purge".to_owned(),
        );
    }
    lines.join("\n")
}

/// What would go, by destination, and whether a copy would stay.
fn preview_text(preview: &PurgePreview, retention: Duration) -> String {
    let more = if preview.is_bounded { " or more" } else { "" };
    let (matched, hours) = (messages(preview.matched.unsigned_abs()), retention.as_secs() / 3_600);
    let mut parts = Vec::new();
    if preview.matched > 0 {
        let rows = preview
            .destinations
            .iter()
            .map(|of| vec![of.destination.clone(), of.messages.to_string(), of.oldest_at.clone()]);
        parts.push(table(&["destination", "messages", "oldest dispatched at"], rows) + "\n");
    }
    parts.push(format!("would purge {matched}{more} dispatched over {hours} h ago"));
    parts.push(match &preview.archive {
        Some(location) => format!("would archive them at {location} before that"),
        None => "would archive nothing, because OUTBOX_ARCHIVE is not set".to_owned(),
    });
    parts.join("\n")
}

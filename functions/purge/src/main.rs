//! The purge function: a timer invokes it, and it deletes dispatched messages past their retention.
//!
//! Settings are read and the pool built once at cold start, without a connection to anything. The
//! program has no publisher in it: it cannot send a message, not even by mistake.

mod failure;

use lambda_runtime::{Context, Diagnostic, LambdaEvent, service_fn};
use outbox_admin::{Purge, PurgeReport, TimeLimits};
use outbox_archive::Archive;
use outbox_lambda::{
    AnyEvent, Invocation, Metrics, Program, Settings, aws_config, claimed_by, logs,
};
use outbox_store::{Schema, Store};

use crate::failure::failure;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let settings = Settings::from_env(Program::Purge)?;
    logs::init(&settings.logs, logs::Stream::Stdout);
    let pool = outbox_lambda::pool(&settings.database)?;
    let store = Store::new(pool, Schema::new(&settings.schema)?);
    let archive = match settings.purge.archive.clone() {
        Some(location) => Some(Archive::new(&aws_config().await, location)),
        None => None,
    };
    let run_by = claimed_by(Program::Purge);
    let purge = Purge {
        store: &store,
        retention: settings.purge.retention,
        batch_size: settings.purge.batch_size,
        archive: archive.as_ref(),
        run_by: &run_by,
    };

    let metrics = Metrics::new(&settings, Program::Purge);
    let handler = service_fn(|event: LambdaEvent<AnyEvent>| {
        invoke(&purge, &settings, &metrics, event.context)
    });
    lambda_runtime::run(handler).await.map_err(anyhow::Error::from_boxed)
}

async fn invoke(
    purge: &Purge<'_>,
    settings: &Settings,
    metrics: &Metrics,
    context: Context,
) -> Result<PurgeReport, Diagnostic> {
    let _invocation = Invocation::begin(&context.request_id);
    let run = metrics.start();
    let deadline = outbox_lambda::deadline(context.deadline);
    let limits = TimeLimits::before(deadline, settings.relay.policy.deadline_margin);
    // Whoever deploys without the setting has no archive, and would not notice.
    let archive = purge.archive.map_or("none".to_owned(), |archive| archive.location().to_string());
    let report = match purge.run(limits, |_| ()).await {
        Ok(report) => report,
        Err(error) => return Err(failure(&settings.database, &archive, &error)),
    };
    tracing::info!(
        archive,
        purged = report.purged,
        archived = report.archived,
        objects = report.objects,
        drained = report.drained,
        duration_ms = report.duration_ms,
        "purge finished"
    );
    run.purged(report.purged);
    Ok(report)
}

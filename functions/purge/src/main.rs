//! The purge function: a timer invokes it, and it deletes dispatched messages past their retention.
//!
//! Settings are read and the pool built once at cold start, without a connection to anything. The
//! program has no publisher in it: it cannot send a message, not even by mistake.

use std::time::Instant;

use lambda_runtime::{Context, Diagnostic, LambdaEvent, service_fn};
use outbox_admin::{PurgeReport, purge_until};
use outbox_lambda::settings::Purge;
use outbox_lambda::{AnyEvent, Database, Metrics, Program, Settings, describe, logs};
use outbox_store::{Error, Schema, Store};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let settings = Settings::from_env(Program::Purge)?;
    logs::init(&settings.logs, logs::Stream::Stdout);
    let pool = outbox_lambda::pool(&settings.database)?;
    let store = Store::new(pool, Schema::new(&settings.schema)?);

    let metrics = Metrics::new(&settings, Program::Purge);
    let handler = service_fn(|event: LambdaEvent<AnyEvent>| {
        invoke(&store, &settings, &metrics, event.context)
    });
    lambda_runtime::run(handler).await.map_err(anyhow::Error::from_boxed)
}

async fn invoke(
    store: &Store,
    settings: &Settings,
    metrics: &Metrics,
    context: Context,
) -> Result<PurgeReport, Diagnostic> {
    let run = metrics.start();
    let Purge { retention, batch_size } = settings.purge;
    let deadline = outbox_lambda::deadline(context.deadline);
    let margin = settings.relay.policy.deadline_margin;
    let before = |margin| deadline.checked_sub(margin).unwrap_or(deadline);

    // No batch is started within the margin, and the last quarter of it is for the answer.
    let purge = purge_until(store, retention, batch_size, Some(before(margin)));
    let time = before(margin / 4).saturating_duration_since(Instant::now());
    let purged = tokio::time::timeout(time, purge).await.unwrap_or(Err(Error::Timeout(time)));
    let report = purged.map_err(|error| failure(&settings.database, &error))?;
    tracing::info!(
        purged = report.purged,
        drained = report.drained,
        duration_ms = report.duration_ms,
        "purge finished"
    );
    run.purged(report.purged);
    Ok(report)
}

/// What the invoker is told, and the log.
fn failure(database: &Database, error: &Error) -> Diagnostic {
    let cause = describe(database, error);
    tracing::error!(error.r#type = cause.code(), error = %cause, "purge failed");
    Diagnostic { error_type: cause.code().to_owned(), error_message: cause.to_string() }
}

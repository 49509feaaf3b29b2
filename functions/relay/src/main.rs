//! The relay function: a timer invokes it, and each invocation is one run of the engine.
//!
//! Settings are read, and pool, publisher and engine built, once at cold start and without a connection
//! to anything: a database that is down fails the invocation, never the start. A panic fails its own
//! invocation only, for the runtime catches it; what that run had claimed waits for its lease.

mod failure;
mod metrics;

use std::sync::Arc;
use std::time::Instant;

use lambda_runtime::{Context, Diagnostic, LambdaEvent, service_fn};
use outbox_lambda::{
    AnyEvent, Database, Invocation, Metrics, Program, Settings, Traces, claimed_by, logs,
};
use outbox_publish::AwsPublisher;
use outbox_relay::{Relay, RunReport};
use outbox_store::{Schema, Store};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::failure::failure;
use crate::metrics::measured;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let settings = Settings::from_env(Program::Relay)?;
    let traces = Traces::start(Program::Relay);
    logs::init_function(&settings.logs, &traces);
    let function = Arc::new(Function::new(settings, traces).await?);

    let stopping = Arc::clone(&function);
    lambda_runtime::spawn_graceful_shutdown_handler(|| async move { stopping.stop().await }).await;
    let handler = service_fn(|event: LambdaEvent<AnyEvent>| function.invoke(event.context));
    lambda_runtime::run(handler).await.map_err(anyhow::Error::from_boxed)
}

/// What invocations share for as long as the container lives.
struct Function {
    relay: Relay<AwsPublisher>,
    enabled: bool,
    /// The names of those that the settings know.
    destinations: Vec<String>,
    database: Database,
    metrics: Metrics,
    traces: Traces,
    stop: CancellationToken,
    running: Mutex<()>,
}

impl Function {
    async fn new(settings: Settings, traces: Traces) -> anyhow::Result<Self> {
        let metrics = Metrics::new(&settings, Program::Relay);
        let pool = outbox_lambda::pool(&settings.database)?;
        let store = Store::new(pool, Schema::new(settings.schema)?);
        let publisher = AwsPublisher::new(&outbox_lambda::aws_config().await);
        let outbox_lambda::settings::Relay { destinations, policy, enabled } = settings.relay;
        let names = destinations.iter().map(|destination| destination.name.clone()).collect();
        let relay = Relay::new(store, publisher, destinations, policy, claimed_by(Program::Relay));
        let (stop, running) = (CancellationToken::new(), Mutex::new(()));
        let database = settings.database;
        let destinations = names;
        Ok(Self { relay, enabled, destinations, database, metrics, traces, stop, running })
    }

    async fn invoke(&self, context: Context) -> Result<RunReport, Diagnostic> {
        let deadline = outbox_lambda::deadline(context.deadline);
        let _invocation = Invocation::begin(&context.request_id);
        let answer = self.run(deadline).await;
        self.traces.flush(deadline).await;
        answer
    }

    async fn run(&self, deadline: Instant) -> Result<RunReport, Diagnostic> {
        let run = self.metrics.start();
        let report = if self.enabled {
            let _running = self.running.lock().await;
            let ended = self.relay.run(Some(deadline), &self.stop).await;
            ended.map_err(|error| failure(&self.database, &error))?
        } else {
            tracing::info!("run skipped, because OUTBOX_ENABLED is false");
            RunReport::default()
        };
        run.relayed(&measured(&report, &self.destinations));
        Ok(report)
    }

    /// Lets a run in flight mark what it has sent and hand back the rest.
    async fn stop(&self) {
        self.stop.cancel();
        drop(self.running.lock().await);
    }
}

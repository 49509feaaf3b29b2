//! The admin function: answers an operator's questions and carries out his decisions inside the network.
//!
//! The event is one of the commands of `outbox_admin`, the same verbs and names as on the command line:
//! `{"command": "status"}`. Whoever may invoke the function may do all of them.

use lambda_runtime::{Context, Diagnostic, LambdaEvent, service_fn};
use outbox_admin::{Error, Reply, Request, TimeLimits, execute, how_to_grant, so_far};
use outbox_lambda::{Database, Invocation, Metrics, Program, Settings, describe, logs};
use outbox_store::{Schema, Store};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let settings = Settings::from_env(Program::Admin)?;
    logs::init(&settings.logs, logs::Stream::Stdout);
    let pool = outbox_lambda::pool(&settings.database)?;
    let store = Store::new(pool, Schema::new(&settings.schema)?);

    let metrics = Metrics::new(&settings, Program::Admin);
    let handler = service_fn(|event| invoke(&store, &settings, &metrics, event));
    lambda_runtime::run(handler).await.map_err(anyhow::Error::from_boxed)
}

async fn invoke(
    store: &Store,
    settings: &Settings,
    metrics: &Metrics,
    event: LambdaEvent<Request>,
) -> Result<Reply, Diagnostic> {
    let _invocation = Invocation::begin(&event.context.request_id);
    let run = metrics.start();
    let Request { command, operator } = event.payload;
    let actor = actor(&event.context, operator.as_deref());
    let deadline = outbox_lambda::deadline(event.context.deadline);
    let limits = TimeLimits::before(deadline, settings.relay.policy.deadline_margin);
    let answered = match command {
        Ok(command) => execute(store, &command, &actor, limits).await,
        Err(error) => Err(error),
    };
    let reply = answered.map_err(|error| failure(&settings.database, &error))?;
    run.answered();
    Ok(reply)
}

/// What the invoker is told, and the log.
fn failure(database: &Database, error: &Error) -> Diagnostic {
    match error {
        Error::Usage(problem) => {
            tracing::warn!(error = problem, "command refused");
            Diagnostic { error_type: error.code().to_owned(), error_message: problem.clone() }
        }
        Error::Store(error) => {
            let hint = how_to_grant(error, "outbox_admin").map(|hint| format!("; {hint}"));
            store_failure(database, error, hint.as_deref().unwrap_or_default())
        }
        Error::TooMuch(_) => {
            let error_message = error.to_string();
            tracing::warn!(error = error_message, "command given up");
            Diagnostic { error_type: error.code().to_owned(), error_message }
        }
        Error::Interrupted { action, interrupted } => {
            let so_far = format!("; {}", so_far(*action, interrupted));
            store_failure(database, &interrupted.source, &so_far)
        }
    }
}

fn store_failure(database: &Database, error: &outbox_store::Error, so_far: &str) -> Diagnostic {
    let cause = describe(database, error);
    let error_message = format!("{cause}{so_far}");
    tracing::error!(error.r#type = cause.code(), error = error_message, "command failed");
    Diagnostic { error_type: cause.code().to_owned(), error_message }
}

/// Who asks, for the audit: the operator as the command says, the invoker where Lambda tells, and the request, which
/// `CloudTrail` knows.
fn actor(context: &Context, operator: Option<&str>) -> String {
    let request = &context.request_id;
    let operator = operator.map(|name| format!("{name} by ")).unwrap_or_default();
    match &context.identity {
        Some(invoker) => {
            let invoker = &invoker.identity_id;
            format!("{operator}admin function for {invoker}, request {request}")
        }
        None => format!("{operator}admin function, request {request}"),
    }
}

//! The admin function: answers an operator's questions and carries out his decisions inside the network.
//!
//! The event is one of the commands of `outbox_admin`, the same verbs and names as on the command line:
//! `{"command": "status"}`. Whoever may invoke the function may do all of them.

use lambda_runtime::{Context, Diagnostic, LambdaEvent, service_fn};
use outbox_admin::{Command, Error, Reply, execute};
use outbox_lambda::{Program, Settings, logs};
use outbox_store::{Schema, Store};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let settings = Settings::from_env(Program::Admin)?;
    logs::init(&settings.logs, logs::Stream::Stdout);
    let pool = outbox_lambda::pool(&settings.database)?;
    let store = Store::new(pool, Schema::new(&settings.schema)?);

    let handler = service_fn(|event| invoke(&store, &settings, event));
    lambda_runtime::run(handler).await.map_err(anyhow::Error::from_boxed)
}

async fn invoke(
    store: &Store,
    settings: &Settings,
    event: LambdaEvent<Value>,
) -> Result<Reply, Diagnostic> {
    let actor = actor(&event.context);
    let answered = match Command::from_json(event.payload) {
        Ok(command) => execute(store, &command, &actor).await,
        Err(error) => Err(error),
    };
    answered.map_err(|error| failure(settings, &error))
}

/// What the invoker is told, and the log.
fn failure(settings: &Settings, error: &Error) -> Diagnostic {
    let (error_type, error_message) = match outbox_lambda::explain(&settings.database, error) {
        Some(explained) => (explained.code().to_owned(), explained.to_string()),
        None => (error.code().to_owned(), error.to_string()),
    };
    match error {
        Error::Usage(_) => tracing::warn!(error = error_message, "command refused"),
        Error::Store(_) => {
            tracing::error!(error.r#type = error_type, error = error_message, "command failed");
        }
    }
    Diagnostic { error_type, error_message }
}

/// Who asks, for the audit: the invoker where Lambda tells, and the request, which `CloudTrail` knows.
fn actor(context: &Context) -> String {
    let request = &context.request_id;
    match &context.identity {
        Some(invoker) => format!("admin function for {}, request {request}", invoker.identity_id),
        None => format!("admin function, request {request}"),
    }
}

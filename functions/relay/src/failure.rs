//! A run that failed.

use lambda_runtime::Diagnostic;
use outbox_lambda::{Database, describe};
use outbox_relay::Error;

/// What the invoker is told, and the log.
pub(crate) fn failure(database: &Database, error: &Error) -> Diagnostic {
    let cause = describe(database, error.store());
    let error_message = match error {
        Error::Claim(_) => cause.to_string(),
        Error::Mark { n_messages, .. } => {
            format!("{cause}; {n_messages} messages are not marked and may go out again")
        }
    };
    tracing::error!(error.r#type = cause.code(), error = error_message, "run failed");
    Diagnostic { error_type: cause.code().to_owned(), error_message }
}

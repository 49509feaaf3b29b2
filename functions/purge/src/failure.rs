//! A purge that failed.

use lambda_runtime::Diagnostic;
use outbox_admin::{PurgeError, PurgeFailure};
use outbox_lambda::{Database, describe};

/// What the invoker is told, and the log.
pub(crate) fn failure(
    database: &Database,
    archive: &str,
    PurgeError { report, failure }: &PurgeError,
) -> Diagnostic {
    let (code, error) = match failure {
        PurgeFailure::Store(error) => {
            let cause = describe(database, error);
            (cause.code().to_owned(), cause.to_string())
        }
        PurgeFailure::Archive(error) => (error.code().to_owned(), error.to_string()),
    };
    tracing::error!(
        error.r#type = code,
        error,
        archive,
        purged = report.purged,
        archived = report.archived,
        objects = report.objects,
        duration_ms = report.duration_ms,
        "purge failed"
    );
    let error_message = format!("{error}; {}", report.before_failure());
    Diagnostic { error_type: code, error_message }
}

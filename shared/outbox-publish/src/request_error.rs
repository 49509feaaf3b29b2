//! A request without an answer, or refused as a whole: what that says of its entries.

use std::error::Error;
use std::io;

use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::{ConnectorError, DispatchFailure, SdkError};
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use aws_smithy_types::error::operation::BuildError;
use aws_smithy_types::retry::ErrorKind;
use outbox::{Failure, FailureClass, Outcome, Scope};

use crate::classify::{class_of, failure};

/// Why a whole request failed.
#[derive(Debug)]
pub(crate) struct RequestError {
    failure: Failure,
    may_be_one_entrys_fault: bool,
}

impl RequestError {
    /// Whether the refusal may be due to one entry alone, so that sent one by one the others would pass.
    pub(crate) fn may_be_one_entrys_fault(&self) -> bool {
        self.may_be_one_entrys_fault
    }

    /// The error's code.
    pub(crate) fn code(&self) -> &str {
        &self.failure.code
    }

    /// What failed.
    pub(crate) fn into_failure(self) -> Failure {
        self.failure
    }

    /// The outcome of each entry of the request.
    pub(crate) fn into_outcome(self) -> Outcome {
        Outcome::Failed(self.failure)
    }

    /// The outcome of the only entry of the request. A permanent failure is the entry's own, then; so is
    /// a failure of an unknown kind, if the target took a neighbour in the same moment.
    pub(crate) fn into_outcome_of_one(mut self, took_a_neighbour: bool) -> Outcome {
        let is_permanent = self.failure.class == FailureClass::Permanent;
        if is_permanent || (self.may_be_one_entrys_fault && took_a_neighbour) {
            self.failure.scope = Scope::Entry;
        }
        Outcome::Failed(self.failure)
    }

    fn new(class: FailureClass, code: &str, text: &str) -> Self {
        Self {
            failure: failure(class, Scope::Request, code, text),
            may_be_one_entrys_fault: class == FailureClass::Permanent,
        }
    }

    /// The service refused, in its own words.
    fn refused(status: u16, code: &str, text: Option<&str>) -> Self {
        let known = class_of(code, text);
        let class = match known {
            // Of a whole request a server error says that the service is down, not that one entry failed.
            Some(FailureClass::Transient) | None if status >= 500 => FailureClass::DestinationFault,
            Some(class) => class,
            None => class_of_status(status).unwrap_or(FailureClass::Transient),
        };
        let mut error = Self::new(class, code, text.unwrap_or_default());
        // A code that nobody here knows may still be one entry's fault, and would hold back its
        // neighbours for good if it were not found out.
        error.may_be_one_entrys_fault |= known.is_none() && status == 400;
        error
    }

    /// Something answered, but not SQS or SNS: a load balancer with an HTML page or with nothing (case B13),
    /// or the answer was cut off. Its text is left out.
    fn unreadable(status: u16) -> Self {
        if (200..300).contains(&status) {
            let text = "a success that could not be read";
            return Self::new(FailureClass::Unknown, "unreadable_answer", text);
        }
        let (code, text) =
            (format!("http_{status}"), format!("HTTP {status} without an error code"));
        if status == 400 {
            // A proxy on the way may dislike one body only.
            let mut error = Self::new(FailureClass::Transient, &code, &text);
            error.may_be_one_entrys_fault = true;
            return error;
        }
        let class = class_of_status(status).unwrap_or(FailureClass::DestinationFault);
        Self::new(class, &code, &text)
    }

    /// The request did not get through. Whether it had left already is what makes the difference.
    fn not_answered(
        failure: &DispatchFailure,
        code_of_credentials: Option<&'static str>,
        text: &str,
    ) -> Self {
        let (class, code) = if let Some(code) = code_of_credentials {
            (FailureClass::DestinationFault, code)
        } else if failure.as_connector_error().is_some_and(is_connection_lost) {
            (FailureClass::Unknown, "connection_lost")
        } else if failure.is_timeout() {
            // No read time-out is set, so this is the connect time-out.
            (FailureClass::DestinationFault, "connect_timeout")
        } else if failure.is_io() {
            (FailureClass::DestinationFault, "connect_failed")
        } else {
            // Without a region to sign for, or with something else than HTTP there.
            (FailureClass::DestinationFault, "request_failed")
        };
        Self::new(class, code, text)
    }
}

impl<E> From<SdkError<E, HttpResponse>> for RequestError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        match &error {
            SdkError::ServiceError(refusal) => {
                let status = refusal.raw().status().as_u16();
                let meta = refusal.err().meta();
                match meta.code() {
                    Some(code) => Self::refused(status, code, meta.message()),
                    None => Self::unreadable(status),
                }
            }
            SdkError::ResponseError(answer) => Self::unreadable(answer.raw().status().as_u16()),
            SdkError::TimeoutError(_) => {
                Self::new(FailureClass::Unknown, "timeout", "no answer within the time-out")
            }
            SdkError::DispatchFailure(failure) => {
                Self::not_answered(failure, code_of_credentials(&error), &chain(&error))
            }
            _ => {
                let code = code_of_credentials(&error).unwrap_or("request_failed");
                Self::new(FailureClass::DestinationFault, code, &chain(&error))
            }
        }
    }
}

/// A field of the request that the SDK misses. All are set, so this is a bug here: nothing was sent.
impl From<BuildError> for RequestError {
    fn from(error: BuildError) -> Self {
        Self::new(FailureClass::Transient, "not_built", &chain(&error))
    }
}

/// Why there was nothing to sign with: no provider had credentials, or the one that should have them failed (a
/// role that STS refuses, a metadata service that is away). Nothing was sent.
fn code_of_credentials(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let found = causes(error).find_map(|cause| cause.downcast_ref::<CredentialsError>())?;
    Some(match found {
        CredentialsError::CredentialsNotLoaded(_) => "no_credentials",
        CredentialsError::ProviderTimedOut(_) => "credentials_timeout",
        CredentialsError::InvalidConfiguration(_) => "credentials_misconfigured",
        _ => "credentials_failed",
    })
}

/// What the status alone says; `None` where it says nothing about the entries.
fn class_of_status(status: u16) -> Option<FailureClass> {
    match status {
        413 => Some(FailureClass::Permanent),
        429 => Some(FailureClass::Throttled),
        500.. => Some(FailureClass::DestinationFault),
        _ => None,
    }
}

/// Whether the connection had been there, so that the request may have been accepted. The SDK does not
/// tell; what it wraps does: hyper's "closed before message completed" comes as a transient error, and
/// a reset as an error of the socket.
fn is_connection_lost(error: &ConnectorError) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let is_lost = |error: &io::Error| {
        matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
    };
    error.as_other() == Some(ErrorKind::TransientError)
        || causes(error).filter_map(|cause| cause.downcast_ref()).any(is_lost)
}

/// Error and causes in one line. Only what they say for people: their debug form may hold anything.
fn chain(error: &(dyn Error + 'static)) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

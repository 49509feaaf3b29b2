//! Why an object was not written.

use std::error::Error as StdError;

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};

const TIMEOUT: &str = "timeout";

/// S3 did not take an object, or did not say so. Names the object and never what is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot write s3://{bucket}/{key}: {code}{text}")]
pub struct Error {
    bucket: String,
    key: String,
    code: String,
    text: String,
}

impl Error {
    pub(crate) fn new<E, R>(bucket: &str, key: &str, error: &SdkError<E, R>) -> Self
    where
        E: ProvideErrorMetadata + StdError + 'static,
        R: std::fmt::Debug + 'static,
    {
        let (code, text) = match error {
            SdkError::ServiceError(refusal) => {
                let meta = refusal.err().meta();
                let code = meta.code().unwrap_or("unreadable_answer");
                (code, first_line(meta.message().unwrap_or_default()))
            }
            SdkError::TimeoutError(_) => (TIMEOUT, "no answer in time".to_owned()),
            SdkError::ResponseError(_) => ("unreadable_answer", String::new()),
            // Not connected, connection lost, or no credentials: the causes say which.
            _ => ("request_failed", causes(error)),
        };
        let text = if text.is_empty() { text } else { format!(" ({text})") };
        Self { bucket: bucket.to_owned(), key: key.to_owned(), code: code.to_owned(), text }
    }

    /// Whether there was no answer in time, so that the object may be there all the same.
    pub fn is_timeout(&self) -> bool {
        self.code == TIMEOUT
    }

    /// S3's own code, such as `AccessDenied`, or a word of ours: `timeout`, `request_failed`, `unreadable_answer`.
    pub fn code(&self) -> &str {
        &self.code
    }
}

/// Of a refusal nothing that may follow its sentence, such as a request quoted.
fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().chars().take(500).collect()
}

/// What went wrong in one line. Only what errors say for people: their debug form may hold anything.
fn causes(error: &(dyn StdError + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |&error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

//! The wire: one batch request to SQS or SNS, and what became of each of its entries.
//!
//! The crate sends what [`outbox`] made ready and reports what was said of it. It decides nothing about
//! a message, knows no database and keeps no state between calls. Nothing is hidden in an error: every
//! failure, of one entry or of the whole request, is the [`Outcome`] of the entries it concerns.
//!
//! ```text
//! AwsPublisher::publish          aws.rs            which service, and what if the request is refused
//!   -> span::of                  span.rs           the span of the call, where spans are taken in
//!   -> sqs::send, sns::send      sqs.rs, sns.rs    entries to the wire, one call
//!   -> Answer                    answer.rs         the answer's two lists to one outcome per entry
//!   -> RequestError              request_error.rs  no answer, or a refusal of the whole request
//!        both ask                classify.rs       error code to failure class, text to bounded text
//!             by           codes.rs         the table of codes
//!   -> without_echoes            echo.rs           no text keeps what it repeats of a message
//! ```
//!
//! [`AwsPublisher::inspect`] (inspect.rs) stands beside this: it asks what a queue or topic is like. So does
//! [`AwsPublisher::knock`] (knock.rs): it asks whether anything may be sent, and sends nothing.

mod answer;
mod aws;
mod classify;
mod codes;
mod echo;
mod inspect;
mod knock;
mod request_error;
mod sns;
mod span;
mod sqs;

use std::future::Future;

use outbox::{Destination, Entry, Outcome};

pub use aws::AwsPublisher;
pub use inspect::{Keeping, Properties};

/// Sends batch requests to queues and topics.
pub trait Publish: Send + Sync {
    /// Sends one request with these entries, which a [`Packer`](outbox::Packer) keeps within the limits,
    /// and tells what became of each: exactly one outcome per entry, in the order of the entries.
    ///
    /// It does not fail as a whole and does not panic. An empty request makes no call.
    ///
    /// # Duplicates
    /// An outcome other than accepted is no proof that the entry was not accepted. A time-out and a lost
    /// connection leave that open, and the SDK's own second attempt may have met what its first one left
    /// behind. Every attempt carries the same message id, and the same deduplication id on FIFO, so that
    /// copies can be told and discarded.
    ///
    /// # Cancellation
    /// Once the future has been polled, dropping it leaves the request as it is: perhaps not sent, perhaps
    /// accepted in full. The caller must take each entry as [`Unknown`](outbox::FailureClass::Unknown).
    fn publish(
        &self,
        destination: &Destination,
        request: &[Entry],
    ) -> impl Future<Output = Vec<Outcome>> + Send;
}

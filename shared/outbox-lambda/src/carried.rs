//! Failures of ours on the way through the pool, whose connections may fail only with the driver's own error.
//!
//! The driver passes on whatever a TLS handshake fails with. So a handshake over nothing fails with ours, and
//! `explain.rs` finds it among the error's sources.

use std::future::{Ready, ready};

use tokio::io::{Empty, empty};
use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::tls::{NoTlsStream, TlsConnect};

use crate::credentials::CredentialsError;

/// Why a connection was not opened, if it was not the driver who failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unopened {
    /// Nobody to sign in as.
    #[error("no credentials: {0}")]
    Credentials(#[from] CredentialsError),
    /// The source of credentials did not answer in time.
    #[error("no credentials in time")]
    CredentialsLate,
    /// The server did not answer in time.
    #[error("no answer in time")]
    NoAnswer,
}

/// The driver's error with ours as its source.
pub(crate) async fn carried(failure: Unopened) -> tokio_postgres::Error {
    let mut at_once = Config::new();
    at_once.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
    match at_once.connect_raw(empty(), Failing(failure)).await {
        Ok(_) => unreachable!("the handshake fails"),
        Err(error) => error,
    }
}

struct Failing(Unopened);

impl TlsConnect<Empty> for Failing {
    type Stream = NoTlsStream;
    type Error = Unopened;
    type Future = Ready<Result<NoTlsStream, Unopened>>;

    fn connect(self, _: Empty) -> Self::Future {
        ready(Err(self.0))
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[tokio::test]
    async fn the_drivers_error_has_ours_as_its_source() {
        let error = carried(Unopened::NoAnswer).await;
        let source = error.source().and_then(|source| source.downcast_ref());
        assert_eq!(source, Some(&Unopened::NoAnswer));
    }
}

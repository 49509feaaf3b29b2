//! The circuit breaker of a destination, which all relays share: it opens after three failed requests in a row, and a
//! probe that is accepted closes it.

use outbox::ClaimToken;
use tokio_postgres::types::Type;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// Requests of a destination that have failed as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRequests {
    /// The destination's logical name.
    pub destination: String,
    /// How many in a row, since it was told last.
    pub n_requests: u32,
    /// Error code of the latest.
    pub code: String,
    /// The claim that probed it with one of them.
    pub probe: Option<ClaimToken>,
}

impl Store {
    /// Counts failed requests, which may open a breaker, or keep it open if one was its probe: the next one is due 10 seconds
    /// later, then 20, 40 and each minute. Returns the names of the destinations whose breaker it opened.
    ///
    /// # Errors
    /// See [`Error`]; nothing is counted, but after [`Error::Timeout`] or a lost connection it may be.
    pub async fn requests_failed(&self, failed: &[FailedRequests]) -> Result<Vec<String>, Error> {
        let mut failed: Vec<&FailedRequests> = failed.iter().collect();
        failed.sort_unstable_by_key(|failed| &failed.destination);
        let names: Vec<&str> = failed.iter().map(|failed| failed.destination.as_str()).collect();
        let n_requests: Vec<i32> = failed
            .iter()
            .map(|failed| i32::try_from(failed.n_requests).unwrap_or(i32::MAX))
            .collect();
        let codes: Vec<&str> = failed.iter().map(|failed| failed.code.as_str()).collect();
        let probes: Vec<_> =
            failed.iter().map(|failed| failed.probe.map(ClaimToken::as_uuid)).collect();
        let params = [
            (&names as _, Type::TEXT_ARRAY),
            (&n_requests as _, Type::INT4_ARRAY),
            (&codes as _, Type::TEXT_ARRAY),
            (&probes as _, Type::UUID_ARRAY),
        ];
        let [rows] =
            connection::guarded(&self.pool, [(&self.sql.requests_failed, &params)]).await?;
        Ok(rows.iter().map(|row| row.get("name")).collect())
    }

    /// Gives back the right to probe destinations of which the claim with that token, a probe, got no message: another relay, or
    /// the next claim of this one, may probe them at once.
    ///
    /// # Errors
    /// See [`Error`]; nobody probes them for a minute then.
    pub async fn probe_unused(
        &self,
        token: ClaimToken,
        destinations: &[String],
    ) -> Result<(), Error> {
        let mut names: Vec<&str> = destinations.iter().map(String::as_str).collect();
        names.sort_unstable();
        let params = [(&token.as_uuid() as _, Type::UUID), (&names as _, Type::TEXT_ARRAY)];
        connection::guarded(&self.pool, [(&self.sql.probe_unused, &params)]).await?;
        Ok(())
    }

    /// Closes the breakers of destinations that have accepted something, and forgets their failed requests. Returns the
    /// names of those whose breaker was open.
    ///
    /// # Errors
    /// See [`Error`]; nothing is closed, but after [`Error::Timeout`] or a lost connection it may be.
    pub async fn recovered(&self, destinations: &[String]) -> Result<Vec<String>, Error> {
        let mut names: Vec<&str> = destinations.iter().map(String::as_str).collect();
        names.sort_unstable();
        let params = [(&names as _, Type::TEXT_ARRAY)];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.recovered, &params)]).await?;
        Ok(rows.iter().map(|row| row.get("name")).collect())
    }
}

//! Pause and resume: the kill switch of one destination, or of all, which takes effect at the next claim.

use tokio_postgres::types::Type;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// The name that stands for all destinations.
pub const ALL_DESTINATIONS: &str = "*";

impl Store {
    /// Leaves a destination out of all claims from now on; producers go on writing, and what is claimed already is sent.
    /// `false` if it was paused before, which keeps its first reason.
    ///
    /// # Errors
    /// See [`Error`]; nothing is paused, but after [`Error::Timeout`] or a lost connection it may be.
    pub async fn pause(&self, destination: &str, actor: &str, reason: &str) -> Result<bool, Error> {
        self.change(&self.sql.pause, destination, actor, reason).await
    }

    /// Lets claims take it again. `false` if it was not paused. The pause of [`ALL_DESTINATIONS`] and those of single
    /// destinations are kept apart: resuming one leaves the other.
    ///
    /// # Errors
    /// See [`Error`]; nothing is resumed, but after [`Error::Timeout`] or a lost connection it may be.
    pub async fn resume(
        &self,
        destination: &str,
        actor: &str,
        reason: &str,
    ) -> Result<bool, Error> {
        self.change(&self.sql.resume, destination, actor, reason).await
    }

    async fn change(
        &self,
        sql: &str,
        destination: &str,
        actor: &str,
        reason: &str,
    ) -> Result<bool, Error> {
        let params = [
            (&destination as _, Type::TEXT),
            (&actor as _, Type::TEXT),
            (&reason as _, Type::TEXT),
        ];
        let rows = connection::query(&self.pool, sql, &params).await?;
        Ok(rows[0].get("changed"))
    }
}

//! Pause and resume: the kill switch of one destination, or of all, which takes effect at the next claim; and resume of a
//! message group that a dead message holds, which goes on without that message. Each because a person says so.

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::connection::{self, Param};
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
        let params = texts([&destination, &actor, &reason]);
        Ok(has_changed(&connection::query(&self.pool, &self.sql.pause, &params).await?))
    }

    /// Lets claims take it again: ends its pause, and closes its circuit breaker if that is open. `false` if it was neither
    /// paused nor left out by its breaker. The pause of [`ALL_DESTINATIONS`] and those of single destinations are kept
    /// apart: resuming one leaves the other.
    ///
    /// # Errors
    /// See [`Error`]; nothing is resumed, but after [`Error::Timeout`] or a lost connection it may be.
    pub async fn resume(
        &self,
        destination: &str,
        actor: &str,
        reason: &str,
    ) -> Result<bool, Error> {
        let params = texts([&destination, &actor, &reason]);
        Ok(has_changed(&connection::query(&self.pool, &self.sql.resume, &params).await?))
    }

    /// Lets a group go on that dead messages hold (`on_dead: hold`). They stay dead, and can be redriven or discarded later.
    /// `false` if nothing held it. Its next message to die holds it again.
    ///
    /// # Errors
    /// See [`Error`]; the group is held as before, but after [`Error::Timeout`] or a lost connection it may not be.
    pub async fn resume_group(
        &self,
        destination: &str,
        message_group: &str,
        actor: &str,
        reason: &str,
    ) -> Result<bool, Error> {
        let params = texts([&destination, &message_group, &actor, &reason]);
        let [rows] = connection::guarded(&self.pool, [(&self.sql.resume_group, &params)]).await?;
        Ok(has_changed(&rows))
    }
}

fn texts<'a, const N: usize>(texts: [&'a &str; N]) -> [Param<'a>; N] {
    texts.map(|text| (text as _, Type::TEXT))
}

fn has_changed(rows: &[Row]) -> bool {
    rows[0].get("changed")
}

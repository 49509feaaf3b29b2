//! Resume of a message group that a dead message holds: it goes on without that message, because a person says so.

use tokio_postgres::types::Type;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

impl Store {
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
        let params = [
            (&destination as _, Type::TEXT),
            (&message_group as _, Type::TEXT),
            (&actor as _, Type::TEXT),
            (&reason as _, Type::TEXT),
        ];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.resume_group, &params)]).await?;
        Ok(rows[0].get::<_, i64>("n_messages") > 0)
    }
}

//! Groups: which message groups can be claimed from.

use tokio_postgres::types::Type;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// Where to look for groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupsFrom {
    /// The destination's logical name.
    pub destination: String,
    /// The group to start at, in order of their names; the empty text for the first.
    pub group: String,
}

/// A group that was visited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visited {
    /// The destination's logical name.
    pub destination: String,
    /// The group.
    pub message_group: String,
    /// Claims in a row of its head that ended without an outcome; `None` if the head can't be claimed now.
    pub lost_claims: Option<i32>,
}

impl Store {
    /// Visits at most `n_groups` groups of each destination in order of their names, and tells which of them can be claimed
    /// from, unless another relay is quicker. A group costs one step of about 10 us, however many messages wait in it.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn groups(&self, from: &[GroupsFrom], n_groups: u32) -> Result<Vec<Visited>, Error> {
        let destinations: Vec<&str> = from.iter().map(|from| from.destination.as_str()).collect();
        let groups: Vec<&str> = from.iter().map(|from| from.group.as_str()).collect();
        let n_groups = i32::try_from(n_groups).unwrap_or(i32::MAX);
        let params = [
            (&destinations as _, Type::TEXT_ARRAY),
            (&groups as _, Type::TEXT_ARRAY),
            (&n_groups as _, Type::INT4),
        ];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.groups, &params)]).await?;
        let visited = rows.iter().map(|row| Visited {
            destination: row.get("destination"),
            message_group: row.get("message_group"),
            lost_claims: row.get("lost_claims"),
        });
        Ok(visited.collect())
    }
}

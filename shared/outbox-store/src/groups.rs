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

/// A group whose head is free and due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeGroup {
    /// The destination's logical name.
    pub destination: String,
    /// The group.
    pub message_group: String,
    /// Claims in a row of its head that ended without an outcome.
    pub lost_claims: i32,
}

/// What a look found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundGroups {
    /// Groups that can be claimed from, unless another relay is quicker.
    pub free: Vec<FreeGroup>,
    /// Where to go on, for the destinations that have more groups than were visited.
    pub go_on: Vec<GroupsFrom>,
}

impl Store {
    /// Visits at most `n_visited` groups of each destination in order of their names, and tells which of them can be claimed
    /// from. A group costs one step of about 10 us, however many messages wait in it.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn groups(&self, from: &[GroupsFrom], n_visited: u32) -> Result<FoundGroups, Error> {
        let destinations: Vec<&str> = from.iter().map(|from| from.destination.as_str()).collect();
        let groups: Vec<&str> = from.iter().map(|from| from.group.as_str()).collect();
        let n_visited = i32::try_from(n_visited).unwrap_or(i32::MAX);
        let params = [
            (&destinations as _, Type::TEXT_ARRAY),
            (&groups as _, Type::TEXT_ARRAY),
            (&n_visited as _, Type::INT4),
        ];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.groups, &params)]).await?;
        let mut found = FoundGroups::default();
        for row in rows {
            let destination: String = row.get("destination");
            let message_group: String = row.get("message_group");
            if row.get("is_cut_off") {
                // No text lies between one and the same with U+0001 behind it, for Postgres has no U+0000.
                let group = format!("{message_group}\u{1}");
                found.go_on.push(GroupsFrom { destination: destination.clone(), group });
            }
            if let Some(lost_claims) = row.get("lost_claims") {
                found.free.push(FreeGroup { destination, message_group, lost_claims });
            }
        }
        Ok(found)
    }
}

//! Plans: whether the statements of every run find the indexes that are there for them; for operators.

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::connection::{self, Param};
use crate::error::Error;
use crate::rights::Role;
use crate::store::Store;

/// How the server would carry a statement out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The statement's name.
    pub statement: &'static str,
    /// Those of its indexes that the plan leaves out.
    pub unused_indexes: Vec<&'static str>,
}

/// Of the indexes that the files of the statements name, those without which a statement reads the table or all history.
const CLAIM: &[&str] = &["message_fresh_idx", "message_scheduled_idx"];
const CLAIM_GROUPS: &[&str] = &["message_group_idx"];
const BACKLOG: &[&str] = &["message_fresh_idx", "message_dead_idx"];
const PURGE: &[&str] = &["message_dispatched_idx"];

impl Store {
    /// Has the server explain the statements of that role, and carries none of them out. Planned as they are in a run:
    /// without walks over the table where there is another way.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn plans(&self, role: Role) -> Result<Vec<Plan>, Error> {
        let token = Uuid::nil();
        let (texts, numbers) = (vec!["doctor"], vec![1_i32]);
        let leased: [Param<'_>; 5] = [
            (&token, Type::UUID),
            (&"doctor", Type::TEXT),
            (&1_i64, Type::INT8),
            (&0_i32, Type::INT4),
            (&1_i32, Type::INT4),
        ];
        let texts: Param<'_> = (&texts, Type::TEXT_ARRAY);
        let numbers: Param<'_> = (&numbers, Type::INT4_ARRAY);
        let claim = [&leased[..], &[texts.clone(), numbers.clone()]].concat();
        let claim_groups = [&leased[..], &[texts.clone(), texts, numbers]].concat();
        let purge: [Param<'_>; 2] = [(&1_i64, Type::INT8), (&1_i64, Type::INT8)];

        let sql = &self.sql;
        let plans = match role {
            Role::Relay => vec![
                self.plan("claim", &sql.claim, &claim, CLAIM).await?,
                self.plan("claim_groups", &sql.claim_groups, &claim_groups, CLAIM_GROUPS).await?,
                self.plan("backlog", &sql.backlog, &[], BACKLOG).await?,
            ],
            Role::Purge => vec![self.plan("purge", &sql.purge, &purge, PURGE).await?],
            Role::Admin => vec![self.plan("backlog", &sql.backlog, &[], BACKLOG).await?],
            Role::Producer => Vec::new(),
        };
        Ok(plans)
    }

    async fn plan(
        &self,
        statement: &'static str,
        sql: &str,
        params: &[Param<'_>],
        indexes: &[&'static str],
    ) -> Result<Plan, Error> {
        let explain = format!("EXPLAIN (COSTS OFF) {sql}");
        let [lines] = connection::guarded(&self.pool, [(&explain, params)]).await?;
        let plan: Vec<String> = lines.iter().map(|line: &Row| line.get(0)).collect();
        let is_unused = |index: &&str| !plan.iter().any(|line| line.contains(*index));
        let unused_indexes = indexes.iter().copied().filter(is_unused).collect();
        Ok(Plan { statement, unused_indexes })
    }
}

//! Checkup: what can harm an outbox though every statement works; for operators.

use tokio_postgres::types::Type;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// A fact of the database; `sql/checkup.sql` says which there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What kind of fact it is: `setting`, `index`, `trigger`.
    pub aspect: String,
    /// Whose it is: the name of a setting, an index, a trigger.
    pub name: String,
    /// The value.
    pub value: String,
}

impl Store {
    /// Looks at settings, indexes, triggers and rights. It reads catalogs only, and works where there is no outbox too.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn checkup(&self) -> Result<Vec<Fact>, Error> {
        let schema = self.schema.name();
        let rows =
            connection::query(&self.pool, &self.sql.checkup, &[(&schema, Type::TEXT)]).await?;
        let facts = rows.iter().map(|row| Fact {
            aspect: row.get("aspect"),
            name: row.get("name"),
            value: row.get("value"),
        });
        Ok(facts.collect())
    }
}

//! The schema's name, and the one place that puts it into SQL.

use thiserror::Error;

/// The schema that holds the outbox; `outbox` unless configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema(String);

/// A name that can't be a schema's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "schema name {name:?} is not allowed; allowed: 1 to 63 bytes without a single quote or control character, for example \"outbox\""
)]
pub struct SchemaError {
    name: String,
}

impl Schema {
    /// A schema of that name, which is quoted wherever it is used: `My-Schema` works.
    ///
    /// # Errors
    /// [`SchemaError`] for an empty name, one over Postgres's 63 bytes, or one with a character that can't be quoted.
    pub fn new(name: impl Into<String>) -> Result<Self, SchemaError> {
        let name = name.into();
        // The name also stands in comments of SQL, in literals and behind `--`, where quoting does not help.
        let breaks_out = |c: char| c == '\'' || c.is_control();
        if name.is_empty() || name.len() > 63 || name.contains(breaks_out) {
            return Err(SchemaError { name });
        }
        Ok(Self(name))
    }

    /// The name as given.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The name as an identifier of SQL, quoted.
    pub(crate) fn quoted(&self) -> String {
        format!("\"{}\"", self.0.replace('"', "\"\""))
    }

    /// Puts this schema in place of `outbox` in the SQL of this project, which writes the schema only as
    /// `outbox.object` and `SCHEMA [IF NOT EXISTS] outbox`, so that psql can read the files as they are.
    pub(crate) fn render(&self, sql: &str) -> String {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let quoted = self.quoted();
        let mut rendered = String::with_capacity(sql.len());
        let mut rest = sql;
        while let Some(at) = rest.find("outbox") {
            let (before, from) = rest.split_at(at);
            rendered.push_str(before);
            let after = &from["outbox".len()..];
            let names_schema = !rendered.ends_with(is_word)
                && (after.starts_with('.')
                    || before.ends_with("SCHEMA ")
                    || before.ends_with("SCHEMA IF NOT EXISTS "));
            rendered.push_str(if names_schema { &quoted } else { "outbox" });
            rest = after;
        }
        rendered + rest
    }
}

impl Default for Schema {
    fn default() -> Self {
        Self("outbox".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_quoted_wherever_it_is_named_and_nowhere_else() {
        let schema = Schema::new("My-\"Schema").unwrap();
        for (sql, rendered) in [
            ("FROM outbox.message AS m", "FROM \"My-\"\"Schema\".message AS m"),
            ("(outbox.message)", "(\"My-\"\"Schema\".message)"),
            (
                "CREATE SCHEMA IF NOT EXISTS outbox;",
                "CREATE SCHEMA IF NOT EXISTS \"My-\"\"Schema\";",
            ),
            (
                "GRANT USAGE ON SCHEMA outbox TO outbox_relay",
                "GRANT USAGE ON SCHEMA \"My-\"\"Schema\" TO outbox_relay",
            ),
            ("the outbox relay", "the outbox relay"),
            ("my_outbox.message", "my_outbox.message"),
            ("other.outbox.x", "other.outbox.x"),
        ] {
            assert_eq!(schema.render(sql), rendered);
        }
    }

    #[test]
    fn a_name_that_postgres_would_cut_or_refuse_is_refused() {
        for name in ["", &"x".repeat(64), "a\0b", "it's", "a\nb"] {
            assert!(Schema::new(name).is_err(), "{name:?}");
        }
        assert!(Schema::new("x".repeat(63)).is_ok());
    }
}

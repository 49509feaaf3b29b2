//! Redrive: dead messages become pending again, because a person says so.

use serde::Serialize;
use tokio_postgres::types::Type;

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// Which dead messages; every part that is given must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Selection {
    /// These ids only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<i64>>,
    /// This destination only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Those whose last error has this code only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// A redrive as an operator asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redrive {
    /// Which dead messages.
    pub selection: Selection,
    /// Who asks.
    pub actor: String,
    /// Why; kept in `outbox.audit`.
    pub reason: String,
}

impl Store {
    /// Makes dead messages pending again, with their attempts started anew, and returns how many. Identity, payload
    /// and group stay, so a consumer that has taken a copy before discards this one.
    ///
    /// A FIFO queue discards a copy of its own accord within five minutes of the first.
    ///
    /// # Errors
    /// See [`Error`]; nothing is redriven, but after [`Error::Timeout`] or a lost connection it may have been:
    /// `outbox.audit` tells.
    pub async fn redrive(&self, redrive: &Redrive) -> Result<u64, Error> {
        let Redrive { selection, actor, reason } = redrive;
        let as_asked = serde_json::to_value(selection).expect("a selection is plain data");
        let params = [
            (&selection.ids as _, Type::INT8_ARRAY),
            (&selection.destination as _, Type::TEXT),
            (&selection.code as _, Type::TEXT),
            (actor as _, Type::TEXT),
            (reason as _, Type::TEXT),
            (&as_asked as _, Type::JSONB),
        ];
        let rows = connection::query(&self.pool, &self.sql.redrive, &params).await?;
        Ok(rows[0].get::<_, i64>("n_messages").unsigned_abs())
    }
}

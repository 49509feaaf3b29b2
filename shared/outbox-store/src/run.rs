//! Runs: each leaves a row, so that an operator learns from the database when the last one was and how it ended.

use std::fmt::Debug;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio_postgres::types::{Json, Type};

use crate::connection;
use crate::error::Error;
use crate::store::Store;

/// A row is worth no more time than this: what it tells is told by the log, too.
const WRITTEN_WITHIN: Duration = Duration::from_secs(2);

/// What runs again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Function {
    /// It publishes.
    Relay,
    /// It deletes what is dispatched and old.
    Purge,
}

/// A run that has just ended.
#[derive(Clone, Copy, Debug)]
pub struct EndedRun<'a, R> {
    /// What ran.
    pub function: Function,
    /// Who ran it, for people.
    pub run_by: &'a str,
    /// How long it took.
    pub duration: Duration,
    /// Code of the error that ended it.
    pub error_code: Option<&'a str>,
    /// The numbers of its report, in JSON an object.
    pub report: &'a R,
}

/// The latest run of a function, by the database's clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LastRun {
    /// Who ran it.
    pub run_by: String,
    /// When it ended, in UTC: `2026-11-30T18:00:00.123456Z`.
    pub ended_at: String,
    /// How long ago that was.
    pub ended_seconds_ago: f64,
    /// How long it took.
    pub duration_seconds: f64,
    /// Code of the error that ended it; `None` if it was through.
    pub error_code: Option<String>,
    /// The numbers of its report.
    pub report: Value,
}

/// The latest runs of both; `None` if there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LastRuns {
    /// Of the relay.
    pub relay: Option<LastRun>,
    /// Of the purge.
    pub purge: Option<LastRun>,
}

impl Function {
    fn name(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::Purge => "purge",
        }
    }
}

impl Store {
    /// Writes down a run that has just ended, with the database's clock. `false` where the database takes no writes.
    ///
    /// It takes two seconds at most. A caller leaves it at that: no run fails because its row could not be written.
    ///
    /// # Errors
    /// See [`Error`]; the row may be there all the same.
    pub async fn record_run<R>(&self, run: &EndedRun<'_, R>) -> Result<bool, Error>
    where
        R: Debug + Serialize + Sync,
    {
        let report = Json(run.report);
        let duration_ms = connection::milliseconds(run.duration);
        let params = [
            (&run.function.name() as _, Type::TEXT),
            (&run.run_by as _, Type::TEXT),
            (&duration_ms as _, Type::INT8),
            (&run.error_code as _, Type::TEXT),
            (&report as _, Type::JSONB),
        ];
        let recorded = connection::query(&self.pool, &self.sql.record_run, &params);
        let in_time = tokio::time::timeout(WRITTEN_WITHIN, recorded).await;
        let rows = in_time.unwrap_or(Err(Error::Timeout(WRITTEN_WITHIN)))?;
        Ok(rows[0].get("recorded"))
    }

    /// Looks up the latest run of the relay and of the purge.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn last_runs(&self) -> Result<LastRuns, Error> {
        let rows = connection::query(&self.pool, &self.sql.last_runs, &[]).await?;
        let mut runs = LastRuns::default();
        for row in rows {
            let run = LastRun {
                run_by: row.get("run_by"),
                ended_at: row.get("ended_at"),
                ended_seconds_ago: row.get("ended_seconds_ago"),
                duration_seconds: row.get("duration_seconds"),
                error_code: row.get("error_code"),
                report: row.get("report"),
            };
            match row.get("function") {
                "relay" => runs.relay = Some(run),
                _ => runs.purge = Some(run),
            }
        }
        Ok(runs)
    }
}

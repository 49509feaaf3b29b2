//! Dead letters: which of them are meant, and a look at them that changes nothing.

use std::time::Duration;

use serde::{Serialize, Serializer};
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
    /// This message group only, of whatever destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_group: Option<String>,
    /// Those that died longer ago than this only.
    #[serde(
        rename = "dead_before_seconds",
        skip_serializing_if = "Option::is_none",
        serialize_with = "seconds"
    )]
    pub dead_before: Option<Duration>,
    /// Those that died no longer ago than this only.
    #[serde(
        rename = "dead_after_seconds",
        skip_serializing_if = "Option::is_none",
        serialize_with = "seconds"
    )]
    pub dead_after: Option<Duration>,
}

/// Dead messages of one destination with one code.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeadCount {
    /// The destination's logical name.
    pub destination: String,
    /// Code of their last error, if any was told.
    pub code: Option<String>,
    /// How many.
    pub messages: i64,
    /// How long ago the oldest of them died, in seconds.
    pub oldest_dead_seconds: f64,
}

/// The times of death that count, in microseconds since 1970 by the database's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deaths {
    pub(crate) latest_us: i64,
    pub(crate) earliest_us: Option<i64>,
}

impl Selection {
    /// The times of death that it means at that moment.
    pub(crate) fn deaths(&self, now_us: i64) -> Deaths {
        let ago = |age: Duration| {
            now_us.saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX)).max(0)
        };
        Deaths {
            latest_us: self.dead_before.map_or(now_us, ago),
            earliest_us: self.dead_after.map(ago),
        }
    }
}

impl Store {
    /// Counts the dead messages of a selection, by destination and code; nothing is changed. It reads every one of them: an
    /// operator's question, not a run's.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn dead_summary(&self, selection: &Selection) -> Result<Vec<DeadCount>, Error> {
        let deaths = selection.deaths(self.now_us().await?);
        self.count_dead(selection, deaths).await
    }

    pub(crate) async fn count_dead(
        &self,
        selection: &Selection,
        deaths: Deaths,
    ) -> Result<Vec<DeadCount>, Error> {
        let params = [
            (&selection.ids as _, Type::INT8_ARRAY),
            (&selection.destination as _, Type::TEXT),
            (&selection.code as _, Type::TEXT),
            (&selection.message_group as _, Type::TEXT),
            (&deaths.latest_us as _, Type::INT8),
            (&deaths.earliest_us as _, Type::INT8),
        ];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.dead_summary, &params)]).await?;
        let counts = rows.iter().map(|row| DeadCount {
            destination: row.get("destination"),
            code: row.get("code"),
            messages: row.get("n_messages"),
            oldest_dead_seconds: row.get("oldest_dead_seconds"),
        });
        let mut counts: Vec<DeadCount> = counts.collect();
        counts.sort_unstable_by(|a, b| (&a.destination, &a.code).cmp(&(&b.destination, &b.code)));
        Ok(counts)
    }

    /// The next dead messages of a selection after that destination and id, in that order; at most so many.
    pub(crate) async fn next_dead(
        &self,
        selection: &Selection,
        deaths: Deaths,
        (destination, id): (&str, i64),
        n_most: usize,
    ) -> Result<Vec<(String, i64)>, Error> {
        let n_most = i64::try_from(n_most).unwrap_or(i64::MAX);
        let params = [
            (&selection.destination as _, Type::TEXT),
            (&selection.code as _, Type::TEXT),
            (&selection.message_group as _, Type::TEXT),
            (&deaths.latest_us as _, Type::INT8),
            (&deaths.earliest_us as _, Type::INT8),
            (&destination as _, Type::TEXT),
            (&id as _, Type::INT8),
            (&n_most as _, Type::INT8),
        ];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.next_dead, &params)]).await?;
        Ok(rows.iter().map(|row| (row.get("destination"), row.get("id"))).collect())
    }

    /// Those of these ids that are dead and match the rest of a selection, in order of destination and id.
    pub(crate) async fn dead_among(
        &self,
        selection: &Selection,
        deaths: Deaths,
        ids: &[i64],
    ) -> Result<Vec<(String, i64)>, Error> {
        let params = [
            (&ids as _, Type::INT8_ARRAY),
            (&selection.destination as _, Type::TEXT),
            (&selection.code as _, Type::TEXT),
            (&selection.message_group as _, Type::TEXT),
            (&deaths.latest_us as _, Type::INT8),
            (&deaths.earliest_us as _, Type::INT8),
        ];
        let [rows] = connection::guarded(&self.pool, [(&self.sql.dead_among, &params)]).await?;
        let found = rows.iter().map(|row| (row.get("destination"), row.get("id")));
        let mut found: Vec<(String, i64)> = found.collect();
        found.sort_unstable();
        Ok(found)
    }

    /// The database's time, in microseconds since 1970.
    pub(crate) async fn now_us(&self) -> Result<i64, Error> {
        let rows = connection::query(&self.pool, &self.sql.now, &[]).await?;
        Ok(rows[0].get("now_us"))
    }
}

#[expect(clippy::ref_option, reason = "serde passes the field as it is")]
fn seconds<S: Serializer>(age: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    age.map(|age| age.as_secs()).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_count_back_from_the_databases_time_and_never_before_1970() {
        let hours = |n| Some(Duration::from_hours(n));
        let now_us = 10_000_000_000;
        let all = Selection::default();
        assert_eq!(all.deaths(now_us), Deaths { latest_us: now_us, earliest_us: None });
        let window =
            Selection { dead_before: hours(1), dead_after: hours(2), ..Selection::default() };
        let expected = Deaths { latest_us: 6_400_000_000, earliest_us: Some(2_800_000_000) };
        assert_eq!(window.deaths(now_us), expected);
        let absurd = Selection { dead_after: Some(Duration::MAX), ..Selection::default() };
        assert_eq!(absurd.deaths(now_us).earliest_us, Some(0));
    }

    #[test]
    fn a_selection_is_written_down_as_it_was_asked() {
        let asked = Selection {
            ids: Some(vec![7]),
            dead_before: Some(Duration::from_hours(2)),
            ..Selection::default()
        };
        let json = serde_json::to_string(&asked).unwrap();
        assert_eq!(json, r#"{"ids":[7],"dead_before_seconds":7200}"#);
    }
}

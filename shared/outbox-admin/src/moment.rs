//! A moment, as people write it: how long ago, or when.

use std::fmt;
use std::str::FromStr;
use std::time::UNIX_EPOCH;

use outbox_store::When;
use serde::{Deserialize, Serialize};

use crate::age::Age;

/// `2h`, or `2026-11-30T18:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Moment {
    /// So long ago, by the database's clock.
    Ago(Age),
    /// At that time, in milliseconds since 1970.
    At(i64),
}

impl Moment {
    pub(crate) fn when(self) -> When {
        match self {
            Self::Ago(age) => When::Ago(age.duration()),
            Self::At(ms) => When::At(ms),
        }
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(age) = text.parse() {
            return Ok(Self::Ago(age));
        }
        let time = humantime::parse_rfc3339_weak(text).ok();
        let since_1970 = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        since_1970.and_then(|since| i64::try_from(since.as_millis()).ok()).map(Self::At).ok_or_else(|| {
            format!(
                "the time {text:?} is not allowed; allowed: an age from 1s to 3650days or a time in UTC, for example 2h \
                 or 2026-11-30T18:00:00Z"
            )
        })
    }
}

impl TryFrom<String> for Moment {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Moment> for String {
    fn from(moment: Moment) -> Self {
        moment.to_string()
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ago(age) => age.fmt(f),
            Self::At(ms) => f.write_str(&time(*ms)),
        }
    }
}

/// A time of the database in milliseconds since 1970, as `2026-11-30T18:00:00.123Z`.
pub(crate) fn time(ms: i64) -> String {
    let since_1970 = std::time::Duration::from_millis(ms.max(0).unsigned_abs());
    // The last day of the year 9999 is the last that has this form.
    let latest = std::time::Duration::from_secs(253_402_300_799);
    humantime::format_rfc3339_millis(UNIX_EPOCH + since_1970.min(latest)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_and_a_time_are_read_and_written_so_that_they_are_read_again() {
        for text in ["30m", "1day 12h", "2026-11-30T18:00:00.000Z"] {
            let moment: Moment = text.parse().unwrap();
            assert_eq!(moment.to_string(), text);
        }
        let at = Moment::At(1_796_061_600_000);
        for text in ["2026-11-30T18:00:00Z", "2026-11-30 18:00:00"] {
            assert_eq!(text.parse(), Ok(at), "{text}");
        }
    }

    #[test]
    fn what_is_neither_is_refused_by_name_with_an_example_of_each() {
        for text in ["", "2", "yesterday", "2026-11-30", "1960-01-01T00:00:00Z"] {
            let problem = text.parse::<Moment>().unwrap_err();
            assert!(problem.contains(&format!("{text:?}")), "{problem}");
            assert!(problem.contains("2h or 2026-11-30T18:00:00Z"), "{problem}");
        }
    }

    #[test]
    fn a_time_that_no_calendar_has_is_shown_as_the_last_that_it_has() {
        assert_eq!(time(i64::MAX), "9999-12-31T23:59:59.000Z");
        assert_eq!(time(-1), "1970-01-01T00:00:00.000Z");
    }
}

//! An age, as people write it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long ago something happened, from a second to ten years: `30m`, `2h`, `1day 12h`. Seconds are the finest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Age(Duration);

const RANGE: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_hours(24 * 3_650);

impl Age {
    /// The same as a duration.
    pub fn duration(self) -> Duration {
        self.0
    }
}

impl FromStr for Age {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match humantime::parse_duration(text) {
            Ok(age) if RANGE.contains(&age) => Ok(Self(Duration::from_secs(age.as_secs()))),
            _ => Err(format!(
                "the age {text:?} is not allowed; allowed: 1s to 3650days, for example 30m, 2h or \"1day 12h\""
            )),
        }
    }
}

impl TryFrom<String> for Age {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Age> for String {
    fn from(age: Age) -> Self {
        age.to_string()
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", humantime::format_duration(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_read_as_people_write_it_and_written_so_that_it_is_read_again() {
        for (text, seconds) in [
            ("1s", 1),
            ("30m", 1_800),
            ("2h", 7_200),
            ("1day 12h", 129_600),
            ("2h 1500ms", 7_201),
            ("3650days", 315_360_000),
        ] {
            let age: Age = text.parse().unwrap();
            assert_eq!(age.duration().as_secs(), seconds, "{text}");
            assert_eq!(age.to_string().parse(), Ok(age), "{text}");
        }
    }

    #[test]
    fn what_is_no_age_is_refused_by_name_with_the_allowed_range_and_an_example() {
        for text in ["", "2", "-2h", "soon", "0s", "999ms", "3651days", "99999999999999999years"] {
            let problem = text.parse::<Age>().unwrap_err();
            assert!(problem.contains(&format!("{text:?}")), "{problem}");
            assert!(problem.contains("1s to 3650days, for example 30m"), "{problem}");
        }
    }
}

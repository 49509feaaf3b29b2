//! Reads single settings, and gathers what is wrong with them.
//!
//! A setting that is refused reads as its default, so that the rest is still checked. No complaint
//! repeats a secret.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use crate::settings::setting::{Allowed, Setting, WhenUnset};
use crate::settings::table;

/// Names that may be misspelt: a variable that begins so and is no setting is refused.
const PREFIX: &str = "OUTBOX_";

/// Everything that is wrong with the settings: one line for each, with the setting's name, the value
/// given (unless it may hold a secret), what is allowed, and an example.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SettingsError {
    problems: Vec<String>,
}

impl SettingsError {
    /// The problems, one line each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("\n"))
    }
}

/// The variables that were given, and the problems found so far.
pub(super) struct Reader {
    given: BTreeMap<String, String>,
    problems: Vec<String>,
}

impl Reader {
    pub(super) fn new<N, V>(vars: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let mut reader = Self { given: BTreeMap::new(), problems: Vec::new() };
        for (name, value) in vars {
            let name = name.into().to_string_lossy().into_owned();
            if name.starts_with(PREFIX) || name == table::PLAIN_DATABASE_URL.name {
                reader.take(name, value.into());
            }
        }
        reader
    }

    fn take(&mut self, name: String, value: OsString) {
        if !is_known(&name) {
            self.problems.push(format!("{name}: no such setting; {}", suggestion(&name)));
            return;
        }
        match value.into_string() {
            Ok(value) if value.is_empty() => _ = self.given.remove(&name),
            Ok(value) => _ = self.given.insert(name, value),
            Err(_) => self.problems.push(format!("{name}: the value (not shown) is not UTF-8")),
        }
    }

    /// The value as given.
    pub(super) fn text(&self, setting: &Setting) -> Option<&str> {
        self.given.get(setting.name).map(String::as_str)
    }

    /// The value as given, or the default.
    pub(super) fn text_or_default(&self, setting: &Setting) -> &str {
        self.text(setting).unwrap_or_else(|| default_of(setting))
    }

    /// A whole number inside its range; the default if none is given.
    pub(super) fn whole(&mut self, setting: &Setting) -> u32 {
        self.whole_if_given(setting).unwrap_or_else(|| default_of(setting).parse().unwrap_or(0))
    }

    /// A whole number inside its range, of a setting that has no default.
    pub(super) fn whole_if_given(&mut self, setting: &Setting) -> Option<u32> {
        let number: Option<u32> = self.text(setting)?.trim().parse().ok();
        let number = number.filter(|number| match &setting.allowed {
            Allowed::Whole(range) => range.contains(number),
            _ => true,
        });
        if number.is_none() {
            self.refuse(setting, "is not a whole number in this range");
        }
        number
    }

    /// One of the setting's words; the default if none is given.
    pub(super) fn word(&mut self, setting: &Setting) -> &'static str {
        self.word_if_given(setting).unwrap_or_else(|| default_of(setting))
    }

    /// One of the setting's words, of a setting whose default depends on others.
    pub(super) fn word_if_given(&mut self, setting: &Setting) -> Option<&'static str> {
        let given = self.text(setting)?.trim();
        let word = match setting.allowed {
            Allowed::OneOf(words) => words.iter().find(|word| **word == given).copied(),
            _ => None,
        };
        if word.is_none() {
            self.refuse(setting, "is not allowed");
        }
        word
    }

    /// Notes what is wrong with the value of a setting, or with its absence.
    pub(super) fn refuse(&mut self, setting: &Setting, problem: &str) {
        self.refuse_within(setting, problem, &setting.range(), setting.example);
    }

    /// The same for a value that other settings leave less room for.
    pub(super) fn refuse_within(
        &mut self,
        setting: &Setting,
        problem: &str,
        range: &str,
        example: &str,
    ) {
        let value = match (self.text(setting), setting.default) {
            (Some(value), _) if may_be_shown(setting, value) => format!("{value:?} "),
            (Some(_), _) => "the value (not shown) ".to_owned(),
            (None, WhenUnset::Value(value)) => format!("the default {value} "),
            (None, WhenUnset::Described(_)) => String::new(),
        };
        let name = setting.name;
        self.problems.push(format!(
            "{name}: {value}{problem}; allowed: {range}; for example {name}={example}"
        ));
    }

    /// Notes a problem that says by itself what is allowed.
    pub(super) fn complain(&mut self, setting: &Setting, problem: &dyn fmt::Display) {
        self.problems.push(format!("{}: {problem}", setting.name));
    }

    pub(super) fn finish(self) -> Result<(), SettingsError> {
        let problems = self.problems;
        if problems.is_empty() { Ok(()) } else { Err(SettingsError { problems }) }
    }
}

fn is_known(name: &str) -> bool {
    name == table::PLAIN_DATABASE_URL.name || table::ALL.iter().any(|known| known.name == name)
}

/// A value with an @ may be a connection URL that went into the wrong variable, and one that speaks of a password the
/// content of a secret.
fn may_be_shown(setting: &Setting, value: &str) -> bool {
    !setting.is_secret && !value.contains('@') && !value.to_ascii_lowercase().contains("password")
}

fn default_of(setting: &Setting) -> &'static str {
    match setting.default {
        WhenUnset::Value(value) => value,
        WhenUnset::Described(_) => "",
    }
}

fn suggestion(name: &str) -> String {
    let nearest = table::ALL.iter().min_by_key(|known| edit_distance(known.name, name));
    match nearest {
        Some(known) if edit_distance(known.name, name) <= 5 => {
            format!("did you mean {}?", known.name)
        }
        _ => ".env.example lists them all".to_owned(),
    }
}

/// Levenshtein's distance: the fewest letters to insert, delete or replace.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

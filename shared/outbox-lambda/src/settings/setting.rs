//! What there is to know about one setting.

use std::fmt;
use std::ops::RangeInclusive;

/// One setting: an entry of the table that reading, complaints and `.env.example` go by.
#[derive(Debug)]
pub struct Setting {
    /// The environment variable.
    pub name: &'static str,
    /// What it means, in one sentence.
    pub about: &'static str,
    /// The unit of its value; empty for a word or a text.
    pub unit: &'static str,
    /// What counts when it is not given.
    pub default: WhenUnset,
    /// The values it takes.
    pub allowed: Allowed,
    /// A good value.
    pub example: &'static str,
    /// Whether its value may hold a secret, and so is never shown.
    pub is_secret: bool,
}

/// What counts when a setting is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenUnset {
    /// This value.
    Value(&'static str),
    /// Nothing, or something that depends on other settings: said in words.
    Described(&'static str),
}

/// The values that a setting takes.
#[derive(Debug)]
pub enum Allowed {
    /// Whole numbers of this range.
    Whole(RangeInclusive<u32>),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A text of this form.
    Text(&'static str),
}

/// Each entry of the table starts from one of these, and says the rest by name.
impl Setting {
    pub(super) const fn whole(name: &'static str, range: RangeInclusive<u32>) -> Self {
        Self::new(name, Allowed::Whole(range))
    }

    pub(super) const fn one_of(name: &'static str, words: &'static [&'static str]) -> Self {
        Self::new(name, Allowed::OneOf(words))
    }

    pub(super) const fn text(name: &'static str, form: &'static str) -> Self {
        Self::new(name, Allowed::Text(form))
    }

    const fn new(name: &'static str, allowed: Allowed) -> Self {
        let default = WhenUnset::Described("none");
        Self { name, about: "", unit: "", default, allowed, example: "", is_secret: false }
    }

    pub(super) const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    pub(super) const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// The default value, which is an example too.
    pub(super) const fn default(self, value: &'static str) -> Self {
        Self { default: WhenUnset::Value(value), example: value, ..self }
    }

    pub(super) const fn default_is(self, described: &'static str) -> Self {
        Self { default: WhenUnset::Described(described), ..self }
    }

    pub(super) const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    pub(super) const fn secret(self) -> Self {
        Self { is_secret: true, ..self }
    }
}

/// The range with its unit: `1 to 10000 messages`.
impl Setting {
    pub(super) fn range(&self) -> String {
        let space = if self.unit.is_empty() { "" } else { " " };
        format!("{}{space}{}", self.allowed, self.unit)
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(range) => write!(f, "{} to {}", range.start(), range.end()),
            Self::OneOf(words) => f.write_str(&words.join(", ")),
            Self::Text(form) => f.write_str(form),
        }
    }
}

impl fmt::Display for WhenUnset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Value(text) | Self::Described(text)) = self;
        f.write_str(text)
    }
}

//! One thing that was looked at, and what to do about it.

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Good to know; nothing has to be done.
    Note,
    /// Messages would die or wait, or nobody can tell.
    Problem,
}

impl Severity {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

/// A finding; its advice is one sentence without a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What was looked at: `database`, `destination orders`.
    pub subject: String,
    /// What is found, and what to do about it.
    pub advice: String,
}

impl Finding {
    /// One that is as it should be.
    pub fn ok(subject: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Severity::Ok, subject, advice)
    }

    /// One that is good to know.
    pub fn note(subject: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Severity::Note, subject, advice)
    }

    /// One that has to be ended.
    pub fn problem(subject: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Severity::Problem, subject, advice)
    }

    fn new(severity: Severity, subject: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { severity, subject: subject.into(), advice: advice.into() }
    }
}

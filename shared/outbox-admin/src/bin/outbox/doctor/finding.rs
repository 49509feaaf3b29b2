//! One thing that was looked at, and what to do about it.

use serde::Serialize;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// As it should be.
    Ok,
    /// Good to know; nothing has to be done.
    Note,
    /// Messages would die or wait, or nobody can tell.
    Problem,
}

impl Severity {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

/// A finding; its advice is one sentence without a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    pub(crate) subject: String,
    pub(crate) advice: String,
}

impl Finding {
    pub(crate) fn ok(subject: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Severity::Ok, subject, advice)
    }

    pub(crate) fn note(subject: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Severity::Note, subject, advice)
    }

    pub(crate) fn problem(subject: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(Severity::Problem, subject, advice)
    }

    fn new(severity: Severity, subject: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { severity, subject: subject.into(), advice: advice.into() }
    }
}

//! What the endpoint answers: by the test's script, to accept if it says nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::Request;

/// The answer to one request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Every entry is accepted.
    Accept,
    /// The entries with these ids fail with these codes, the others are accepted.
    Fail(BTreeMap<String, String>),
    /// The request fails as a whole.
    Error {
        /// The HTTP status.
        status: u16,
        /// The error's code.
        code: String,
        /// The older spelling of the code, which SQS adds in a header.
        query_code: Option<String>,
        /// The error's text.
        text: String,
    },
    /// Something else than an answer of SQS or SNS, which accepts nothing.
    Raw {
        /// The HTTP status.
        status: u16,
        /// The body as it is sent.
        body: String,
    },
    /// Every entry is accepted, and the connection closed without an answer.
    Drop,
    /// Nothing is accepted, and nothing answered for as long as the sender waits.
    Hang,
    /// The answer, once the gate is open. What it accepts is accepted at once.
    Behind(Gate, Box<Answer>),
    /// The answer, after this time. What it accepts is accepted at once.
    After(Duration, Box<Answer>),
}

impl Answer {
    /// These entries fail with this code, the others are accepted.
    pub fn fail<'a>(ids: impl IntoIterator<Item = &'a str>, code: &str) -> Self {
        Self::Fail(ids.into_iter().map(|id| (id.to_owned(), code.to_owned())).collect())
    }

    /// The request fails as a whole.
    pub fn error(status: u16, code: &str, text: &str) -> Self {
        Self::Error { status, code: code.to_owned(), query_code: None, text: text.to_owned() }
    }

    /// Something else than an answer of SQS or SNS.
    pub fn raw(status: u16, body: &str) -> Self {
        Self::Raw { status, body: body.to_owned() }
    }

    /// The same answer, held back until the gate opens.
    #[must_use]
    pub fn behind(self, gate: &Gate) -> Self {
        Self::Behind(gate.clone(), Box::new(self))
    }

    /// The same answer from a slow service.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self::After(delay, Box::new(self))
    }

    /// Whether the entry of that id reaches the queue or topic.
    pub(crate) fn accepts(&self, id: &str) -> bool {
        match self {
            Self::Accept | Self::Drop => true,
            Self::Fail(codes) => !codes.contains_key(id),
            Self::Error { .. } | Self::Raw { .. } | Self::Hang => false,
            Self::Behind(_, answer) | Self::After(_, answer) => answer.accepts(id),
        }
    }
}

/// Holds answers back until the test opens it; for good, if it never does.
#[derive(Clone, Debug)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    /// A gate that holds every answer behind it.
    pub fn closed() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Lets the answers go, those to come as well.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn passed(&self) {
        let mut is_open = self.0.subscribe();
        is_open.wait_for(|is_open| *is_open).await.expect("the gate holds its own sender");
    }
}

/// The queued answers first, then the rule.
pub(super) struct Script {
    pub(super) next: VecDeque<Answer>,
    pub(super) rule: Arc<dyn Fn(&Request) -> Answer + Send + Sync>,
}

impl Default for Script {
    fn default() -> Self {
        Self { next: VecDeque::new(), rule: Arc::new(|_| Answer::Accept) }
    }
}

impl Script {
    pub(super) fn answer(&mut self, request: &Request) -> Answer {
        self.next.pop_front().unwrap_or_else(|| (self.rule)(request))
    }
}

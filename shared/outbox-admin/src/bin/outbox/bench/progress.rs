//! How far a bench is: a bar on a terminal, plain lines elsewhere; both on standard error.

use std::io::{self, Write};

use indicatif::{ProgressBar, ProgressStyle};

#[derive(Clone)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// For so many messages, each counted when it is there and when it is dispatched.
    pub(crate) fn new(n_messages: u64) -> Self {
        let style = ProgressStyle::with_template("{bar:32} {percent}%  {msg}  {eta} left");
        let style = style.expect("the template is well formed");
        Self(ProgressBar::new(n_messages).with_style(style))
    }

    /// One that tells nobody of anything.
    pub(crate) fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }

    /// Says what is done now.
    pub(crate) fn tell(&self, what: &str) {
        if self.0.is_hidden() {
            // That nobody listens is no failure.
            _ = writeln!(io::stderr(), "{what}");
        } else {
            self.0.set_message(what.to_owned());
        }
    }

    pub(crate) fn add(&self, n_messages: u64) {
        self.0.inc(n_messages);
    }

    /// For somebody who knows nothing of benches.
    pub(crate) fn bar(&self) -> ProgressBar {
        self.0.clone()
    }

    pub(crate) fn end(&self) {
        self.0.finish_and_clear();
    }
}

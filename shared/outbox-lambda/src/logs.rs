//! Logs: one line an event, a constant message and fields, and no secret at any level.
//!
//! The level of `OUTBOX_LOG_LEVEL` is that of the relay's own code. Libraries stay at warn whatever it
//! says: below that the driver writes whole statements, and the SDK's HTTP stack headers and bodies
//! (case L13). `RUST_LOG` is not read, for the same reason.

use std::io;

use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::settings::{LogFormat, Logs};

/// The relay's own code: crates called `outbox…`, and the programs.
const OWN: [&str; 4] = ["outbox", "relay", "purge", "admin"];

/// Where logs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output: Lambda takes it line by line.
    Stdout,
    /// Standard error, for a command line whose output is its answer.
    Stderr,
}

/// Starts the logs of this process. A second call changes nothing.
pub fn init(logs: &Logs, stream: Stream) {
    let started = match stream {
        Stream::Stdout => subscriber(logs, io::stdout).try_init(),
        Stream::Stderr => subscriber(logs, io::stderr).try_init(),
    };
    // An error says only that this process logs already.
    drop(started);
}

/// What [`init`] installs, writing somewhere else: for tests.
pub fn subscriber<W>(logs: &Logs, writer: W) -> impl Subscriber + Send + Sync + use<W>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_writer(writer).with_ansi(false);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match logs.format {
        // Flat, as Lambda's own JSON lines are: `level`, `message` and the fields side by side.
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).boxed(),
        LogFormat::Text => lines.boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(filter(logs.level)))
}

fn filter(level: LevelFilter) -> Targets {
    Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        // The pool warns of each connection that it replaces; after a freeze that is business as usual.
        .with_target("deadpool", LevelFilter::OFF)
        .with_targets(OWN.map(|own| (own, level)))
}

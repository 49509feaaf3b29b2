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
        // The runtime repeats, in a form of its own, what a function has said of its failed run. A panic
        // is written to standard error by Rust itself.
        .with_target("lambda_runtime::layers::panic", LevelFilter::OFF)
        .with_targets(OWN.map(|own| (own, level)))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// What is written when a few lines are logged at these settings.
    fn logged(level: LevelFilter, format: LogFormat) -> String {
        #[derive(Clone, Default)]
        struct Kept(Arc<Mutex<Vec<u8>>>);
        impl io::Write for Kept {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().expect("no writer panics").extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let kept = Kept::default();
        let writer = kept.clone();
        let subscriber = subscriber(&Logs { level, format }, move || writer.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::debug!(target: "outbox_store::claim", "ours at debug");
            tracing::info!(target: "relay", messages = 3, "ours at info");
            tracing::warn!(target: "aws_config", "a library at warn");
            tracing::info!(target: "aws_smithy_runtime", "a library at info");
            tracing::trace!(target: "hyper::proto", "a library at trace");
            tracing::warn!(target: "deadpool.postgres", "the pool at warn");
        });
        let bytes = kept.0.lock().expect("no writer panics").clone();
        String::from_utf8(bytes).expect("logs are text")
    }

    fn messages(level: LevelFilter) -> Vec<String> {
        let lines = logged(level, LogFormat::Json);
        let message_of = |line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
            line["message"].as_str().expect("a line has a message").to_owned()
        };
        lines.lines().map(message_of).collect()
    }

    /// Case L13.
    #[test]
    fn at_any_level_libraries_stay_at_warn() {
        let all = ["ours at debug", "ours at info", "a library at warn"];
        assert_eq!(messages(LevelFilter::TRACE), all);
        assert_eq!(messages(LevelFilter::DEBUG), all);
        assert_eq!(messages(LevelFilter::INFO), all[1..]);
        assert_eq!(messages(LevelFilter::WARN), all[2..]);
        assert!(messages(LevelFilter::ERROR).is_empty());
    }

    #[test]
    fn a_line_is_flat_json_or_plain_text() {
        let json = logged(LevelFilter::INFO, LogFormat::Json);
        let line: serde_json::Value =
            serde_json::from_str(json.lines().next().expect("a line")).expect("JSON");
        assert_eq!(line["level"], "INFO");
        assert_eq!(line["message"], "ours at info");
        assert_eq!(line["messages"], 3);
        assert!(line["timestamp"].is_string());

        let text = logged(LevelFilter::INFO, LogFormat::Text);
        assert!(
            text.lines().next().expect("a line").ends_with("INFO relay: ours at info messages=3")
        );
    }
}

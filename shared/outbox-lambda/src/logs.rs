//! Logs: one line an event, a constant message and fields, and no secret at any level.
//!
//! The level of `OUTBOX_LOG_LEVEL` is that of the relay's own code. Libraries stay at warn whatever it
//! says: below that the driver writes whole statements, and the SDK's HTTP stack headers and bodies
//! (case L13). `RUST_LOG` is not read, for the same reason; nor is `AWS_LAMBDA_LOG_LEVEL`: Lambda drops by it
//! what it is given, the metrics too, and a second filter here would say no more.

mod line;

use std::io;
use std::panic::{self, PanicHookInfo};

use tracing::level_filters::LevelFilter;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::fmt::{self, MakeWriter, format::JsonFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::settings::{LogFormat, Logs};
use crate::traces::Traces;
use line::Line;

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
    match stream {
        Stream::Stdout => init_function(logs, &Traces::off()),
        Stream::Stderr => start(vec![lines(logs, io::stderr)]),
    }
}

/// Starts the logs of a function, its panics among them, and its traces.
pub fn init_function(logs: &Logs, traces: &Traces) {
    start(traces.layer().into_iter().chain([lines(logs, io::stdout)]).collect());
    panic::set_hook(Box::new(log_panic));
    traces.tell_problem();
}

fn start(layers: Vec<DynLayer>) {
    // An error says only that this process logs already.
    drop(tracing_subscriber::registry().with(layers).try_init());
}

/// What [`init`] installs, writing somewhere else: for tests.
pub fn subscriber<W>(logs: &Logs, writer: W) -> impl Subscriber + Send + Sync + use<W>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::registry().with(lines(logs, writer))
}

/// Something beside others that takes in what this process tells of itself.
pub(crate) type DynLayer = Box<dyn Layer<Registry> + Send + Sync>;

fn lines<W>(logs: &Logs, writer: W) -> DynLayer
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_writer(writer).with_ansi(false);
    let lines: DynLayer = match logs.format {
        LogFormat::Json => lines.event_format(Line::new()).fmt_fields(JsonFields::new()).boxed(),
        LogFormat::Text => lines.boxed(),
    };
    // Without spans: where nobody else takes them, they are never made.
    lines.with_filter(filter(logs.level).and(filter_fn(is_no_span))).boxed()
}

fn is_no_span(it: &Metadata<'_>) -> bool {
    !it.is_span()
}

/// A panic as one line, in place of Rust's own lines on standard error, which no search by request finds.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let error = panic.payload_as_str().unwrap_or("no text");
    let location = panic.location().map(ToString::to_string);
    tracing::error!(error.r#type = "panic", error, location, "panicked");
}

/// Whether a target is the relay's own code.
#[cfg(feature = "otel")]
pub(crate) fn is_own(target: &str) -> bool {
    OWN.iter().any(|own| target.starts_with(own))
}

fn filter(level: LevelFilter) -> Targets {
    Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        // The pool warns of each connection that it replaces; after a freeze that is business as usual.
        .with_target("deadpool", LevelFilter::OFF)
        // The runtime repeats, in a form of its own, what a function has said of its failed run, or of a panic.
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

    /// Making one would cost an allocation for each request and each statement.
    #[test]
    fn a_program_that_exports_no_spans_makes_none() {
        let logs = Logs { level: LevelFilter::TRACE, format: LogFormat::Json };
        tracing::subscriber::with_default(subscriber(&logs, io::sink), || {
            let span = tracing::info_span!(target: "outbox_relay::span", "outbox run");
            assert!(span.is_disabled());
            assert!(tracing::enabled!(target: "outbox_relay", tracing::Level::INFO), "events are");
        });
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

        assert_eq!(line.get("requestId"), None, "outside an invocation");

        let text = logged(LevelFilter::INFO, LogFormat::Text);
        assert!(
            text.lines().next().expect("a line").ends_with("INFO relay: ours at info messages=3")
        );
    }
}

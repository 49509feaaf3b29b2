//! Everything that this process logs, at the level trace.

use std::io::{self, Write};
use std::sync::{Mutex, Once};

use outbox_lambda::logs;
use outbox_lambda::settings::{LogFormat, Logs};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::util::SubscriberInitExt;

static LOGGED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Starts the logs as a program does, but keeps them.
pub(super) fn start() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let everything = Logs { level: LevelFilter::TRACE, format: LogFormat::Json };
        logs::subscriber(&everything, || Keep).init();
    });
}

/// What has been logged so far.
pub(super) fn text() -> String {
    String::from_utf8(LOGGED.lock().unwrap().clone()).unwrap()
}

struct Keep;

impl Write for Keep {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! The project's own programs, as child processes.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long a test waits for a process to end before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command for one of the workspace's programs (`outbox`, `relay`, `purge`, `admin`), with none of the relay's or
/// AWS's settings inherited; it is killed when dropped. `make test` has built it beside the tests.
pub fn program(name: &str) -> Command {
    let mut path: PathBuf = std::env::current_exe().unwrap();
    path.pop(); // deps
    path.pop(); // debug
    path.push(name);
    assert!(path.exists(), "{} is not built: run make test", path.display());
    let mut command = Command::new(path);
    command.env_clear().kill_on_drop(true);
    command.envs([
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
    ]);
    command
}

/// A running program. It is killed when dropped.
pub struct Process {
    pid: Pid,
    output: Arc<Mutex<Output>>,
    ended: watch::Receiver<Option<ExitStatus>>,
    watching: JoinHandle<()>,
}

/// How a program ended, and what it said.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to either stream, in order of arrival.
    pub output: String,
}

#[derive(Default)]
struct Output {
    stdout: String,
    both: String,
}

impl Process {
    /// Starts it and keeps what it writes.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let pid = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)).unwrap();
        let output = Arc::new(Mutex::new(Output::default()));
        let (sender, ended) = watch::channel(None);
        let watching = tokio::spawn(watch(child, Arc::clone(&output), sender));
        Self { pid, output, ended, watching }
    }

    /// Its process id, which ends the `claimed_by` of what it has claimed.
    pub fn id(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Stops it where it stands, as a container is frozen between invocations or a machine stalls.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
        // It stops a moment after the signal was sent. The watching task still learns of its end.
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.pid), stopped).unwrap();
        assert!(status.is_some_and(|status| status.stopped()), "it ended: {}", self.output());
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Interrupts it, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Ends it at once: not even what it has just learnt is written down.
    pub async fn kill(&self) {
        self.signal(Signal::KILL);
        self.ended().await;
    }

    fn signal(&self, signal: Signal) {
        assert!(self.ended.borrow().is_none(), "it has ended: {}", self.output());
        kill_process(self.pid, signal).unwrap();
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    /// If it has not within half a minute.
    pub async fn ended(&self) -> Ended {
        let ended = tokio::time::timeout(PATIENCE, self.end()).await;
        ended.unwrap_or_else(|_| panic!("still running after {PATIENCE:?}: {}", self.output()))
    }

    /// The same, for as long as it takes.
    pub(crate) async fn end(&self) -> Ended {
        let mut ended = self.ended.clone();
        let status = *ended.wait_for(Option::is_some).await.unwrap();
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let (stdout, both) = (output.stdout.clone(), output.both.clone());
        Ended { code: status.and_then(|status| status.code()), stdout, output: both }
    }

    /// What it has written to either stream so far.
    pub fn output(&self) -> String {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).both.clone()
    }

    /// The latest of its log lines with that message.
    pub fn logged(&self, message: &str) -> Option<Value> {
        let output = self.output();
        let mut logged = output.lines().rev().filter_map(|line| serde_json::from_str(line).ok());
        logged.find(|line: &Value| line["message"] == message)
    }
}

impl Drop for Process {
    /// The child goes with its watching task, and is killed by that.
    fn drop(&mut self) {
        self.watching.abort();
    }
}

async fn watch(
    mut child: Child,
    output: Arc<Mutex<Output>>,
    ended: watch::Sender<Option<ExitStatus>>,
) {
    let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    tokio::join!(keep(stdout, &output, true), keep(stderr, &output, false));
    let status = child.wait().await.unwrap();
    ended.send_replace(Some(status));
}

async fn keep(stream: impl AsyncRead + Unpin, output: &Mutex<Output>, is_stdout: bool) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while stream.read_until(b'\n', &mut line).await.unwrap() > 0 {
        let text = String::from_utf8_lossy(&line);
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        output.both += &text;
        if is_stdout {
            output.stdout += &text;
        }
        drop(output);
        line.clear();
    }
}

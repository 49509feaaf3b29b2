//! Lambda on this machine: an emulator of its runtime API, and the real functions as its runtimes.
//!
//! ```text
//! cargo lambda invoke relay --> emulator (cargo lambda watch) <-- target/debug/relay polls for events
//! ```

use std::net::TcpListener;
use std::process::Output;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio::process::Child;
use uuid::Uuid;

use crate::console::Console;
use crate::programs::{self, Logs};

/// The emulator, stopped when dropped.
pub(crate) struct Emulator {
    port: u16,
    process: Child,
    logs: Logs,
}

/// A function that waits for invocations, stopped when dropped.
pub(crate) struct Function {
    name: &'static str,
    process: Child,
}

const START_TIMEOUT: Duration = Duration::from_secs(30);
const INVOKE_TIMEOUT: Duration = Duration::from_mins(1);

impl Emulator {
    /// Starts it on a free port of the loopback, and on another if somebody takes that one in between.
    pub(crate) async fn start(logs: &Logs) -> Result<Self> {
        for _ in 0..3 {
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let mut watch = programs::cargo_lambda();
            watch.args(["watch", "--only-lambda-apis", "--invoke-address", "127.0.0.1"]);
            watch.args(["--invoke-port", &port.to_string()]);
            // It asks cargo for the workspace's functions, all of which is on this machine.
            watch.env("CARGO_NET_OFFLINE", "true");
            logs.take_output(&mut watch, "emulator")?;
            let process = watch.spawn().context("cargo lambda is not there: run `make setup`")?;
            let mut emulator = Self { port, process, logs: logs.clone() };
            if emulator.answers().await? {
                return Ok(emulator);
            }
        }
        bail!("cargo lambda watch ended at once; {}", logs.end_of("emulator"))
    }

    /// Waits until it takes connections; `false` if it has ended.
    async fn answers(&mut self) -> Result<bool> {
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            if started.elapsed() > START_TIMEOUT {
                let seconds = START_TIMEOUT.as_secs();
                let log = self.logs.end_of("emulator");
                bail!("cargo lambda watch does not answer after {seconds} s; {log}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(self.process.try_wait()?.is_none())
    }

    /// Starts a function with these settings, as Lambda does: the environment tells it where to poll.
    pub(crate) fn start_function(
        &self,
        name: &'static str,
        settings: &[(&str, &str)],
    ) -> Result<Function> {
        let mut function = programs::own(name)?;
        let runtime_api = format!("http://127.0.0.1:{}/.rt/{name}", self.port);
        let log_stream = format!("demo/[1]{}", Uuid::new_v4().simple());
        function
            .env("AWS_LAMBDA_RUNTIME_API", runtime_api)
            .env("AWS_LAMBDA_FUNCTION_NAME", name)
            .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
            .env("AWS_LAMBDA_LOG_STREAM_NAME", log_stream)
            .envs(settings.iter().copied());
        self.logs.take_output(&mut function, name)?;
        let process = function.spawn().with_context(|| format!("{name} cannot be started"))?;
        Ok(Function { name, process })
    }

    /// Invokes a function with an empty event, as its timer would, and returns its answer.
    pub(crate) async fn invoke<T: DeserializeOwned>(
        &mut self,
        function: &mut Function,
        console: &Console,
    ) -> Result<T> {
        let name = function.name;
        console.command(&format!("cargo lambda invoke {name} --data-ascii '{{}}'"));
        let answer = {
            let _spinner = console.spinner("waiting for its answer");
            self.answer_of(function).await?
        };
        console.note(answer.trim());
        serde_json::from_str(&answer).with_context(|| format!("{name} answered {answer:?}"))
    }

    async fn answer_of(&mut self, function: &mut Function) -> Result<String> {
        let name = function.name;
        let mut invoke = programs::cargo_lambda();
        invoke.args(["invoke", name, "--data-ascii", "{}", "--invoke-address", "127.0.0.1"]);
        invoke.args(["--invoke-port", &self.port.to_string()]);
        // The emulator keeps an event for a function that has died, for as long as it takes.
        let Output { status, stdout, stderr } = tokio::select! {
            output = invoke.output() => output?,
            status = function.process.wait() => {
                bail!("the function {name} has ended ({}); {}", status?, self.logs.end_of(name))
            }
            status = self.process.wait() => {
                bail!("cargo lambda watch has ended ({}); {}", status?, self.logs.end_of("emulator"))
            }
            () = tokio::time::sleep(INVOKE_TIMEOUT) => {
                let seconds = INVOKE_TIMEOUT.as_secs();
                bail!("no answer from {name} within {seconds} s; {}", self.logs.end_of(name))
            }
        };
        if !status.success() {
            let said = String::from_utf8_lossy(&stderr);
            bail!("invoking {name} failed: {}; {}", said.trim(), self.logs.end_of(name));
        }
        Ok(String::from_utf8(stdout)?)
    }
}

impl Function {
    /// Stops it at once, as Lambda may: a relay that is idle holds nothing.
    pub(crate) async fn stop(&mut self) -> Result<()> {
        Ok(self.process.kill().await?)
    }
}

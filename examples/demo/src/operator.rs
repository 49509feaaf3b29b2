//! The person on call, who types `outbox ...`: the real program, beside this one.

use std::process::Output;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::process::Command;

use crate::console::Console;
use crate::logs::{Logs, program};

/// An operator of this run's database.
pub(crate) struct Operator {
    database_url: String,
    logs: Logs,
}

/// Found a problem, as `status` does while a message is dead: an answer, not a failure.
const PROBLEM_FOUND: i32 = 1;

impl Operator {
    pub(crate) fn new(database_url: String, logs: Logs) -> Self {
        Self { database_url, logs }
    }

    pub(crate) async fn migrate(&self) -> Result<()> {
        self.run(&["migrate"]).await.map(drop)
    }

    /// The answer of `outbox status`.
    pub(crate) async fn status(&self, console: &Console) -> Result<Value> {
        console.command("outbox status");
        self.run(&["status"]).await
    }

    /// Redrives a dead message and returns how many are pending again.
    pub(crate) async fn redrive(&self, id: i64, reason: &str, console: &Console) -> Result<i64> {
        console.command(&format!("outbox redrive {id} --reason \"{reason}\""));
        let answer = self.run(&["redrive", &id.to_string(), "--reason", reason]).await?;
        answer["redriven"].as_i64().with_context(|| format!("outbox redrive answered {answer}"))
    }

    async fn run(&self, arguments: &[&str]) -> Result<Value> {
        let mut outbox = Command::new(program("outbox")?);
        self.logs.clean_environment(&mut outbox);
        outbox.args(arguments).args(["--output", "json"]);
        outbox.env("OUTBOX_DATABASE_URL", &self.database_url).kill_on_drop(true);
        let Output { status, stdout, stderr } =
            outbox.output().await.context("outbox cannot be started")?;
        let (typed, said) = (arguments.join(" "), String::from_utf8_lossy(&stderr));
        if !status.success() && status.code() != Some(PROBLEM_FOUND) {
            bail!("outbox {typed}: {status}: {}", said.trim());
        }
        serde_json::from_slice(&stdout)
            .with_context(|| format!("outbox {typed} answered no JSON: {}", said.trim()))
    }
}

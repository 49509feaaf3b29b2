//! The person on call, who types `outbox ...`: the real program, beside this one.

use std::process::Output;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::console::Console;
use crate::programs;

/// An operator of this run's database.
pub(crate) struct Operator {
    database_url: String,
}

/// Found a problem, as `status` does while a message is dead: an answer, not a failure.
const PROBLEM_FOUND: i32 = 1;

impl Operator {
    pub(crate) fn new(database_url: String) -> Self {
        Self { database_url }
    }

    pub(crate) async fn migrate(&self) -> Result<()> {
        self.ask(&["migrate"]).await.map(drop)
    }

    /// Shows `outbox status` as an operator sees it, and returns how many messages are dead.
    pub(crate) async fn n_dead(&self, console: &Console) -> Result<i64> {
        console.command("outbox status");
        console.note(&self.run(&["status"]).await?);
        let status = self.ask(&["status"]).await?;
        status["dead"].as_i64().with_context(|| format!("outbox status answered {status}"))
    }

    /// Redrives a dead message, and returns how many are pending again.
    pub(crate) async fn redrive(&self, id: i64, reason: &str, console: &Console) -> Result<i64> {
        console.command(&format!("outbox redrive {id} --reason \"{reason}\""));
        let answer = self.ask(&["redrive", &id.to_string(), "--reason", reason]).await?;
        answer["redriven"].as_i64().with_context(|| format!("outbox redrive answered {answer}"))
    }

    async fn ask(&self, arguments: &[&str]) -> Result<Value> {
        let answer = self.run(&[arguments, &["--output", "json"]].concat()).await?;
        serde_json::from_str(&answer).with_context(|| format!("outbox answered {answer:?}"))
    }

    async fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut outbox = programs::own("outbox")?;
        outbox.args(arguments).env("OUTBOX_DATABASE_URL", &self.database_url);
        let output = outbox.output().await.context("outbox cannot be started")?;
        let Output { status, stdout, stderr } = output;
        let has_answered = status.code() == Some(PROBLEM_FOUND) && !stdout.is_empty();
        if !status.success() && !has_answered {
            let said = String::from_utf8_lossy(&stderr);
            bail!("outbox {} failed ({status}): {}", arguments.join(" "), said.trim());
        }
        Ok(String::from_utf8(stdout)?)
    }
}

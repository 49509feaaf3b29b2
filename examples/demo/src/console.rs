//! What the user sees: numbered steps, checked claims, a bar where the demo waits, and a closing table.
//!
//! On a terminal with colours and bars; into a file or a CI log as plain lines.

use std::fmt::Display;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use comfy_table::{Table, presets};
use console::{Term, style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

/// The demo's side of the conversation.
pub(crate) struct Console {
    out: Term,
    started: Instant,
    n_steps: u32,
    n_checks: u32,
    promises: Table,
    /// Whether a check has failed, after which there are no more.
    is_untrue: bool,
}

impl Console {
    pub(crate) fn new() -> Self {
        let mut promises = Table::new();
        promises.load_style(presets::UTF8_FULL_CONDENSED);
        promises.set_header(["Promised", "Seen", "OK"]);
        Self {
            out: Term::stdout(),
            started: Instant::now(),
            n_steps: 0,
            n_checks: 0,
            promises,
            is_untrue: false,
        }
    }

    pub(crate) fn title(&self, title: &str) {
        self.line(&format!("\n{}", style(title).bold()));
    }

    /// Begins the next step.
    pub(crate) fn step(&mut self, title: &str) {
        self.n_steps += 1;
        let number = format!("{}.", self.n_steps);
        self.line(&format!("\n{} {}", style(number).cyan().bold(), style(title).bold()));
    }

    /// Something worth knowing, in one line or more.
    pub(crate) fn note(&self, text: &str) {
        for line in text.lines() {
            self.line(&format!("   {}", style(line).dim()));
        }
    }

    /// What a user would type at this point.
    pub(crate) fn command(&self, command: &str) {
        self.line(&format!("   {} {command}", style("$").cyan()));
    }

    /// Counts what was found, and compares it with what must be.
    ///
    /// # Errors
    /// If they differ: the error says both.
    pub(crate) fn count<T: Display + Copy>(
        &mut self,
        expected: T,
        what: &str,
        found: T,
    ) -> Result<()> {
        let claim = format!("{found:>3} {what}");
        self.verify(&claim, what, &expected.to_string(), &found.to_string())
    }

    /// The same for what is no number.
    ///
    /// # Errors
    /// If they differ: the error says both.
    pub(crate) fn check(&mut self, what: &str, expected: &str, found: &str) -> Result<()> {
        self.verify(&format!("{what}: {found}"), what, expected, found)
    }

    fn verify(&mut self, claim: &str, what: &str, expected: &str, found: &str) -> Result<()> {
        self.n_checks += 1;
        if found == expected {
            self.line(&format!("   {} {claim}", style("✓").green().bold()));
            return Ok(());
        }
        let seen = format!("expected {expected}, found {found}");
        self.line(&format!("   {} {what}: {seen}", style("✗").red().bold()));
        self.promises.add_row([what, seen.as_str(), "NO"]);
        self.is_untrue = true;
        bail!("not true: {what}: {seen}")
    }

    /// A row of the closing table, once all that it rests on is checked.
    pub(crate) fn promise(&mut self, promised: &str, seen: &str) {
        self.promises.add_row([promised, seen, "yes"]);
    }

    /// A bar that counts to `n`; it vanishes when it is done or dropped.
    pub(crate) fn bar(&self, what: &'static str, n: u64) -> ProgressBar {
        let bar = self.waiting(Some(n), "   {msg} {bar:30.cyan/dim} {pos}/{len}");
        bar.set_message(what);
        bar
    }

    /// Something that turns while a thing of unknown length goes on; it vanishes when dropped.
    pub(crate) fn spinner(&self, what: &'static str) -> ProgressBar {
        let spinner = self.waiting(None, "   {spinner:.cyan} {msg}");
        spinner.set_message(what);
        spinner.enable_steady_tick(Duration::from_millis(80));
        spinner
    }

    fn waiting(&self, n: Option<u64>, template: &str) -> ProgressBar {
        let style =
            ProgressStyle::with_template(template).expect("the template is ours, and tried");
        // Standard output, as all lines: on anything but a terminal indicatif draws nothing there.
        ProgressBar::with_draw_target(n, ProgressDrawTarget::term(self.out.clone(), 20))
            .with_style(style)
            .with_finish(ProgressFinish::AndClear)
    }

    /// The end of a demo in which all was true.
    pub(crate) fn close(self) -> ExitCode {
        self.line(&format!("\n{}", self.promises));
        let (n_checks, seconds) = (self.n_checks, self.started.elapsed().as_secs_f64());
        let verdict = format!("All of it is true: {n_checks} checks in {seconds:.1} s.");
        self.line(&format!("\n{}\n", style(verdict).green().bold()));
        self.line("Next: `make test` proves each guarantee, crashes and outages included.");
        self.line("Read on: README.md to use it, ARCHITECTURE.md for a row's whole journey.");
        ExitCode::SUCCESS
    }

    /// The end of any other.
    pub(crate) fn fail(self, error: &anyhow::Error) -> ExitCode {
        if self.is_untrue {
            self.line(&format!("\n{}", self.promises));
        }
        // That nobody listens is no further failure, here and below.
        let _ = Term::stderr().write_line(&format!("\ndemo: {error:#}"));
        ExitCode::FAILURE
    }

    fn line(&self, text: &str) {
        let _ = self.out.write_line(text);
    }
}

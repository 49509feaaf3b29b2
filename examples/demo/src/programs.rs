//! The programs that a run starts: where they are, what of the environment they see, and where they log.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use tokio::process::Command;

/// The checkout, in whose `.local` the local stack keeps what it has.
fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this is examples/demo")
}

/// A command for one of the workspace's programs, which the same build has put beside this one.
pub(crate) fn own(name: &str) -> Result<Command> {
    let path = env::current_exe()?.with_file_name(name);
    if !path.exists() {
        bail!("{} is not built: run `make demo`", path.display());
    }
    Ok(command(path.as_os_str()))
}

/// A command for `cargo lambda ...`: the one that `make setup` has installed, else the machine's own.
pub(crate) fn cargo_lambda() -> Command {
    let installed = checkout().join(".local/cargo-lambda/bin/cargo-lambda");
    let program = if installed.exists() { installed.as_os_str() } else { OsStr::new("cargo") };
    let mut command = command(program);
    command.arg("lambda");
    command.current_dir(checkout()); // It looks for a manifest, to know the functions' names.
    command
}

/// It ends with this process, and sees none of the settings that the user may have for another outbox.
fn command(program: &OsStr) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).kill_on_drop(true);
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("OUTBOX_") || name.starts_with("AWS_LAMBDA_") {
            command.env_remove(&*name);
        }
    }
    command
}

/// The logs of one run's programs.
#[derive(Clone)]
pub(crate) struct Logs {
    run: String,
}

/// Where they are, in the checkout.
const FOLDER: &str = ".local/log";

impl Logs {
    pub(crate) fn new(run: &str) -> Result<Self> {
        fs::create_dir_all(checkout().join(FOLDER))?;
        Ok(Self { run: run.to_owned() })
    }

    /// Sends what the command prints to the end of its log.
    pub(crate) fn take_output(&self, command: &mut Command, program: &str) -> Result<()> {
        let name = self.name(program);
        let file = File::options().create(true).append(true).open(checkout().join(&name));
        let file = file.with_context(|| format!("{name} cannot be written"))?;
        command.stdout(file.try_clone()?).stderr(file);
        Ok(())
    }

    /// The end of a program's log, and where the rest is.
    pub(crate) fn end_of(&self, program: &str) -> String {
        let name = self.name(program);
        let text = fs::read_to_string(checkout().join(&name)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(5)..].join("\n  | ");
        format!("the end of {name}:\n  | {last}")
    }

    /// When nothing has failed they are of no further use but to look at, and the next run's replace them.
    pub(crate) fn close(&self) {
        for program in ["emulator", "relay", "purge"] {
            // What can't be renamed keeps its name, and that harms nobody.
            let kept = checkout().join(FOLDER).join(format!("demo-{program}.log"));
            let _ = fs::rename(checkout().join(self.name(program)), kept);
        }
    }

    /// The pattern of their names, if there are any.
    pub(crate) fn kept(&self) -> Option<String> {
        checkout().join(self.name("emulator")).exists().then(|| self.name("*"))
    }

    fn name(&self, program: &str) -> String {
        format!("{FOLDER}/demo-{program}-{}.log", self.run)
    }
}

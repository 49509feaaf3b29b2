//! The project's own programs, as child processes.

use std::path::PathBuf;

use tokio::process::Command;

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

//! `outbox redrive`

use std::env;
use std::io::{self, IsTerminal, Write};

use outbox_admin::{Command, Redrive, Redriven, Reply, Status, execute, status};
use outbox_lambda::Program;

use crate::args;
use crate::context::{Context, host_name};
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) async fn run(args: args::Redrive, output: Output) -> Result<Exit, Failure> {
    let args::Redrive { ids, destination, code, all, reason, yes } = args;
    let redrive = Redrive { ids, destination, code, all, reason };
    redrive.check().map_err(|error| Failure::usage(error.to_string()))?;
    let is_agreed = yes || !redrive.ids.is_empty();
    if !is_agreed && !can_ask() {
        return Err(Failure::usage(
            "this may redrive many messages: say --yes, as nobody can be asked here",
        ));
    }

    let context = Context::quiet(Program::CommandLine)?;
    let store = context.store()?;
    if !is_agreed {
        let status = status(&store).await.map_err(|error| context.failure(error))?;
        if !agrees(&redrive, &status)? {
            return Err(Failure::problem("nothing was redriven"));
        }
    }
    let n_ids = redrive.ids.len() as u64;
    let command = Command::Redrive(redrive);
    let reply =
        execute(&store, &command, &actor()).await.map_err(|error| context.failure(error))?;
    let Reply::Redriven(Redriven { redriven }) = reply else {
        unreachable!("the reply to a redrive")
    };
    output.show(&reply, || match n_ids.saturating_sub(redriven) {
        0 => format!("redrove {redriven} messages"),
        n_others => {
            format!("redrove {redriven} messages; {n_others} of the ids are not dead, or not there")
        }
    })?;
    Ok(if redriven == 0 || redriven < n_ids { Exit::Problem } else { Exit::Ok })
}

fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the user. How many messages have a code is not counted, so that is an upper bound.
fn agrees(redrive: &Redrive, status: &Status) -> Result<bool, Failure> {
    let is_meant = |name: &str| redrive.destination.as_deref().is_none_or(|meant| meant == name);
    let meant = status.destinations.iter().filter(|backlog| is_meant(&backlog.destination));
    let n_dead: i64 = meant.map(|backlog| backlog.dead).sum();
    let of = redrive.destination.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
    let with =
        redrive.code.as_ref().map(|code| format!(", those with code {code}")).unwrap_or_default();
    let cannot_ask = |error| Failure::problem(format!("cannot ask: {error}"));

    let mut answer = String::new();
    write!(io::stderr(), "Redrive the {n_dead} dead messages{of}{with}? [y/N] ")
        .map_err(cannot_ask)?;
    io::stdin().read_line(&mut answer).map_err(cannot_ask)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Who asks, for the audit: `ada@host`.
fn actor() -> String {
    let user = env::var("USER").or_else(|_| env::var("LOGNAME"));
    format!("{}@{}", user.as_deref().unwrap_or("somebody"), host_name())
}

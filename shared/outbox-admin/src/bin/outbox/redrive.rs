//! `outbox redrive`

use std::io::{self, IsTerminal, Write};

use outbox_admin::{Command, Redrive, Redriven, Reply, Status, execute, status};
use outbox_lambda::Program;

use crate::args;
use crate::context::{Context, actor};
use crate::exit::{Exit, Failure};
use crate::output::{Output, messages};

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
        0 => format!("redrove {}", messages(redriven)),
        n_others => {
            format!("redrove {}; ids without a dead message: {n_others}", messages(redriven))
        }
    })?;
    Ok(if redriven == 0 || redriven < n_ids { Exit::Problem } else { Exit::Ok })
}

fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the user. How many messages have a code is not counted, so a number is an upper bound then.
fn agrees(redrive: &Redrive, status: &Status) -> Result<bool, Failure> {
    let Redrive { destination, code, .. } = redrive;
    let is_meant = |name: &str| destination.as_deref().is_none_or(|meant| meant == name);
    let meant = status.destinations.iter().filter(|backlog| is_meant(&backlog.destination));
    let n_dead: i64 = meant.map(|backlog| backlog.dead).sum();
    if n_dead == 0 {
        return Ok(true);
    }
    let of = destination.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
    let those = code.as_ref().map(|code| format!(", those with {code}")).unwrap_or_default();
    let dead = messages(n_dead.unsigned_abs());

    let cannot_ask = |error| Failure::problem(format!("cannot ask: {error}"));
    let mut answer = String::new();
    write!(io::stderr(), "Redrive {dead}{of}{those}? [y/N] ").map_err(cannot_ask)?;
    io::stdin().read_line(&mut answer).map_err(cannot_ask)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

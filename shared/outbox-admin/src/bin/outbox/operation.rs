//! What `outbox redrive` and `outbox discard` have in common: look, ask, do, tell.

use std::io::{self, IsTerminal, Write};

use outbox_admin::{
    Action, Command, Discarded, Operation, Preview, Redriven, Reply, TimeLimits, execute,
};
use outbox_lambda::Program;

use crate::args::{Selected, Who};
use crate::context::{Context, actor};
use crate::exit::{Exit, Failure};
use crate::output::{Output, messages};
use crate::status::dead_by_code;

/// What is selected, with nothing said yet about what to do.
pub(crate) fn of(selected: Selected) -> Operation {
    let Selected { mut ids, destination, code, group, dead_before, dead_after, all } = selected;
    // An id that is given twice is one message, and counts as one.
    ids.sort_unstable();
    ids.dedup();
    let message_group = group;
    let selected = Operation { ids, destination, code, message_group, ..Operation::default() };
    Operation { dead_before, dead_after, all, ..selected }
}

pub(crate) async fn carry_out(
    action: Action,
    operation: Operation,
    is_agreed: bool,
    who: &Who,
    output: Output,
) -> Result<Exit, Failure> {
    operation.check(action).map_err(|error| Failure::usage(error.to_string()))?;
    let is_agreed = is_agreed || operation.dry_run;
    if !is_agreed && !can_ask() {
        let verb = action.name();
        return Err(Failure::usage(format!(
            "this may {verb} many messages: say --yes, as nobody can be asked here"
        )));
    }

    let context = Context::quiet(Program::CommandLine)?;
    let store = context.store()?;
    if !is_agreed {
        let preview = operation.preview(&store).await.map_err(|error| context.failure(error))?;
        if !agrees(action, &preview)? {
            return Err(Failure::problem(format!("nothing was {}", action.past())));
        }
    }
    let n_ids = operation.ids.len() as u64;
    let command = match action {
        Action::Redrive => Command::Redrive(operation),
        Action::Discard => Command::Discard(operation),
    };
    let reply = execute(&store, &command, &actor(who), TimeLimits::default())
        .await
        .map_err(|error| context.failure(error))?;
    let (n_messages, n_skipped, text) = match &reply {
        Reply::Redriven(Redriven { redriven, skipped, .. }) => {
            (*redriven, *skipped, format!("redrove {}", messages(*redriven)))
        }
        Reply::Discarded(Discarded { discarded, skipped, .. }) => {
            (*discarded, *skipped, format!("discarded {}", messages(*discarded)))
        }
        Reply::Preview(preview) => (n_matched(preview), Some(0), shown(preview)),
        _ => unreachable!("the reply to a redrive or a discard"),
    };
    let n_others = n_skipped.map_or(0, |n_skipped| n_ids.saturating_sub(n_messages + n_skipped));
    output.show(&reply, || {
        [vec![text], remarks(n_messages, n_skipped, n_others)].concat().join("; ")
    })?;
    let is_complete = n_messages > 0 && n_skipped == Some(0) && n_others == 0;
    Ok(if is_complete { Exit::Ok } else { Exit::Problem })
}

/// What a person should know besides.
fn remarks(n_messages: u64, n_skipped: Option<u64>, n_others: u64) -> Vec<String> {
    let mut remarks = Vec::new();
    if n_messages == 0 && n_skipped == Some(0) && n_others == 0 {
        remarks
            .push("nothing dead matches: outbox list --status dead shows what is dead".to_owned());
    }
    match n_skipped {
        Some(0) => (),
        Some(n_skipped) => {
            let skipped = messages(n_skipped);
            remarks.push(format!("skipped {skipped} that somebody else holds: try again"));
        }
        None => remarks.push(
            "how many were skipped could not be counted: outbox status shows what is dead"
                .to_owned(),
        ),
    }
    if n_others > 0 {
        remarks.push(format!("ids without a dead message that matches: {n_others}"));
    }
    remarks
}

fn n_matched(preview: &Preview) -> u64 {
    preview.matched.unsigned_abs()
}

/// The dead messages by destination and code, and how many there are.
fn shown(preview: &Preview) -> String {
    let would_be = format!("would take {}", messages(n_matched(preview)));
    match preview.dead_letters.as_slice() {
        [] => would_be,
        dead => dead_by_code(dead) + "\n" + &would_be,
    }
}

/// Whether there is a terminal to ask at.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn agrees(action: Action, preview: &Preview) -> Result<bool, Failure> {
    if preview.matched == 0 {
        return Ok(true);
    }
    let dead = messages(n_matched(preview));
    let question = match action {
        Action::Redrive => format!("Redrive {dead}?"),
        Action::Discard => format!("Delete {dead} for good?"),
    };
    ask(&format!("{}\n{question}", dead_by_code(&preview.dead_letters)))
}

/// Asks on the terminal; what is not a yes is a no.
pub(crate) fn ask(question: &str) -> Result<bool, Failure> {
    let cannot_ask = |error| Failure::problem(format!("cannot ask: {error}"));
    let mut answer = String::new();
    write!(io::stderr(), "{question} [y/N] ").map_err(cannot_ask)?;
    io::stdin().read_line(&mut answer).map_err(cannot_ask)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

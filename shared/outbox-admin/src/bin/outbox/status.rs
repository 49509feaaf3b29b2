//! `outbox status`

mod screen;

use outbox_admin::{StatusOptions, age_in_words};
use outbox_lambda::Program;
use outbox_store::{Backlog, DeadCount};

use crate::args;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Output, messages, table};
use crate::paint::Paint;

pub(crate) async fn run(args: &args::Status, output: Output) -> Result<Exit, Failure> {
    let context = Context::quiet(Program::CommandLine)?;
    let options = StatusOptions { oldest_due_limit: args.oldest_due_limit };
    let status = outbox_admin::status(&context.store()?, options)
        .await
        .map_err(|error| context.failure(error))?;
    output.show_list(&status, &status.facts.destinations, || {
        screen::text(&status, Paint::for_stdout())
    })?;
    Ok(if status.healthy { Exit::Ok } else { Exit::Problem })
}

/// The dead messages by destination and code.
pub(crate) fn dead_by_code(dead: &[DeadCount]) -> String {
    let rows = dead.iter().map(|count| {
        let code = count.code.as_deref().unwrap_or("no code");
        let name = format!("{}: {code}", count.destination);
        vec![name, count.messages.to_string(), age_in_words(count.oldest_dead_seconds)]
    });
    table(&["dead", "messages", "oldest"], rows)
}

/// How much would be sent, or tried again, but for a pause; `None` if there is nothing.
pub(crate) fn held_by_pause<'a>(backlog: impl IntoIterator<Item = &'a Backlog>) -> Option<String> {
    let held = |of: &&Backlog| of.paused && of.due + of.retrying > 0;
    let held: Vec<&Backlog> = backlog.into_iter().filter(held).collect();
    let n_held: i64 = held.iter().map(|of| of.due + of.retrying).sum();
    let names = held.iter().map(|of| of.destination.as_str()).collect::<Vec<_>>().join(", ");
    let messages = messages(n_held.unsigned_abs());
    (n_held > 0).then(|| format!("held by a pause: {messages} for {names}"))
}

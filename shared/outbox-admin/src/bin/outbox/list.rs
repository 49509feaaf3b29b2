//! `outbox list`

use outbox_admin::{Command, Item, List, Page, Reply, TimeLimits, age_in_words, execute};
use outbox_lambda::Program;

use crate::args;
use crate::colour::{self, paint};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Output, messages, text_table};

pub(crate) async fn run(args: args::List, output: Output) -> Result<Exit, Failure> {
    let list = of(args);
    list.check().map_err(|error| Failure::usage(error.to_string()))?;
    let context = Context::quiet(Program::CommandLine)?;
    let command = Command::List(Box::new(list));
    let reply = execute(&context.store()?, &command, "", TimeLimits::default())
        .await
        .map_err(|error| context.failure(error))?;
    let Reply::Page(page) = reply else { unreachable!("the reply to a list") };
    output.show_list(&page, &page.messages, || text(&page, colour::is_wanted()))?;
    Ok(Exit::Ok)
}

fn of(args: args::List) -> List {
    let args::List { status, destination, message_type, group, correlation_id, .. } = args;
    List {
        status: status.map(Into::into),
        destination,
        message_type,
        message_group: group,
        correlation_id,
        message_id: args.message_id,
        code: args.code,
        since: args.since,
        until: args.until,
        oldest_first: args.oldest_first,
        after: args.after,
        limit: Some(args.limit),
    }
}

fn text(page: &Page, is_coloured: bool) -> String {
    let mut lines = Vec::new();
    if page.messages.is_empty() {
        lines.push("no message matches".to_owned());
    } else {
        let header =
            ["id", "status", "destination", "type", "group", "attempts", "age", "last error"];
        let table = text_table(&header, page.messages.iter().map(row));
        lines.extend(table.lines().enumerate().map(|(number, line)| {
            let item = number.checked_sub(2).and_then(|number| page.messages.get(number));
            match item.and_then(|item| colour::of_status(&item.status)) {
                Some(colour) => paint(line, colour, is_coloured),
                None => line.to_owned(),
            }
        }));
    }
    lines.extend(remarks(page));
    lines.join("\n")
}

fn row(item: &Item) -> Vec<String> {
    #[expect(clippy::cast_precision_loss, reason = "an age in seconds")]
    let age = age_in_words(item.age_seconds.max(1) as f64);
    let group = item.message_group.clone().unwrap_or_else(|| "-".to_owned());
    let error = item.last_error_code.as_deref().or(item.dead_reason.as_deref()).unwrap_or("-");
    vec![
        item.id.to_string(),
        item.status.clone(),
        item.destination.clone(),
        item.message_type.clone(),
        group,
        item.attempts.to_string(),
        age,
        error.to_owned(),
    ]
}

/// How to go on.
fn remarks(page: &Page) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(next) = page.next {
        remarks.push(if page.ended_early {
            let n_found = messages(page.messages.len() as u64);
            format!("{n_found} found in 10 s, and not all was looked through: narrow it, or go on with --after {next}")
        } else {
            format!("there may be more: --after {next}")
        });
    }
    if page.messages.iter().any(|item| item.status == "dead") {
        remarks
            .push("outbox show ID tells what is wrong with a message, and what to do".to_owned());
    }
    remarks
}

//! `outbox tail`: looks again and again, and tells what is new.

mod follow;

use std::io::{self, ErrorKind, Write};
use std::time::Duration;

use outbox_lambda::{Program, describe};
use outbox_store::{Filter, Store};

use crate::args::{Becomes, Form, Tail};
use crate::colour::{self, paint};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Output, plain};

use follow::{Event, Following, NEW_AT_ONCE};

/// Of those that wait, and of those that are dead, so many are followed from the start.
const FOLLOWED_AT_START: i64 = 500;

/// Longest wait between two tries while the database is away.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

pub(crate) async fn run(args: &Tail, Output(form): Output) -> Result<Exit, Failure> {
    if form == Form::Json {
        return Err(Failure::usage(
            "a tail has no end, and so is no one document: --output ndjson writes an object a line",
        ));
    }
    let context = Context::quiet(Program::CommandLine)?;
    let store = context.store()?;
    tokio::select! {
        ended = follow(args, form, &context, &store) => ended,
        _ = tokio::signal::ctrl_c() => Ok(Exit::Ok),
    }
}

/// Ends when nobody reads any more.
async fn follow(
    args: &Tail,
    form: Form,
    context: &Context,
    store: &Store,
) -> Result<Exit, Failure> {
    let interval = args.interval.duration();
    let failed = |error| context.failure(error);
    let mut following = begin(store).await.map_err(failed)?;
    let is_coloured = colour::is_wanted();
    let mut pause = interval;
    loop {
        let (after, followed) = following.question();
        match store.tail(after, &followed, NEW_AT_ONCE).await {
            Ok(seen) => {
                pause = interval;
                let is_full = seen.iter().filter(|seen| seen.id > after).count() as u64
                    >= NEW_AT_ONCE.unsigned_abs();
                let events = following.take(seen);
                let wanted = events.iter().filter(|event| is_wanted(args, event));
                for event in wanted {
                    if !write_line(&line(event, form, is_coloured))? {
                        return Ok(Exit::Ok);
                    }
                }
                // A burst is caught up with at once.
                if is_full {
                    continue;
                }
            }
            Err(error) if describe(&context.settings.database, &error).is_transient() => {
                let failure = context.store_failure(&error);
                failure.and("looking again").tell();
                pause = (pause * 2).min(LONGEST_PAUSE.max(interval));
            }
            Err(error) => return Err(context.store_failure(&error)),
        }
        tokio::time::sleep(pause).await;
    }
}

/// What is there already is not told, but followed.
async fn begin(store: &Store) -> Result<Following, outbox_store::Error> {
    store.check_version().await?;
    let latest = store.list(&Filter { limit: 100, ..Filter::default() }).await?.messages;
    let kept = match store.newest_kept(FOLLOWED_AT_START).await {
        Ok(kept) => kept,
        // So many wait that they can't be read: what is new is followed all the same.
        Err(error) if error.is_cancelled() => Vec::new(),
        Err(error) => return Err(error),
    };
    let mut following = Following::new(
        &latest.iter().map(|message| message.id).collect::<Vec<_>>(),
        kept.iter().map(|message| message.id),
    );
    let (after, followed) = following.question();
    following.learn(store.tail(after, &followed, 1).await?);
    Ok(following)
}

fn is_wanted(args: &Tail, event: &Event) -> bool {
    let becomes = match event.what {
        "dispatched" => Becomes::Dispatched,
        "dead" => Becomes::Dead,
        _ => Becomes::Pending,
    };
    args.status.is_none_or(|wanted| wanted == becomes)
        && args.destination.as_ref().is_none_or(|wanted| *wanted == event.destination)
}

fn line(event: &Event, form: Form, is_coloured: bool) -> String {
    if form == Form::Ndjson {
        return serde_json::to_string(event)
            .expect("an event has string keys and writes to memory");
    }
    let Event { seen_at, what, id, destination, message_type, .. } = event;
    let group = event.message_group.as_ref().map(|group| format!("  group {group}"));
    let code = event.code.as_ref().map(|code| format!("  {code}"));
    let more = [group, code].into_iter().flatten().collect::<String>();
    let line =
        plain(&format!("{seen_at}  {what:<10}  {id:>8}  {destination}  {message_type}{more}"));
    match colour::of_status(what) {
        Some(colour) => paint(&line, colour, is_coloured),
        None => line,
    }
}

/// Writes a line at once; false if nobody reads it any more.
fn write_line(line: &str) -> Result<bool, Failure> {
    let mut stdout = io::stdout();
    match writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::problem(format!("cannot write what is seen: {error}"))),
    }
}

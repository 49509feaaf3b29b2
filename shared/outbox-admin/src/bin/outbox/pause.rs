//! `outbox pause` and `outbox resume`

use outbox_admin::{Command, Pause, Paused, Reply, Resume, Resumed, TimeLimits, execute};
use outbox_lambda::Program;

use crate::args;
use crate::context::{Context, actor};
use crate::exit::{Exit, Failure};
use crate::output::{Output, plain};

pub(crate) async fn pause(args: args::Pause, output: Output) -> Result<Exit, Failure> {
    let args::Pause { destination, reason, who } = args;
    let pause = Pause { destination, reason };
    pause.check().map_err(|error| Failure::usage(error.to_string()))?;
    let what = what(pause.destination.as_deref());
    carry_out(Command::Pause(pause), &what, &who, output).await
}

pub(crate) async fn resume(args: args::Resume, output: Output) -> Result<Exit, Failure> {
    let args::Resume { destination, group, reason, who } = args;
    let resume = Resume { destination, message_group: group, reason };
    resume.check().map_err(|error| Failure::usage(error.to_string()))?;
    let mut what = what(resume.destination.as_deref());
    if let Some(group) = &resume.message_group {
        what = format!("group {group} of {what}");
    }
    carry_out(Command::Resume(resume), &what, &who, output).await
}

async fn carry_out(
    command: Command,
    what: &str,
    who: &args::Who,
    output: Output,
) -> Result<Exit, Failure> {
    let what = plain(what);
    let context = Context::quiet(Program::CommandLine)?;
    let store = context.store()?;
    let mut reply = execute(&store, &command, &actor(who), TimeLimits::default())
        .await
        .map_err(|error| context.failure(error))?;
    if let (Reply::Paused(paused), Command::Pause(pause)) = (&mut reply, &command) {
        // The settings, if they are given, know of destinations before their first message.
        let known = &context.settings.relay.destinations;
        let is_known = pause.destination.as_ref().is_some_and(|name| known.get(name).is_some());
        paused.note.take_if(|_| is_known);
    }
    let (changed, mut text, note) = match &reply {
        Reply::Paused(Paused { paused: true, note }) => (true, format!("paused {what}"), note),
        Reply::Paused(Paused { note, .. }) => (false, format!("{what}: paused already"), note),
        Reply::Resumed(Resumed { resumed: true, note }) => (true, format!("resumed {what}"), note),
        Reply::Resumed(Resumed { note, .. }) => {
            (false, format!("{what}: nothing to resume; outbox status shows what waits"), note)
        }
        _ => unreachable!("a pause or a resume is answered by its own reply"),
    };
    if let Some(note) = note {
        text = format!("{text}\n{}", plain(note));
    }
    output.show(&reply, || text)?;
    Ok(if changed { Exit::Ok } else { Exit::Problem })
}

fn what(destination: Option<&str>) -> String {
    destination.map_or_else(|| "all destinations".to_owned(), |name| format!("destination {name}"))
}

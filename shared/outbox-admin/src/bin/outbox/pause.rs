//! `outbox pause` and `outbox resume`

use outbox_admin::{Command, Pause, Paused, Reply, Resume, Resumed, TimeLimits, execute};
use outbox_lambda::Program;

use crate::args;
use crate::context::{Context, actor};
use crate::exit::{Exit, Failure};
use crate::output::Output;

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
    let context = Context::quiet(Program::CommandLine)?;
    let store = context.store()?;
    let reply = execute(&store, &command, &actor(who), TimeLimits::default())
        .await
        .map_err(|error| context.failure(error))?;
    let (changed, text) = match reply {
        Reply::Paused(Paused { paused: true }) => (true, format!("paused {what}")),
        Reply::Paused(_) => (false, format!("{what}: paused already")),
        Reply::Resumed(Resumed { resumed: true }) => (true, format!("resumed {what}")),
        _ => (false, format!("{what}: nothing to resume; outbox status shows what waits")),
    };
    output.show(&reply, || text)?;
    Ok(if changed { Exit::Ok } else { Exit::Problem })
}

fn what(destination: Option<&str>) -> String {
    destination.map_or_else(|| "all destinations".to_owned(), |name| format!("destination {name}"))
}

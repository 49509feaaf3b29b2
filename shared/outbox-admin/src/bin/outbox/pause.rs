//! `outbox pause` and `outbox resume`

use outbox_admin::{Command, Pause, Paused, Reply, Resumed, execute};
use outbox_lambda::Program;

use crate::args;
use crate::context::{Context, actor};
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) async fn pause(args: args::Pause, output: Output) -> Result<Exit, Failure> {
    carry_out(args, Command::Pause, output).await
}

pub(crate) async fn resume(args: args::Pause, output: Output) -> Result<Exit, Failure> {
    carry_out(args, Command::Resume, output).await
}

async fn carry_out(
    args: args::Pause,
    verb: fn(Pause) -> Command,
    output: Output,
) -> Result<Exit, Failure> {
    let args::Pause { destination, reason } = args;
    let pause = Pause { destination, reason };
    pause.check().map_err(|error| Failure::usage(error.to_string()))?;
    let what = match &pause.destination {
        Some(name) => format!("destination {name}"),
        None => "all destinations".to_owned(),
    };
    let context = Context::quiet(Program::CommandLine)?;
    let store = context.store()?;
    let (command, actor) = (verb(pause), actor());
    let reply = execute(&store, &command, &actor).await.map_err(|error| context.failure(error))?;
    let (changed, text) = match reply {
        Reply::Paused(Paused { paused: true }) => (true, format!("paused {what}")),
        Reply::Paused(_) => (false, format!("{what}: paused already")),
        Reply::Resumed(Resumed { resumed: true }) => (true, format!("resumed {what}")),
        _ => (false, format!("{what}: no such pause; outbox status shows what is paused")),
    };
    output.show(&reply, || text)?;
    Ok(if changed { Exit::Ok } else { Exit::Problem })
}

//! `outbox bench`: what the database and the relay can do, measured in a schema of its own.
//!
//! ```text
//!   load.rs          what is sent through, its bounds, and what it costs the server
//!   rounds.rs        make the schema, fill, and take the time of both parts, in turns
//!     statements.rs    the database alone: claim and mark by the real statements
//!     null.rs          the relay with a publisher that accepts everything at once
//!   report.rs        medians, ratios, and what they do not tell
//! ```
//!
//! Whatever happens after the schema was made, it is dropped at the end, on a new connection if need be.

mod load;
mod null;
mod progress;
mod report;
mod rounds;
mod statements;

use std::io::{self, Write};
use std::time::Duration;

use outbox_lambda::{Program, connect_directly};
use outbox_store::{Bench, BenchServer, LeftOver, Store};

use crate::args;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::operation::{ask, can_ask};
use crate::output::Output;
use crate::relay::{run_failure, stop_at_signal};

use load::{Load, size};
use progress::Progress;
use report::Report;
use rounds::{Bed, Ended};

/// How long the schema's end may take: a statement that was given up is awaited first.
const REMOVE_WITHIN: Duration = Duration::from_mins(1);

pub(crate) async fn run(args: &args::Bench, output: Output) -> Result<Exit, Failure> {
    let context = Context { role: "that owns the schema", ..Context::quiet(Program::CommandLine)? };
    let load = Load::new(args, &context.settings.relay.policy)?;
    if !args.yes && !can_ask() {
        return Err(Failure::usage(format!(
            "a bench {}: say --yes, as nobody can be asked here",
            load.cost()
        )));
    }
    let client = connect_directly(&context.settings.database).await?;
    let failed = |error: outbox_store::Error| context.store_failure(&error);
    let mut bench = Bench::new(client).await.map_err(failed)?;
    let server = bench.server().await.map_err(failed)?;
    check(&server)?;
    let left_over = bench.left_over().await.map_err(failed)?;
    tell(&left_over);
    if !args.yes && !ask(&format!("A bench {}. Go on?", load.cost()))? {
        return Err(Failure::problem("nothing was measured"));
    }

    // From here on a signal must not end the process by itself.
    let stop = stop_at_signal()?;
    let pool = outbox_lambda::pool(&context.settings.database)?;
    let store = Store::new(pool, bench.schema().clone());
    let policy = load.policy(&context.settings.relay.policy);
    let progress = Progress::new(4 * u64::from(load.rounds) * u64::from(load.messages));
    let bed =
        Bed { bench: &mut bench, store, load, policy, stop: &stop, progress: progress.clone() };
    let measured = bed.measure().await;
    progress.end();
    let removed = remove(&context, &mut bench).await;
    let measured = measured.map_err(|ended| {
        let failure = failure(&context, &load, &ended);
        match &removed {
            Ok(()) => failure.and(&format!("the schema {} was dropped", bench.schema().name())),
            Err(still_there) => failure.and(&still_there.message),
        }
    })?;
    removed?;

    let report = Report::new(server, &load, &measured, left_over);
    output.show(&report, || report.text())?;
    Ok(Exit::Ok)
}

/// What would only fail later, in words that help less.
fn check(server: &BenchServer) -> Result<(), Failure> {
    if !server.takes_writes {
        return Err(Failure::problem(outbox_store::Error::ReadOnly.to_string()));
    }
    if !server.may_create {
        let grant = &server.grant_create;
        return Err(Failure::problem(format!(
            "what signs in may not make a schema in this database: let its owner run {grant}"
        )));
    }
    if !server.missing_roles.is_empty() && !server.may_create_roles {
        let create: Vec<_> =
            server.missing_roles.iter().map(|role| format!("CREATE ROLE {role} NOLOGIN")).collect();
        return Err(Failure::problem(format!(
            "an outbox needs roles that are not there, and what signs in may not make them: run outbox migrate first, or \
             let an administrator run {}",
            create.join("; ")
        )));
    }
    Ok(())
}

/// What killed benches have left behind: a person decides about it.
fn tell(left_over: &[LeftOver]) {
    for LeftOver { name, bytes, drop_statement } in left_over {
        let bytes = size(*bytes);
        // That nobody listens is no failure.
        _ = writeln!(
            io::stderr(),
            "left over from a bench that was killed: schema {name} with {bytes}; drop it with {drop_statement}"
        );
    }
}

/// Drops the schema, and tries again on a new connection if the first one is lost.
async fn remove(context: &Context, bench: &mut Bench) -> Result<(), Failure> {
    let within = |removed| tokio::time::timeout(REMOVE_WITHIN, removed);
    if let Ok(Ok(())) = within(bench.remove()).await {
        return Ok(());
    }
    let again = async {
        let client = connect_directly(&context.settings.database).await?;
        let again = async {
            bench.reconnect(client).await?;
            bench.remove().await
        };
        again.await.map_err(|error| context.store_failure(&error))
    };
    let removed = match tokio::time::timeout(REMOVE_WITHIN, again).await {
        Ok(removed) => removed,
        Err(_) => Err(Failure::problem("the database does not answer")),
    };
    removed.map_err(|failure| {
        let still_there = format!(
            "the schema {} may still be there: drop it with {}",
            bench.schema().name(),
            bench.drop_statement()
        );
        failure.and(&still_there)
    })
}

/// What ended it early means to the user.
fn failure(context: &Context, load: &Load, ended: &Ended) -> Failure {
    match ended {
        Ended::Store(error) => context.store_failure(error),
        Ended::Relay(error) => run_failure(context, error),
        Ended::Stopped => {
            Failure::problem("stopped by a signal, and nothing is told of half a bench")
        }
        Ended::Incomplete { dispatched, what } => Failure::problem(format!(
            "{what} dispatched {dispatched} of {} messages, so that the figures would tell nothing",
            load.messages
        )),
    }
}

//! `outbox migrate`

use std::iter;

use outbox_lambda::{Program, Settings, connect_directly};
use outbox_store::{Schema, migrations, pending_migrations};
use serde_json::json;

use crate::args::Migrate;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) async fn run(args: &Migrate, output: Output) -> Result<Exit, Failure> {
    if args.print_sql {
        return print_sql(output);
    }
    let context = Context { role: "that owns the schema", ..Context::quiet(Program::CommandLine)? };
    let mut client = connect_directly(&context.settings.database).await?;
    if args.check {
        let pending = pending_migrations(&client, &context.schema).await;
        let pending = pending.map_err(|error| context.failure(error))?;
        output.show(&json!({ "pending": pending }), || text("pending", &pending))?;
        return Ok(if pending.is_empty() { Exit::Ok } else { Exit::Problem });
    }
    let applied = outbox_store::migrate(&mut client, &context.schema).await;
    let applied = applied.map_err(|error| context.failure(error))?;
    output.show(&json!({ "applied": applied }), || text("applied", &applied))?;
    Ok(Exit::Ok)
}

/// For those who let nothing but `psql` change their database.
fn print_sql(output: Output) -> Result<Exit, Failure> {
    // Only the schema's name matters here, so a database need not be given.
    let any_database = ("DATABASE_URL".into(), "postgres://nobody@localhost/nothing".into());
    let variables = iter::once(any_database).chain(std::env::vars_os());
    let settings = Settings::from_vars(Program::CommandLine, variables)?;
    let schema = Schema::new(settings.schema).map_err(|error| Failure::usage(error.to_string()))?;

    let migrations = migrations(&schema);
    let as_json = migrations.iter().map(|m| json!({ "name": m.name, "sql": m.sql }));
    let as_json: Vec<_> = as_json.collect();
    output.show_list(&as_json, &as_json, || {
        let texts = migrations.iter().map(|m| format!("-- {}\n{}\n", m.name, m.sql));
        texts.collect::<Vec<_>>().join("\n")
    })?;
    Ok(Exit::Ok)
}

fn text(what: &str, names: &[impl AsRef<str>]) -> String {
    if names.is_empty() {
        return "up to date".to_owned();
    }
    let lines = names.iter().map(|name| format!("{what} {}", name.as_ref()));
    lines.collect::<Vec<_>>().join("\n")
}

//! `outbox migrate`

use outbox_lambda::{Program, Settings, connect};
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
    let context = Context::new(Program::CommandLine)?;
    let mut client = connect(&context.settings.database).await?;
    if args.check {
        let pending = pending_migrations(&client, &context.schema)
            .await
            .map_err(|error| context.failure(&error))?;
        output.show(&json!({ "pending": pending }), || match pending.as_slice() {
            [] => "up to date".to_owned(),
            names => lines("pending", names),
        })?;
        return Ok(if pending.is_empty() { Exit::Ok } else { Exit::Problem });
    }
    let applied = outbox_store::migrate(&mut client, &context.schema)
        .await
        .map_err(|error| context.failure(&error))?;
    output.show(&json!({ "applied": applied }), || match applied.as_slice() {
        [] => "up to date".to_owned(),
        names => lines("applied", names),
    })?;
    Ok(Exit::Ok)
}

/// For whoever lets nobody but `psql` touch the database.
fn print_sql(output: Output) -> Result<Exit, Failure> {
    // Of the settings only the schema matters, so a database need not be given.
    let any_database = ("DATABASE_URL".into(), "postgres://nobody@localhost/nothing".into());
    let variables = std::iter::once(any_database).chain(std::env::vars_os());
    let settings = Settings::from_vars(Program::CommandLine, variables)?;
    let schema = Schema::new(settings.schema).map_err(|error| Failure::usage(error.to_string()))?;
    let migrations = migrations(&schema);
    let as_json: Vec<_> =
        migrations.iter().map(|m| json!({ "name": m.name, "sql": m.sql })).collect();
    output.show_list(&as_json, &as_json, || {
        migrations.iter().map(|m| format!("-- {}\n{}\n", m.name, m.sql)).collect()
    })?;
    Ok(Exit::Ok)
}

fn lines(what: &str, names: &[impl AsRef<str>]) -> String {
    names.iter().map(|name| format!("{what} {}\n", name.as_ref())).collect()
}

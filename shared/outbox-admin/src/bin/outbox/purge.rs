//! `outbox purge`

use outbox_admin::purge_until;
use outbox_lambda::Program;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Output, messages};

pub(crate) async fn run(output: Output) -> Result<Exit, Failure> {
    let context = Context::quiet(Program::CommandLine)?;
    let settings = context.settings.purge;
    let report = purge_until(&context.store()?, settings, None)
        .await
        .map_err(|error| context.failure(error))?;
    output.show(&report, || {
        let hours = settings.retention.as_secs() / 3_600;
        format!("purged {} dispatched over {hours} h ago", messages(report.purged))
    })?;
    Ok(Exit::Ok)
}

//! `outbox purge`

use outbox_admin::purge_until;
use outbox_lambda::Program;

use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::output::{Output, messages};

pub(crate) async fn run(output: Output) -> Result<Exit, Failure> {
    let context = Context::quiet(Program::CommandLine)?;
    let outbox_lambda::settings::Purge { retention, batch_size } = context.settings.purge;
    let report = purge_until(&context.store()?, retention, batch_size, None)
        .await
        .map_err(|error| context.failure(error))?;
    output.show(&report, || {
        let hours = retention.as_secs() / 3_600;
        format!("purged {} dispatched over {hours} h ago", messages(report.purged))
    })?;
    Ok(Exit::Ok)
}

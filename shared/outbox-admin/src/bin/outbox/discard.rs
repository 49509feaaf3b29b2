//! `outbox discard`

use outbox_admin::{Action, Operation};

use crate::args::{self, Terms};
use crate::exit::{Exit, Failure};
use crate::operation;
use crate::output::Output;

pub(crate) async fn run(args: args::Discard, output: Output) -> Result<Exit, Failure> {
    let args::Discard { selected, terms } = args;
    let Terms { dry_run, reason, yes, who } = terms;
    let operation =
        Operation { dry_run, reason: reason.unwrap_or_default(), ..operation::of(selected) };
    operation::carry_out(Action::Discard, operation, yes, &who, output).await
}

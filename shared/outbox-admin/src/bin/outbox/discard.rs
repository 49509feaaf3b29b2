//! `outbox discard`

use outbox_admin::{Action, Deed};

use crate::args::{self, Terms};
use crate::deed;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) async fn run(args: args::Discard, output: Output) -> Result<Exit, Failure> {
    let args::Discard { selected, terms } = args;
    let Terms { dry_run, reason, yes } = terms;
    let deed = Deed { dry_run, reason: reason.unwrap_or_default(), ..deed::of(selected) };
    deed::carry_out(Action::Discard, deed, yes, output).await
}

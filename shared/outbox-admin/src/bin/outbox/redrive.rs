//! `outbox redrive`

use outbox_admin::{Action, Operation};

use crate::args::{self, Terms};
use crate::exit::{Exit, Failure};
use crate::operation;
use crate::output::Output;

pub(crate) async fn run(args: args::Redrive, output: Output) -> Result<Exit, Failure> {
    let args::Redrive { selected, rate, new_dedup_id, terms } = args;
    let Terms { dry_run, reason, yes, who } = terms;
    let reason = reason.unwrap_or_default();
    let operation = Operation { rate, new_dedup_id, dry_run, reason, ..operation::of(selected) };
    // Whoever types ids has looked at each.
    let is_agreed = yes || !operation.ids.is_empty();
    operation::carry_out(Action::Redrive, operation, is_agreed, &who, output).await
}

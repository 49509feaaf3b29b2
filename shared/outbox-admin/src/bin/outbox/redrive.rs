//! `outbox redrive`

use outbox_admin::{Action, Deed};

use crate::args::{self, Terms};
use crate::deed;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) async fn run(args: args::Redrive, output: Output) -> Result<Exit, Failure> {
    let args::Redrive { selected, rate, new_dedup_id, terms } = args;
    let Terms { dry_run, reason, yes } = terms;
    let reason = reason.unwrap_or_default();
    let deed = Deed { rate, new_dedup_id, dry_run, reason, ..deed::of(selected) };
    // Whoever types ids has looked at each.
    let is_agreed = yes || !deed.ids.is_empty();
    deed::carry_out(Action::Redrive, deed, is_agreed, output).await
}

//! Step 5: a message that can't be sent waits for a person, and for nobody else.

use anyhow::{Context, Result};

use crate::console::Console;
use crate::stage::Stage;
use crate::steps::relay::{Invoice, RunReport};

const REASON: &str = "route for invoices added";

pub(crate) async fn is_redriven(
    stage: &mut Stage<'_>,
    invoice: &Invoice,
    console: &mut Console,
) -> Result<()> {
    console
        .step("A message that cannot be sent is kept with its reason, until a person redrives it");
    let n_dead = stage.operator.n_dead(console).await?;
    console.count(2, "dead, while all others went out", n_dead)?;
    let sql = "SELECT last_error_code, last_error FROM outbox.dead_letter WHERE id = $1";
    let row = stage.client.query_opt(sql, &[&invoice.id]).await?;
    let row = row.context("the invoice is not in outbox.dead_letter")?;
    console.check("why the invoice is dead", "no_route", row.try_get("last_error_code")?)?;
    console.note(row.try_get::<_, &str>("last_error")?);

    let target = stage.invoices.url.clone();
    stage.add_route("invoices", &target).await?;
    console.note("The relay is deployed anew, with a queue for invoices in OUTBOX_DESTINATIONS.");
    let n_redriven = stage.operator.redrive(invoice.id, REASON, console).await?;
    console.count(1, "redriven", n_redriven)?;
    let report: RunReport = stage.emulator.invoke(&mut stage.relay, console).await?;
    console.count(1, "dispatched", report.dispatched)?;

    let received = {
        let bar = console.bar("receiving", 1);
        stage.invoices.collect(1, &bar).await?
    };
    console.count(1, "message in the invoices' queue", received.len())?;
    for message in &received {
        console.check("its body", invoice.payload, &message.body)?;
        let (expected, found) = (invoice.message_id.to_string(), message.message_id.to_string());
        console.check("its message id", &expected, &found)?;
    }
    let reason: String =
        stage.value("SELECT reason FROM outbox.audit WHERE action = 'redrive'").await?;
    console.check("reason in the audit", REASON, &reason)?;
    console.promise("A poison message blocks nobody", "2 dead, all others sent in that run");
    console.promise("A dead message is kept for redrive", "no_route, then delivered");
    Ok(())
}

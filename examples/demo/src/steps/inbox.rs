//! Step 6: copies go out, and have no second effect.

use anyhow::Result;

use crate::console::Console;
use crate::consumer::{Billing, Taken};
use crate::order_service::Placed;
use crate::stage::Stage;
use crate::steps::relay::RunReport;

/// What a relay leaves behind that dies between the acceptance by SNS and its mark, once its lease has run out.
const FORGET_FIVE_MARKS: &str = "
    UPDATE outbox.message
    SET dispatched_at = NULL, broker_message_id = NULL, locked_until = now() - interval '1 second'
    WHERE id IN (
        SELECT id
        FROM outbox.message
        WHERE destination = 'events' AND dispatched_at IS NOT NULL
        ORDER BY id
        LIMIT 5
    )";

const N_COPIES: usize = 5;

pub(crate) async fn takes_copies_once(
    stage: &mut Stage<'_>,
    orders: &[Placed],
    console: &mut Console,
) -> Result<()> {
    console.step("A consumer with an inbox takes each message once, however often it comes");
    stage.client.execute(FORGET_FIVE_MARKS, &[]).await?;
    console.note("Five marks are taken back, as if a relay had died between acceptance and mark.");
    let report: RunReport = stage.emulator.invoke(&mut stage.relay, console).await?;
    console.count(5, "dispatched a second time", report.dispatched)?;

    let mut billing = Billing::new(stage.scratch.connect().await?).await?;
    let (mut n_first, mut n_copies) = (0, 0);
    {
        let n_deliveries = orders.len() + N_COPIES;
        let bar = console.bar("billing takes messages", n_deliveries as u64);
        let take = async |message| {
            match billing.take(&message).await? {
                Taken::First => n_first += 1,
                Taken::Copy => n_copies += 1,
            }
            Ok(())
        };
        stage.billing.consume(n_deliveries, &bar, take).await?;
    }
    console.count(orders.len(), "messages that billing took", n_first)?;
    console.count(N_COPIES, "copies that it recognised", n_copies)?;
    let n_orders: i64 = stage.value("SELECT sum(n_orders)::bigint FROM revenue").await?;
    console.count(stage.count("orders").await?, "orders in its sums", n_orders)?;
    let cents = orders.iter().map(|order| order.cents).sum();
    let summed: i64 = stage.value("SELECT sum(cents)::bigint FROM revenue").await?;
    console.count(cents, "cents in its sums, as in the orders", summed)?;
    let seen = format!("{} deliveries, {n_first} effects", n_first + n_copies);
    console.promise("With the inbox, a copy has no second effect", &seen);
    Ok(())
}

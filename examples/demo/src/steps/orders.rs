//! Steps 1 and 2: the producer's side.

use anyhow::{Result, bail};

use crate::console::Console;
use crate::order_service::{Order, OrderService, PlaceError, Placed};
use crate::stage::Stage;

const N_ORDERS: i64 = 200;
const N_CUSTOMERS: i64 = 8;

/// The order whose payment is declined.
pub(crate) const UNLUCKY: i64 = 13;

/// The order that is enqueued a second time.
const REPEATED: i64 = 42;

pub(crate) async fn are_placed_with_their_events(
    stage: &mut Stage<'_>,
    console: &mut Console,
) -> Result<Vec<Placed>> {
    console.step("The order service commits orders and their events together");
    console.note(&format!(
        "Each order has an event for a queue and one for a topic. Order {UNLUCKY}'s payment is\n\
         declined after its events were enqueued, and the transaction is rolled back."
    ));
    let mut service = OrderService::new(stage.scratch.connect().await?).await?;
    let mut placed = Vec::new();
    let mut n_declined = 0;
    let bar = console.bar("placing orders", N_ORDERS.unsigned_abs());
    for id in 1..=N_ORDERS {
        match service.place(order(id)).await {
            Ok(order) => placed.push(order),
            Err(PlaceError::PaymentDeclined) => n_declined += 1,
            Err(error) => return Err(error.into()),
        }
        bar.inc(1);
    }
    drop(bar);

    let n_placed = N_ORDERS - 1;
    console.count(n_placed, "orders in the database", stage.count("orders").await?)?;
    let found = stage.count("outbox.message WHERE destination = 'orders'").await?;
    console.count(n_placed, "events for the queue", found)?;
    let found = stage.count("outbox.message WHERE destination = 'events'").await?;
    console.count(n_placed, "events for the topic", found)?;
    console.count(1, "order rolled back", n_declined)?;
    let found = stage.count(&format!("orders WHERE id = {UNLUCKY}")).await?;
    console.count(0, "rows of that order", found)?;
    let of_unlucky = format!("outbox.message WHERE correlation_id = 'order-{UNLUCKY}'");
    console.count(0, "events of that order", stage.count(&of_unlucky).await?)?;
    let seen = format!("{n_placed} committed, {n_declined} rolled back");
    console.promise("An order and its events are one transaction", &seen);
    Ok(placed)
}

/// Customers take turns, but for every seventh order, which is the first customer's.
fn order(id: i64) -> Order {
    let customer = if id % 7 == 0 { 1 } else { id % N_CUSTOMERS + 1 };
    Order {
        id,
        customer: format!("customer-{customer}"),
        cents: 990 + id * 370,
        payment_accepted: id != UNLUCKY,
    }
}

pub(crate) async fn are_enqueued_once(
    stage: &mut Stage<'_>,
    orders: &[Placed],
    console: &mut Console,
) -> Result<()> {
    console.step("Enqueueing the same message again changes nothing, from plain SQL too");
    let Some(order) = orders.iter().find(|order| order.id == REPEATED) else {
        bail!("order {REPEATED} was not placed")
    };
    let message_id = order.message_id;
    let n_before = stage.count("outbox.message").await?;
    let of_order = format!(
        "SELECT id FROM outbox.message WHERE destination = 'orders' AND message_id = '{message_id}'"
    );
    let id: i64 = stage.value(&of_order).await?;

    let sql = format!(
        "SELECT outbox.enqueue(destination => 'orders', message_type => 'order.placed.v1',\n\
         \x20      payload => '{{\"order_id\": {REPEATED}}}', message_id => '{message_id}');"
    );
    console.note(&sql);
    let id_again: i64 = stage.value(&sql).await?;
    let (id, id_again) = (id.to_string(), id_again.to_string());
    console.check("id that it returns, as the first time", &id, &id_again)?;
    let n_after = stage.count("outbox.message").await?;
    console.count(n_before, "rows in the outbox, as before", n_after)?;
    console.promise("A repeated enqueue makes no second row", "same id, no new row");
    Ok(())
}

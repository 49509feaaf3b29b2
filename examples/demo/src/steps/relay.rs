//! Steps 3 and 4: the relay function publishes, and the queues have it.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::Result;
use serde::Deserialize;
use uuid::Uuid;

use crate::console::Console;
use crate::order_service::Placed;
use crate::queues::Received;
use crate::stage::Stage;
use crate::steps::orders::UNLUCKY;

/// What a run of the relay answers, as far as it is looked at.
#[derive(Deserialize)]
pub(crate) struct RunReport {
    pub(crate) claimed: i64,
    pub(crate) dispatched: i64,
    pub(crate) dead: i64,
    pub(crate) drained: bool,
}

/// The message whose destination the relay learns of later.
pub(crate) struct Invoice {
    pub(crate) id: i64,
    pub(crate) message_id: Uuid,
    pub(crate) payload: &'static str,
}

pub(crate) async fn publishes_what_is_due(
    stage: &mut Stage<'_>,
    console: &mut Console,
) -> Result<Invoice> {
    console.step("The relay function publishes what is due");
    let n_events: i64 = stage.n_with_status("pending").await?;
    let invoice = enqueue_others(stage).await?;
    console.note(
        "Also waiting: an invoice and a fax for destinations that the relay does not know,\n\
         and a reminder for next week.",
    );

    let report: RunReport = stage.emulator.invoke(&mut stage.relay, console).await?;
    console.count(n_events + 2, "messages claimed", report.claimed)?;
    console.count(n_events, "dispatched: the events", report.dispatched)?;
    console.count(2, "dead: the invoice and the fax", report.dead)?;
    console.check("nothing is left to claim", "true", &report.drained.to_string())?;
    let n_dispatched = stage.n_with_status("dispatched").await?;
    console.count(n_events, "marked as dispatched in the database", n_dispatched)?;
    console.count(1, "waiting: the reminder", stage.n_with_status("pending").await?)?;
    Ok(invoice)
}

/// The messages that are no order's.
async fn enqueue_others(stage: &Stage<'_>) -> Result<Invoice> {
    let payload = r#"{ "invoice": 7001, "due": "in 30 days" }"#;
    let message_id = Uuid::now_v7();
    let enqueued = stage
        .client
        .query_one(
            "SELECT outbox.enqueue(destination => 'fax', message_type => 'fax.v1', payload => 'beep'),
                    outbox.enqueue(destination => 'events', message_type => 'reminder.v1', payload => '{}',
                                   available_at => now() + interval '7 days'),
                    outbox.enqueue(destination => 'invoices', message_type => 'invoice.v1',
                                   payload => $1, message_id => $2) AS invoice",
            &[&payload, &message_id],
        )
        .await?;
    Ok(Invoice { id: enqueued.try_get("invoice")?, message_id, payload })
}

pub(crate) async fn messages_arrive(
    stage: &mut Stage<'_>,
    orders: &[Placed],
    console: &mut Console,
) -> Result<()> {
    console.step("Every event arrives as it was written, and nothing else does");
    let (queued, announced) = {
        let bar = console.bar("receiving", 2 * orders.len() as u64);
        tokio::try_join!(
            stage.orders.collect(orders.len(), &bar),
            stage.audit.collect(orders.len(), &bar),
        )?
    };
    let n_orders = orders.len();
    console.count(n_orders, "messages in the SQS FIFO queue", queued.len())?;
    console.count(n_orders, "messages from the SNS topic", announced.len())?;

    let written: HashMap<Uuid, &str> =
        orders.iter().map(|order| (order.message_id, order.event.as_str())).collect();
    let is_as_written = |message: &&Received| {
        written.get(&message.message_id).is_some_and(|event| *event == message.body)
    };
    let n_intact = |received: &[Received]| received.iter().filter(is_as_written).count();
    console.count(n_orders, "of the queue's byte for byte as committed", n_intact(&queued))?;
    console.count(n_orders, "of the topic's byte for byte as committed", n_intact(&announced))?;
    for (received, what) in [
        (&queued, "of the queue's message ids as in the database"),
        (&announced, "of the topic's message ids as in the database"),
    ] {
        console.count(n_orders, what, n_message_ids_of_the_database(stage, received).await?)?;
    }
    let unlucky = format!("\"order_id\": {UNLUCKY},");
    let all = queued.iter().chain(&announced);
    let n_unlucky = all.filter(|message| message.body.contains(&unlucky)).count();
    let what = format!("messages of order {UNLUCKY}, which was rolled back");
    console.count(0, &what, n_unlucky)?;

    let (n_customers, n_in_order) = n_customers_in_order(orders, &queued);
    console.count(n_customers, "customers' orders in the order of their placing", n_in_order)?;

    let seen = format!("{} of {}, bodies intact", queued.len() + announced.len(), 2 * n_orders);
    console.promise("Committed events arrive, byte for byte", &seen);
    let seen = format!("{n_unlucky} messages of order {UNLUCKY}");
    console.promise("What was rolled back is never published", &seen);
    let seen = format!("{n_in_order} of {n_customers} customers");
    console.promise("A message group arrives in order", &seen);
    Ok(())
}

async fn n_message_ids_of_the_database(stage: &Stage<'_>, received: &[Received]) -> Result<usize> {
    let sql = "SELECT message_id FROM outbox.message WHERE destination = 'orders'";
    let rows = stage.client.query(sql, &[]).await?;
    let enqueued: HashSet<Uuid> = rows.iter().map(|row| row.get(0)).collect();
    let arrived: HashSet<Uuid> = received.iter().map(|message| message.message_id).collect();
    Ok(enqueued.intersection(&arrived).count())
}

/// How many customers there are, and for how many of them the message group has what they ordered, in that order.
fn n_customers_in_order(orders: &[Placed], received: &[Received]) -> (usize, usize) {
    let placed = orders.iter().map(|order| (order.customer.as_str(), order.message_id));
    let placed = by_customer(placed);
    let arrived = received.iter().map(|m| (m.message_group.as_deref().unwrap_or(""), m.message_id));
    let arrived = by_customer(arrived);
    let is_in_order = |(customer, ids): &(&&str, &Vec<Uuid>)| arrived.get(*customer) == Some(*ids);
    (placed.len(), placed.iter().filter(is_in_order).count())
}

fn by_customer<'a>(
    messages: impl Iterator<Item = (&'a str, Uuid)>,
) -> BTreeMap<&'a str, Vec<Uuid>> {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for (customer, message_id) in messages {
        groups.entry(customer).or_default().push(message_id);
    }
    groups
}

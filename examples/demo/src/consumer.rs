//! Billing, a consumer that must count every order once, however often its message comes.
//!
//! Adding to a sum is not idempotent by itself. The inbox makes it so: the message id and the effect are committed in
//! one transaction, and the message is deleted from the queue only after that.

use anyhow::{Context, Result};
use serde::Deserialize;
use tokio_postgres::Client;

use crate::queues::Received;

/// The consumer, with a connection of its own.
pub(crate) struct Billing {
    client: Client,
}

/// What a message turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    First,
    Copy,
}

#[derive(Deserialize)]
struct OrderPlaced {
    customer: String,
    cents: i64,
}

impl Billing {
    pub(crate) async fn new(client: Client) -> Result<Self> {
        client
            .batch_execute(
                "CREATE TABLE revenue (
                     customer text PRIMARY KEY,
                     n_orders bigint NOT NULL,
                     cents bigint NOT NULL
                 )",
            )
            .await?;
        Ok(Self { client })
    }

    /// Adds an order to its customer's revenue, unless it has been added before.
    pub(crate) async fn take(&mut self, message: &Received) -> Result<Taken> {
        let transaction = self.client.transaction().await?;
        if !outbox_store::receive(&transaction, "billing", message.message_id).await? {
            return Ok(Taken::Copy);
        }
        let event: OrderPlaced =
            serde_json::from_str(&message.body).context("an event is not what billing knows")?;
        transaction
            .execute(
                "INSERT INTO revenue (customer, n_orders, cents) VALUES ($1, 1, $2)
                 ON CONFLICT (customer) DO UPDATE
                 SET n_orders = revenue.n_orders + 1, cents = revenue.cents + excluded.cents",
                &[&event.customer, &event.cents],
            )
            .await?;
        transaction.commit().await?;
        Ok(Taken::First)
    }
}

//! The order service, as an application developer writes it: the order and its messages in one transaction.

use outbox::NewMessage;
use thiserror::Error;
use tokio_postgres::Client;
use uuid::Uuid;

/// The service, with a connection of its own.
pub(crate) struct OrderService {
    client: Client,
}

/// An order as a customer sends it.
pub(crate) struct Order {
    pub(crate) id: i64,
    pub(crate) customer: String,
    pub(crate) cents: i64,
    pub(crate) payment_accepted: bool,
}

/// An order that is committed, and the event that is on its way because of it.
pub(crate) struct Placed {
    pub(crate) id: i64,
    pub(crate) customer: String,
    pub(crate) cents: i64,
    pub(crate) message_id: Uuid,
    pub(crate) event: String,
}

/// Why an order was not placed; nothing of it is kept.
#[derive(Debug, Error)]
pub(crate) enum PlaceError {
    #[error("the payment was declined")]
    PaymentDeclined,
    #[error(transparent)]
    Database(#[from] tokio_postgres::Error),
    #[error(transparent)]
    Outbox(#[from] outbox_store::Error),
}

impl OrderService {
    pub(crate) async fn new(client: Client) -> Result<Self, tokio_postgres::Error> {
        client
            .batch_execute(
                "CREATE TABLE orders (
                     id bigint PRIMARY KEY,
                     customer text NOT NULL,
                     cents bigint NOT NULL
                 )",
            )
            .await?;
        Ok(Self { client })
    }

    /// Places an order: the row and both messages are committed together, or none of them.
    pub(crate) async fn place(&mut self, order: Order) -> Result<Placed, PlaceError> {
        let event = order.placed_event();
        let message_id = Uuid::now_v7();

        let transaction = self.client.transaction().await?;
        transaction
            .execute(
                "INSERT INTO orders (id, customer, cents) VALUES ($1, $2, $3)",
                &[&order.id, &order.customer, &order.cents],
            )
            .await?;
        // To the warehouse, which must see the orders of one customer in their order.
        let to_warehouse = order.message("orders", &event, message_id).in_group(&order.customer);
        outbox_store::enqueue(&transaction, &to_warehouse).await?;
        // And to whoever subscribed to the topic.
        let announcement = order.message("events", &event, message_id);
        outbox_store::enqueue(&transaction, &announcement).await?;

        if !order.payment_accepted {
            // The transaction is dropped, and so rolled back: row, message and announcement.
            return Err(PlaceError::PaymentDeclined);
        }
        transaction.commit().await?;

        let Order { id, customer, cents, .. } = order;
        Ok(Placed { id, customer, cents, message_id, event })
    }
}

impl Order {
    fn message(&self, destination: &str, event: &str, message_id: Uuid) -> NewMessage {
        let mut message =
            NewMessage::new(destination, "order.placed.v1", event).with_message_id(message_id);
        message.correlation_id = Some(format!("order-{}", self.id));
        message
    }

    /// Its text must arrive byte for byte: a relay that parses and prints it would lose the spaces, and turn 12.30
    /// into 12.3.
    fn placed_event(&self) -> String {
        let Self { id, customer, cents, .. } = self;
        let (euros, rest) = (cents / 100, cents % 100);
        format!(
            r#"{{"order_id": {id}, "customer": "{customer}", "cents": {cents}, "total": {euros}.{rest:02}, "note": "größer als ½ ☕"}}"#
        )
    }
}

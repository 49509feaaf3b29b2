//! Enqueue and receive: the two calls of an application, each in a transaction of the application's own.

use std::sync::LazyLock;

use outbox::NewMessage;
use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::error::Error;
use crate::queries;
use crate::schema::Schema;

static DEFAULT: LazyLock<Producer> = LazyLock::new(|| Producer::new(&Schema::default()));

/// Enqueues a message in the caller's transaction and returns its id. For a schema of another name than `outbox`
/// there is [`Producer`].
///
/// With a message id that was enqueued to this destination before, it inserts nothing and returns that row's id; the
/// rest of the message is not compared. Without one, each call makes a message.
///
/// # Errors
/// [`Error::Database`]; the transaction is aborted, as after any failed statement. With the code 22023 the message could
/// never be sent: the text names the argument, what is allowed and an example.
///
/// # Cancellation
/// A dropped future leaves the row inserted or not: roll the transaction back.
pub async fn enqueue<C: GenericClient>(client: &C, message: &NewMessage) -> Result<i64, Error> {
    DEFAULT.enqueue(client, message).await
}

/// Takes a message into a consumer's inbox, in the transaction of its effect: true the first time, false for a copy.
/// For a schema of another name than `outbox` there is [`Producer`].
///
/// A concurrent call for the same message waits for the first one's end, and is true if that rolled back.
///
/// # Errors
/// [`Error::Database`]; the transaction is aborted, as after any failed statement.
pub async fn receive<C: GenericClient>(
    client: &C,
    consumer: &str,
    message_id: Uuid,
) -> Result<bool, Error> {
    DEFAULT.receive(client, consumer, message_id).await
}

/// The application's calls for a schema of any name.
#[derive(Clone, Debug)]
pub struct Producer {
    enqueue: String,
    enqueued_before: String,
    receive: String,
}

impl Producer {
    /// The calls for that schema.
    pub fn new(schema: &Schema) -> Self {
        Self {
            enqueue: queries::ENQUEUE.render(schema),
            enqueued_before: queries::ENQUEUED_BEFORE.render(schema),
            receive: queries::RECEIVE.render(schema),
        }
    }

    /// See [`enqueue`].
    ///
    /// # Errors
    /// As there.
    pub async fn enqueue<C: GenericClient>(
        &self,
        client: &C,
        message: &NewMessage,
    ) -> Result<i64, Error> {
        let headers =
            serde_json::to_value(&message.headers).expect("a map with string keys is JSON");
        let params = [
            (&message.destination as _, Type::TEXT),
            (&message.message_type as _, Type::TEXT),
            (&message.payload as _, Type::TEXT),
            (&message.message_group as _, Type::TEXT),
            (&message.message_id as _, Type::UUID),
            (&headers as _, Type::JSONB),
            (&message.available_at as _, Type::TEXT),
            (&message.correlation_id as _, Type::TEXT),
            (&message.traceparent as _, Type::TEXT),
            (&message.tracestate as _, Type::TEXT),
            (&message.content_type as _, Type::TEXT),
        ];
        let row = client.query_typed_one(&self.enqueue, &params).await?;
        Ok(row.get("id"))
    }

    /// The ids of those messages that are in the outbox already, so that enqueueing them inserts nothing. What somebody else
    /// enqueues at the same time may be missing.
    ///
    /// # Errors
    /// [`Error::Database`]; the transaction is aborted, as after any failed statement.
    pub async fn enqueued_before<C: GenericClient>(
        &self,
        client: &C,
        messages: impl IntoIterator<Item = &NewMessage>,
    ) -> Result<Vec<i64>, Error> {
        let known = messages.into_iter().filter_map(|m| Some((m.message_id?, &*m.destination)));
        let (message_ids, destinations): (Vec<Uuid>, Vec<&str>) = known.unzip();
        if message_ids.is_empty() {
            return Ok(Vec::new());
        }
        let params =
            [(&message_ids as _, Type::UUID_ARRAY), (&destinations as _, Type::TEXT_ARRAY)];
        let rows = client.query_typed(&self.enqueued_before, &params).await?;
        Ok(rows.iter().map(|row| row.get("id")).collect())
    }

    /// See [`receive`].
    ///
    /// # Errors
    /// As there.
    pub async fn receive<C: GenericClient>(
        &self,
        client: &C,
        consumer: &str,
        message_id: Uuid,
    ) -> Result<bool, Error> {
        let params = [(&consumer as _, Type::TEXT), (&message_id as _, Type::UUID)];
        let row = client.query_typed_one(&self.receive, &params).await?;
        Ok(row.get("is_first"))
    }
}

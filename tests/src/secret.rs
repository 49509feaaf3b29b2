//! A secret of a test's own on the local stack's Secrets Manager.

use aws_sdk_secretsmanager::Client;
use uuid::Uuid;

use crate::queue::Queue;
use crate::teardown;

/// A secret with a random name, deleted when dropped.
pub struct Secret {
    client: Client,
    arn: String,
}

impl Secret {
    /// A secret that holds that text.
    pub async fn holding(text: &str) -> Self {
        let client = Client::new(&Queue::sdk_config());
        let name = format!("test-{}", Uuid::new_v4().simple());
        let created = client.create_secret().name(name).secret_string(text).send().await.unwrap();
        Self { client, arn: created.arn.unwrap() }
    }

    /// Its ARN.
    pub fn arn(&self) -> &str {
        &self.arn
    }

    /// Holds another text from now on, as after a rotation.
    pub async fn put(&self, text: &str) {
        let put = self.client.put_secret_value().secret_id(&self.arn).secret_string(text);
        put.send().await.unwrap();
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        let arn = self.arn.clone();
        teardown::wait_for(async move {
            // A client of its own: the connections of the other belong to the test's runtime.
            let delete = Client::new(&Queue::sdk_config()).delete_secret().secret_id(arn);
            let _ = delete.force_delete_without_recovery(true).send().await;
        });
    }
}

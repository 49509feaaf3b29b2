//! A bucket of a test's own on the local stack.

use std::collections::BTreeMap;
use std::io::Read;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::Builder;
use flate2::read::GzDecoder;
use outbox_archive::Archive;
use uuid::Uuid;

use crate::Queue;
use crate::teardown;

/// An S3 bucket with a random name, deleted when dropped with all that is in it.
pub struct Bucket {
    client: Client,
    name: String,
}

impl Bucket {
    /// An empty bucket.
    pub async fn create() -> Self {
        let (client, name) = (client(), format!("test-{}", Uuid::new_v4().simple()));
        client.create_bucket().bucket(&name).send().await.unwrap();
        Self { client, name }
    }

    /// The value for `OUTBOX_ARCHIVE` that archives into it, under the prefix `outbox`.
    pub fn archive_url(&self) -> String {
        format!("s3://{}/outbox", self.name)
    }

    /// An archive there.
    pub fn archive(&self) -> Archive {
        let location = outbox::ArchiveLocation::parse(&self.archive_url()).unwrap();
        Archive::new(&Queue::sdk_config(), location)
    }

    /// Every object by its key: its lines.
    pub async fn objects(&self) -> BTreeMap<String, Vec<String>> {
        let mut objects = BTreeMap::new();
        for key in keys(&self.client, &self.name).await {
            let object = self.client.get_object().bucket(&self.name).key(&key).send().await;
            let body = object.unwrap().body.collect().await.unwrap().into_bytes();
            objects.insert(key, lines(&body));
        }
        objects
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        let name = self.name.clone();
        teardown::wait_for(async move {
            // A client of its own: the connections of the other belong to the test's runtime.
            let client = client();
            for key in keys(&client, &name).await {
                let _ = client.delete_object().bucket(&name).key(key).send().await;
            }
            let _ = client.delete_bucket().bucket(&name).send().await;
        });
    }
}

/// The lines of a gzipped object.
///
/// # Panics
/// If it is not complete, or not text.
pub fn lines(gzipped: &[u8]) -> Vec<String> {
    let mut text = String::new();
    GzDecoder::new(gzipped).read_to_string(&mut text).unwrap();
    assert!(text.ends_with('\n'), "the last line has an end");
    text.lines().map(str::to_owned).collect()
}

fn client() -> Client {
    Client::from_conf(Builder::from(&Queue::sdk_config()).force_path_style(true).build())
}

async fn keys(client: &Client, bucket: &str) -> Vec<String> {
    let objects = client.list_objects_v2().bucket(bucket).send().await.unwrap();
    objects.contents.unwrap_or_default().into_iter().filter_map(|object| object.key).collect()
}

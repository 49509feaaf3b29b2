//! The archive's place in S3, and the one call that writes there.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::Config;
use aws_sdk_s3::primitives::ByteStream;
use aws_types::service_config::ServiceConfigKey;
use outbox::ArchiveLocation;

use crate::error::Error;
use crate::object::Object;

/// Attempts of one call, by the SDK: enough for a lost connection or a short 503. Whatever lasts longer is left to
/// the next purge.
const MAX_ATTEMPTS: u32 = 3;

/// Time to connect. Within a region that takes milliseconds; seconds mean that no packet comes back, as in a VPC
/// without a gateway endpoint for S3.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Time for one attempt: 16 MiB at 1 MiB a second, some ten times slower than the slowest function.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(16);

/// Time for all attempts of one call; a purge near its deadline allows less.
const CALL_TIMEOUT: Duration = Duration::from_secs(40);

/// A bucket and a prefix to write under. Cheap to clone; build it once, for its connections are kept.
#[derive(Clone, Debug)]
pub struct Archive {
    client: Client,
    location: ArchiveLocation,
}

impl Archive {
    /// An archive there, with the configuration's region, endpoint and credentials. Touches no network.
    #[must_use]
    pub fn new(config: &SdkConfig, location: ArchiveLocation) -> Self {
        let retries = RetryConfig::standard().with_max_attempts(MAX_ATTEMPTS);
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .build();
        let config = aws_sdk_s3::config::Builder::from(config)
            .force_path_style(has_own_endpoint(config))
            .retry_config(retries)
            .timeout_config(timeouts)
            .build();
        Self { client: Client::from_conf(config), location }
    }

    /// Writes an object within that time, over one of the same name if there is any. When it returns `Ok`, S3 has
    /// stored all of it.
    ///
    /// # Errors
    /// [`Error`] names bucket, key and code; the object may be there all the same, if the answer was lost.
    ///
    /// # Cancellation
    /// A dropped future leaves the object written as a whole, or not at all: S3 shows no half object.
    pub async fn put(&self, object: Object, time: Duration) -> Result<(), Error> {
        let (bucket, key) = (self.location.bucket(), self.location.key(&object.name));
        let put = self.client.put_object().bucket(bucket).key(&key);
        let put = put.content_type("application/gzip").body(ByteStream::from(object.body));
        let time = TimeoutConfig::builder().operation_timeout(time.min(CALL_TIMEOUT)).build();
        let put = put.customize().config_override(Config::builder().timeout_config(time));
        match put.send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::new(bucket, &key, &error)),
        }
    }

    /// Where it is.
    pub fn location(&self) -> &ArchiveLocation {
        &self.location
    }
}

/// Whether the requests go somewhere else than to AWS, where a bucket is no host name: `http://localhost/bucket/key`.
/// The SDK tells nobody which endpoint it has settled on, so the same places are asked here.
fn has_own_endpoint(config: &SdkConfig) -> bool {
    let key = ServiceConfigKey::builder()
        .service_id("S3")
        .env("AWS_ENDPOINT_URL")
        .profile("endpoint_url")
        .build()
        .expect("all three parts are given");
    let of_service = || config.service_config().and_then(|service| service.load_config(key));
    let endpoint = of_service().or_else(|| config.endpoint_url().map(str::to_owned));
    endpoint.is_some_and(|url| !url.contains("amazonaws.com"))
}

#[cfg(test)]
mod tests {
    use aws_config::Region;

    use super::*;

    #[test]
    fn a_bucket_is_a_path_on_an_endpoint_of_ones_own_and_a_host_name_at_aws() {
        let config = || SdkConfig::builder().region(Region::from_static("eu-west-1"));
        assert!(!has_own_endpoint(&config().build()));
        for (url, is_own) in [
            ("http://localstack:4566", true),
            ("https://minio.example.com", true),
            ("https://s3.eu-west-1.amazonaws.com", false),
            ("https://bucket.vpce-1a2b.s3.eu-west-1.vpce.amazonaws.com", false),
        ] {
            assert_eq!(has_own_endpoint(&config().endpoint_url(url).build()), is_own, "{url}");
        }
    }
}

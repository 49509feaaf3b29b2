//! A relay in the test's own process.

use aws_config::SdkConfig;
use outbox::{Destination, Destinations, RunPolicy, Target};
use outbox_publish::AwsPublisher;
use outbox_relay::Relay;

use crate::database::Database;

/// A relay on that database, publishing through that configuration.
pub fn relay(
    database: &Database,
    config: &SdkConfig,
    destinations: Destinations,
    policy: RunPolicy,
) -> Relay<AwsPublisher> {
    let publisher = AwsPublisher::new(config);
    Relay::new(database.store(), publisher, destinations, policy, "test".to_owned())
}

/// A destination of that name with a queue behind it.
pub fn queue_at(name: &str, url: &str) -> Destination {
    Destination::new(name, Target::parse(url).unwrap())
}

/// The map of these destinations.
pub fn destinations(destinations: impl IntoIterator<Item = Destination>) -> Destinations {
    destinations.into_iter().collect()
}
